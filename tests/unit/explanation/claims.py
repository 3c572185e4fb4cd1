"""Claims as ``resolved.json`` has them: one that is judged, and one that mechanisms explain."""

from __future__ import annotations

from typing import Any

CLAIMS: list[dict[str, Any]] = [
    {
        "id": "above-18", "text": "The increase is above 18 %.", "where": "Section 4",
        "untested": None,
        "comparisons": [{
            "metric": "pct_increase", "point": {"loss_frac": 0.01}, "versus": None,
            "relative": False, "low": 18.0, "high": None, "strict": True,
        }],
    },
    {
        "id": "because", "text": "It is because of it.", "where": "Section 6",
        "untested": "It is judged by turning it.", "comparisons": [],
    },
]  # fmt: skip
