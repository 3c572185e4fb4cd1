"""What a cell is found by: all that can change its bytes, and nothing that cannot."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.cell import Cell, to_dict
from model.event import Event
from model.tolerances import EXACT, Tolerances
from testbed.store import identity
from tests.support.ad_hoc_study import cell as ad_hoc_cell
from tests.support.recorded import wireless_cell

#: What says only which cell of which study it is, or how long to wait for it.
LABELS = {"study", "point", "replicate", "limits.wall_s"}
WIRED = wireless_cell()


def evidence_key(cell: Cell) -> str:
    return identity.key(identity.of_evidence(cell, "starts"))


def changes(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every value that differs from this one in one leaf, and where."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            for where, changed in changes(getattr(value, field.name), f"{path}.{field.name}"):
                yield where, dataclasses.replace(value, **{field.name: changed})
    elif isinstance(value, tuple | dict):
        yield from several(value, path)
    elif isinstance(value, bool):
        yield path, not value
    elif isinstance(value, int | float):
        yield path, value + 1
    else:
        yield path, f"{value}, another"


def several(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield every tuple or table that differs in one leaf, or has one more."""
    named = value if isinstance(value, dict) else dict(enumerate(value))
    for name, item in [*named.items(), ("more", None)]:
        for where, changed in changes(item, f"{path}[{name}]"):
            every = {**named, name: changed}
            yield where, every if isinstance(value, dict) else tuple(every.values())


def is_label(where: str) -> bool:
    name = where.removeprefix(".")
    return name.partition("[")[0] in LABELS


@pytest.mark.parametrize("cell", [WIRED, ad_hoc_cell()], ids=["wired", "ad hoc"])
def test_every_field_of_a_cell_but_its_labels_changes_its_identity(cell: Cell) -> None:
    found = dict(changes(cell))
    # Every field is tried: each has at least one leaf.
    tried = {where.removeprefix(".").partition(".")[0].partition("[")[0] for where in found}
    assert tried == {field.name for field in dataclasses.fields(Cell)}
    assert len(found) > 100
    keys = {where: evidence_key(changed) for where, changed in found.items()}
    own = evidence_key(cell)
    assert {where for where, key in keys.items() if key == own} == {
        where for where in found if is_label(where)
    }
    others = [key for where, key in keys.items() if not is_label(where)]
    assert len({*others}) == len(others)


def test_an_event_changes_it_too() -> None:
    event = Event(
        id="e1", t_s=1.0, link="bottleneck", way="both", state="down", rate_bps=None, owd_s=None,
        loss_frac=None,
    )  # fmt: skip
    with_event = dataclasses.replace(WIRED, events=(event,))
    changed = [dataclasses.replace(WIRED, events=(one,)) for _, one in changes(event)]
    keys = [evidence_key(one) for one in (WIRED, with_event, *changed)]
    assert len({*keys}) == len(keys) == 2 + len(dataclasses.fields(Event))


@given(st.text(), st.dictionaries(st.text(), st.integers() | st.text()), st.integers(1, 10**5))
def test_labels_are_shown_to_no_guest_and_change_nothing(
    study: str, point: dict[str, Any], replicate: int
) -> None:
    named = dataclasses.replace(WIRED, study=study, point=point, replicate=replicate)
    assert identity.unlabelled(named) == identity.unlabelled(WIRED)
    assert evidence_key(named) == evidence_key(WIRED)


@given(st.integers(0, 2**31), st.integers(0, 2**31))
def test_two_seeds_are_two_cells(one: int, other: int) -> None:
    keys = {evidence_key(wireless_cell(seed=seed)) for seed in (one, other)}
    assert len(keys) == (1 if one == other else 2)


def test_what_stays_of_a_cell_is_all_that_it_measures() -> None:
    left = to_dict(identity.unlabelled(WIRED))
    before = to_dict(WIRED)
    changed = {name for name, value in before.items() if left[name] != value}
    assert changed == {"study", "point", "replicate", "limits"}
    assert left["limits"] == {**before["limits"], "wall_s": 0.0}


def test_tables_depend_on_evidence_parser_and_tolerances() -> None:
    def key(evidence: str = "e", parses: str = "p", tolerances: Tolerances = EXACT) -> str:
        return identity.key(identity.of_tables(evidence, parses, tolerances))

    loose = dataclasses.replace(EXACT, delay_s=EXACT.delay_s + 1)
    assert len({key(), key("f"), key(parses="q"), key(tolerances=loose)}) == 4
    assert identity.key(identity.of_evidence(WIRED, "a")) != evidence_key(WIRED)


def test_a_changed_file_of_code_changes_the_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identity, "PROJECT", tmp_path)
    monkeypatch.setattr(identity, "PARSES", ("collectors", "model/one.py"))
    for name in ("collectors/a/b.py", "collectors/c.py", "model/one.py", "model/two.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    before = identity.parses_digest()
    assert identity.parses_digest() == before
    (tmp_path / "model/two.py").write_text("another")
    (tmp_path / "collectors/a/b.pyc").write_text("compiled")
    assert identity.parses_digest() == before
    (tmp_path / "collectors/a/b.py").write_text("another")
    changed = identity.parses_digest()
    (tmp_path / "collectors/c.py").rename(tmp_path / "collectors/d.py")
    assert len({before, changed, identity.parses_digest()}) == 3
    monkeypatch.setattr(identity, "PACKAGES", ("polars",))
    assert identity.parses_digest() not in {before, changed}


def test_each_lab_has_code_of_its_own_that_starts_it() -> None:
    names = ("virtual", "ns2", "stock")
    assert len({identity.starts_digest(name) for name in names}) == 3
    for place in (*identity.STARTS, *(f"testbed/labs/{name}" for name in names)):
        assert list((identity.PROJECT / place).glob("*.py"))


def test_what_parses_uses_nothing_that_its_digest_leaves_out() -> None:
    """But for the store itself and what labs promise, which have no part in what is written."""
    covered = {
        path for place in identity.PARSES for path in identity.PROJECT.glob(f"{place}/**/*.py")
    } | {identity.PROJECT / place for place in identity.PARSES if place.endswith(".py")}
    left_out = {
        f"{path.relative_to(identity.PROJECT)} uses {name}"
        for path in covered
        for name in imported(path)
        if not name.startswith(("testbed.store", "testbed.labs.contract"))
        and not covered & files_of(name)
    }
    assert left_out == set()
    assert len(covered) > 100


def imported(path: Path) -> Iterator[str]:
    """Yield the project's modules that a file imports."""
    roots = ("collectors", "mininet_topos", "model", "probes", "reports", "simulators", "testbed")
    for node in ast.walk(ast.parse(path.read_text())):
        names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            inner = [f"{node.module}.{one.name}" for one in node.names]
            names = [name if files_of(name) else node.module for name in inner]
        yield from (name for name in names if name.split(".")[0] in roots)


def files_of(module: str) -> set[Path]:
    """Return the files that a module of the project may be."""
    place = identity.PROJECT / module.replace(".", "/")
    return {path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()}
