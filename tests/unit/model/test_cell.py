"""A cell goes to JSON and back unchanged; what cannot be one is refused by its key; its id."""

from __future__ import annotations

import copy
import dataclasses
import json
import typing
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model import cell as cells
from model.cell import Cell, cell_id, cell_json, from_dict, to_dict
from model.links import Loss
from tests.support.recorded import value, wireless_cell

Path = tuple[str | int, ...]


def value_at(data: Any, path: Path) -> Any:
    for step in path:
        data = data[step]
    return data


#: The recorded cell with three of its host settings.
WHOLE = wireless_cell(lab={"kernel": "7.3"})
ENTRY = dataclasses.replace(WHOLE.hosts.entries[0], knobs=WHOLE.hosts.entries[0].knobs[:3])
CELL = dataclasses.replace(WHOLE, hosts=dataclasses.replace(WHOLE.hosts, entries=(ENTRY,)))


def changed(path: Path, value: Any) -> dict[str, Any]:
    """Return the cell as JSON data, with one value changed."""
    data: dict[str, Any] = copy.deepcopy(to_dict(CELL))
    value_at(data, path[:-1])[path[-1]] = value
    return data


def leaves(data: Any, path: Path = ()) -> Iterator[Path]:
    if isinstance(data, dict):
        for key, item in data.items():
            yield from leaves(item, (*path, key))
    elif isinstance(data, list):
        for index, item in enumerate(data):
            yield from leaves(item, (*path, index))
    else:
        yield path


BASE = changed(("replicate",), 1)
LEAVES = list(leaves(BASE))


def test_what_older_versions_did_not_have_is_written_where_it_says_something() -> None:
    assert "messages" not in to_dict(CELL)["collect"]
    assert from_dict(to_dict(CELL)) == CELL
    collect = dataclasses.replace(CELL.collect, messages=True)
    recording = dataclasses.replace(CELL, collect=collect)
    assert from_dict(to_dict(recording)) == recording
    assert cell_id(recording) != cell_id(CELL)


def test_acknowledgements_are_counted_of_the_probes_flows_that_have_any() -> None:
    assert "acknowledgements" not in to_dict(CELL)["collect"]
    collect = dataclasses.replace(CELL.collect, acknowledgements=True)
    counting = dataclasses.replace(CELL, collect=collect)
    assert from_dict(to_dict(counting)) == counting
    assert cell_id(counting) != cell_id(CELL)
    flow = CELL.flows[0]
    assert counting.counts_acknowledgements_of(flow)
    assert not CELL.counts_acknowledgements_of(flow)
    assert not counting.counts_acknowledgements_of(dataclasses.replace(flow, generator="iperf3"))
    assert not counting.counts_acknowledgements_of(dataclasses.replace(flow, protocol="udp"))


def test_round_trip() -> None:
    cell = wireless_cell(lab={"kernel": "7.3"}, point={"loss_frac": 0.01, "flows": 2, "who": "T"})
    text = cell_json(cell)
    assert from_dict(json.loads(text)) == cell
    assert text.endswith("}\n")
    assert text == json.dumps(json.loads(text), sort_keys=True, indent=1) + "\n"


def test_whole_numbers_stand_for_floats_but_not_the_other_way() -> None:
    cell = from_dict(changed(("duration_s",), 100))
    assert isinstance(cell.duration_s, float)
    assert cell == CELL
    assert isinstance(from_dict(changed(("point", "loss_frac"), 1)).point["loss_frac"], int)


@pytest.mark.parametrize(("path", "value", "message"), value("cases/unsound-cells.json"))
def test_what_is_wrong_is_named(path: Path, value: Any, message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the message is compared below
        from_dict(changed(path, value))
    assert message in str(caught.value)


def test_missing_key_is_shown_against_those_wanted() -> None:
    data = changed(("replicate",), 1)
    del data["network"]["bottleneck"]["reverse"]["loss"]["model"]
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        from_dict(data)
    assert str(caught.value) == (
        "cell.network.bottleneck.reverse.loss.model: "
        "wanted one of none, random, paired, equal_drops, gilbert_elliott, periodic, got None"
    )
    data["network"]["bottleneck"]["reverse"]["loss"] = {"model": "none"}
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        from_dict(data)
    assert str(caught.value) == (
        "cell.network.bottleneck.reverse.loss: wanted keys ['loss_frac', 'model'], got ['model']"
    )


@pytest.mark.parametrize("data", [[], "cell", None, 1, {}])
def test_what_is_no_table_is_no_cell(data: Any) -> None:
    with pytest.raises(ValueError, match=r"^cell"):
        from_dict(data)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(path=st.sampled_from(LEAVES), value=JSON)
def test_any_value_anywhere_is_taken_or_refused(path: Path, value: Any) -> None:
    refused = ""
    try:
        cell = from_dict(changed(path, value))
    except ValueError as error:
        refused = str(error)
    assert refused.startswith("cell") if refused else value_at(to_dict(cell), path) == value


#: For every word of a closed set another one of it.
OTHER_WORD = {
    word: words[index - 1]
    for words in map(
        typing.get_args,
        (
            cells.Protocol,
            cells.Generator,
            cells.Fidelity,
            cells.KnobKind,
            cells.Side,
            typing.get_type_hints(Cell)["purpose"],
            typing.get_type_hints(Loss)["model"],
        ),
    )
    for index, word in enumerate(words)
}


def other(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return OTHER_WORD.get(value, value + "x")
    return value + 1


def test_every_value_but_the_wall_limit_is_in_the_id() -> None:
    ids = {}
    for path in LEAVES:
        if path != ("schema",):
            ids[path] = cell_id(from_dict(changed(path, other(value_at(BASE, path)))))
    first = cell_id(CELL)
    assert [path for path, name in ids.items() if name == first] == [("limits", "wall_s")]
    assert len(set(ids.values())) == len(ids)


def test_schema_is_in_the_id() -> None:
    cell = wireless_cell()
    assert cell_id(dataclasses.replace(cell, schema=2)) != cell_id(cell)


def test_id_is_16_hex_digits_and_knows_no_order_of_keys() -> None:
    forwards = wireless_cell(point={"a": 1, "b": 2})
    backwards = wireless_cell(point={"b": 2, "a": 1})
    assert cell_id(forwards) == cell_id(backwards)
    assert len(cell_id(forwards)) == 16
    assert set(cell_id(forwards)) <= set("0123456789abcdef")
    assert cell_id(wireless_cell(flows=wireless_cell().flows[::-1])) != cell_id(wireless_cell())
