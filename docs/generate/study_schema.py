"""Write docs/schemas/study.schema.json: what editors check and complete in a study file.

    .venv/bin/python -m docs.generate.study_schema

Keys, words, units and their explanations are those of the models that read study files. What
several settings must agree on is beyond a schema; `groundtruth validate` says it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from model.run_files.metrics.every import ALWAYS, ASKED
from testbed.points.sweep import SWEEPABLE
from testbed.study.setting_types import FLOW_NAME, GROUP_NAME
from testbed.study.study_form import StudyFile
from testbed.study.vocabulary import EPISODE_VALUES

FILE = Path(__file__).parents[1] / "schemas" / "study.schema.json"
HEAD = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Study file of Groundtruth, version 1",
}
#: What pydantic writes that says nothing in a file: its names for keys, defaults in base units.
NOISE = ("title", "default")
NULL = {"type": "null"}


def metric_pattern() -> str:
    """Return the pattern of every metric's name."""
    names = {"group": GROUP_NAME, "flow": FLOW_NAME}
    patterns = [
        re.sub(r"\{(\w+)\}", lambda part: names[part[1]], one.name) for one in (*ALWAYS, *ASKED)
    ]
    return f"^({'|'.join(patterns)})$"


def schema() -> dict[str, Any]:
    """Return the JSON Schema."""
    made: dict[str, Any] = _without_null(without_noise(StudyFile.model_json_schema(by_alias=True)))
    metric, setting = {"pattern": metric_pattern()}, {"pattern": f"^({'|'.join(SWEEPABLE)})(\\.|$)"}
    own = made["properties"]
    own["metrics"]["items"] |= metric
    own["sweep"]["propertyNames"] = setting
    own["points"]["items"]["propertyNames"] = setting
    own["label"]["propertyNames"] = setting
    rows, episodes = (made["$defs"][name] for name in ("PublishedRow", "PublishedEpisode"))
    rows["properties"]["values"]["propertyNames"] = metric
    episodes["properties"]["values"]["propertyNames"] = {"enum": list(EPISODE_VALUES)}
    for model in made["$defs"].values():
        if "at" in model.get("properties", {}):
            model["properties"]["at"]["propertyNames"] = setting
    return {**HEAD, **made}


def without_noise(value: Any, *, keys: bool = False) -> Any:
    """Return a schema without its noise; ``keys``: the value maps a model's keys to schemas."""
    if isinstance(value, list):
        return [without_noise(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: without_noise(item, keys=key in ("properties", "$defs") and not keys)
        for key, item in value.items()
        if keys or key not in NOISE
    }


def _without_null(value: Any) -> Any:
    """Return a schema where a key that may be left out cannot be there and empty instead."""
    if isinstance(value, list):
        return [_without_null(item) for item in value]
    if not isinstance(value, dict):
        return value
    whole = {key: _without_null(item) for key, item in value.items()}
    choices = whole.get("anyOf")
    if not isinstance(choices, list) or NULL not in choices:
        return whole
    given = [one for one in choices if one != NULL]
    rest = {key: item for key, item in whole.items() if key != "anyOf"}
    return {**rest, **given[0]} if len(given) == 1 else {**rest, "anyOf": given}


def written() -> str:
    """Return the content of study.schema.json."""
    return json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(written(), encoding="utf-8")
