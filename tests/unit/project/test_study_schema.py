"""docs/schemas/ is the models' own: it takes every study there is, and refuses mistakes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from docs.generate import study_schema, summary_schema
from testbed.study.yaml_document import parse_document, read_document
from tests.support.study_file import STUDIES, Edit, edited

FILES = [*STUDIES.glob("*.yaml"), *STUDIES.glob("[et]*/*.yaml")]
VALIDATOR = Draft202012Validator(json.loads(study_schema.FILE.read_text(encoding="utf-8")))


def plain(value: Any) -> Any:
    """Return data as an editor reads it: lists in place of tuples."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, tuple) else value


def wrong(text: str) -> list[str]:
    """Return the places at which a study's text does not fit, as paths."""
    found = VALIDATOR.iter_errors(plain(parse_document(text, "w.yaml").data))
    return sorted(error.json_path for error in found)


def test_the_file_is_what_the_models_say() -> None:
    """After a change to a model: python -m docs.generate.study_schema."""
    Draft202012Validator.check_schema(study_schema.schema())
    assert study_schema.FILE.read_text(encoding="utf-8") == study_schema.written()


@pytest.mark.parametrize("file", summary_schema.FILES, ids=lambda file: file.name)
def test_the_schemas_of_summaries_are_what_the_models_say(file: Any) -> None:
    """After a change to a model: python -m docs.generate.summary_schema."""
    found = file.read_text(encoding="utf-8")
    Draft202012Validator.check_schema(json.loads(found))
    assert found == summary_schema.written(file)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_study_fits(path: Any) -> None:
    assert len(FILES) >= 8
    assert [e.message for e in VALIDATOR.iter_errors(plain(read_document(path).data))] == []


@pytest.mark.parametrize(
    ("edit", "place"),
    [
        (("rate: 3 Mbit/s", "rate: 3"), "$.network.bottleneck.rate"),
        (("rate: 3 Mbit/s", "rate: 3 Mbps"), "$.network.bottleneck.rate"),
        (("delay: 250 ms", "delay: 250 s/2"), "$.network.bottleneck.delay"),
        (("data: 1 %", "data: 0.01"), "$.network.bottleneck.loss.data"),
        (("data: 1 %", "data: 1 %\n      kind: independent"), "$.network.bottleneck.loss"),
        (("      acknowledgements: 0 %\n", ""), "$.network.bottleneck.loss"),
        (("protocol: tcp", "protocol: tpc"), "$.flows[0].protocol"),
        (("protocol: tcp", "protocol: tcp\n    congestion_control: cubik"),
         "$.flows[0].congestion_control"),
        (("study: wireless", "study: Wireless"), "$.study"),
        (("pct_increase, ", "pct_increased, "), "$.metrics[2]"),
        (("  network.bottleneck.loss.data:", "  networks.bottleneck.loss.data:"), "$.sweep"),
        (("rule: window-below-path", "rule: window"), "$.acknowledged[0].rule"),
    ],
)  # fmt: skip
def test_a_mistake_is_found_where_it_is(edit: Edit, place: str) -> None:
    assert place in wrong(edited(edit))
    assert wrong(edited()) == []


def test_every_key_and_choice_is_explained() -> None:
    made = study_schema.schema()
    models = [made, *made["$defs"].values()]
    unsaid = [
        name
        for model in models
        for name, field in model.get("properties", {}).items()
        if not field.get("description")
    ]
    assert unsaid == []
