"""``summary.json`` and ``summary.csv`` as text. Pure; docs/data-format.md describes both.

Invariants: nothing depends on when or where the report was written, so equal runs give equal bytes.
"""

from __future__ import annotations

import csv
import io
from typing import Any

from model.run_files import json_file, summary_points
from model.run_files import summary as files
from reports.inference.replication import Replication
from reports.verdict.summary import Summary


def replication_record(found: Replication) -> dict[str, Any]:
    """Return ``replication.json``: what is to be known how precisely, and how far each point is."""
    return files.Replication.model_validate(found).model_dump(mode="json", by_alias=True)


def summary_json(summary: Summary) -> str:
    """Return ``summary.json``; docs/schemas/summary.schema.json is its schema."""
    names = [parameter.name for parameter in summary.parameters]
    context = {"parameters": names, "headline": summary.headline}
    record = files.SUMMARY.validate_python(summary, context=context)
    return json_file.text_of(files.SUMMARY, record, context=context)


_CSV_TAIL = (
    "metric", "n", "mean", "sd", "ci95_lo", "ci95_hi", "pi95_lo", "pi95_hi", "published",
    "published_in_ci95", "published_in_pi95", "published_contradicted", "simulated", "reason",
    "ratio_of_means", "ratio_ci95_lo", "ratio_ci95_hi", "adjusted", "adjusted_ci95_lo",
    "adjusted_ci95_hi",
)  # fmt: skip


def _csv_value(value: float | int | str | bool | None) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def summary_csv(summary: Summary) -> str:
    """Return ``summary.csv``: one row per point and metric; an empty field is unknown."""
    names = [parameter.name for parameter in summary.parameters]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["study", *names, *_CSV_TAIL])
    for point in summary.points:
        settings = point.point.as_dict()
        for name, metric in point.metrics.items():
            found = summary_points.Metric.model_validate(metric).model_dump()
            contradicted = None if metric.published is None else point.contradicted(name)
            for key in ("ci95", "pi95", "ratio_ci95", "adjusted_ci95"):
                found[f"{key}_lo"], found[f"{key}_hi"] = found[key] or (None, None)
            found |= {"metric": name, "published_contradicted": contradicted}
            writer.writerow(
                [summary.study, *(_csv_value(settings.get(n)) for n in names)]
                + [_csv_value(found[key]) for key in _CSV_TAIL]
            )
    return out.getvalue()
