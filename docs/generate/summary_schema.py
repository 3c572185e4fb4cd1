"""Write the schemas of summary.json, of a run and of a set, into docs/schemas/.

.venv/bin/python -m docs.generate.summary_schema
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from docs.generate.study_schema import without_noise
from model.run_files.summary import SET_SUMMARY, SUMMARY

SCHEMAS = Path(__file__).parents[1] / "schemas"
OF_RUN = "summary.schema.json"
FILES: dict[Path, tuple[TypeAdapter[Any], str]] = {
    SCHEMAS / OF_RUN: (SUMMARY, "summary.json of a Groundtruth run, version 1"),
    SCHEMAS / "set-summary.schema.json": (
        SET_SUMMARY, "summary.json of a set of Groundtruth runs, version 1"
    ),
}  # fmt: skip


def written(file: Path) -> str:
    """Return the content of a schema."""
    model, title = FILES[file]
    made = without_noise(model.json_schema(mode="serialization"))
    for one in made.get("$defs", {}).values():  # a dataclass does not say it
        one["additionalProperties"] = False
    if model is SET_SUMMARY:
        made["properties"]["studies"]["items"] = {"$ref": OF_RUN}
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title}
    text = json.dumps({**head, **made}, indent=1, ensure_ascii=False)
    return text.replace(r"\\A", "^").replace(r"\\z", "$") + "\n"


if __name__ == "__main__":
    for path in FILES:
        path.write_text(written(path), encoding="utf-8")
