"""The page of all claims is what the study files say."""

from __future__ import annotations

import pytest

from docs.generate import published_claims
from tests.support.study_file import UNPUBLISHED, study


def test_the_page_is_as_written_from_the_study_files() -> None:
    assert published_claims.FILE.read_text() == published_claims.written(), (
        "write it again: python -m docs.generate.published_claims"
    )


COMPARED = """metric: cwnd_mean_S_segments
    versus: {metric: cwnd_mean_T_segments}
    relative: true
    at: {network.bottleneck.loss.data: [1 %, 2 %]}
    is: {equal_within: 3}"""
ALONG = """metric: utilisation_pct
    along: network.bottleneck.loss.data
    is: """


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("metric: pct_increase\n    is: {above: 0}", "`pct_increase`: above 0"),
        ("metrics: [share_T_pct, share_S_pct]\n    is: {between: [7, 8.5]}",
         "`share_T_pct`, `share_S_pct`: between 7, 8.5"),
        (COMPARED,
         ("`cwnd_mean_S_segments` against `cwnd_mean_T_segments` (relative, %): equal within 3,"
          " at `network.bottleneck.loss.data` 1 %, 2 %")),
        (ALONG + "falling", "`utilisation_pct`: falling, along `network.bottleneck.loss.data`"),
        (ALONG + "{peak: 1 %}",
         "`utilisation_pct`: peak 1 %, along `network.bottleneck.loss.data`"),
        ("untested: It is a cause.", "untested: It is a cause."),
    ],
)  # fmt: skip
def test_a_predicate_in_words(lines: str, said: str) -> None:
    edit = f"claims:\n  - id: one\n    text: It is so.\n    where: S\n    {lines}\n"
    loaded = study(UNPUBLISHED, ("assumptions:", f"{edit}assumptions:"))
    assert published_claims.predicate(loaded.settings.claims[0]) == said
