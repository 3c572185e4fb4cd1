"""How a publication is cited."""

from __future__ import annotations

from model.run_files.publication import Source
from reports.published.reference import reference


def test_a_publication_with_all_there_is() -> None:
    source = Source(
        authors="A. Author and B. Other",
        publication="A Title with 50 %, Journal 4(6)",
        year=2005,
        doi="10.1000/xyz_1<2>",
        simulator="ns-2",
    )
    found = reference(source, "wireless", "14 runs")
    assert found is not None
    assert found.doi == "10.1000/xyz_1<2>"
    assert found.url == "https://doi.org/10.1000/xyz_1%3C2%3E"
    assert "doi = {10.1000/xyz\\_1<2>}" in found.bibtex
    assert found.text.endswith("Journal 4(6), 2005 (ns-2)")
    assert found.bibtex.startswith("@misc{wireless,\n  author = {{A. Author and B. Other}},\n")
    assert "50 \\%" in found.bibtex
    assert "year = {2005}" in found.bibtex
    assert found.run == "Groundtruth, study wireless: 14 runs."


def test_without_a_year_or_a_doi_neither_is_said() -> None:
    found = reference(Source(authors="A", publication="B", simulator="ns-2"), "x", "")
    assert found is not None
    assert found.doi == ""
    assert "year" not in found.bibtex
    assert "doi" not in found.bibtex


def test_a_publication_that_nobody_simulated_is_cited_as_what_it_is() -> None:
    for simulator, told in (("none, a specification", "B (a specification)"), ("none", "B")):
        found = reference(Source(authors="A", publication="B", simulator=simulator), "x", "")
        assert found is not None
        assert found.text == f"A, {told}"
        assert "note" not in found.bibtex
        assert "none" not in found.bibtex
    found = reference(Source(authors="A", publication="B", simulator="a model"), "x", "")
    assert found is not None
    assert "note = {numbers by a model}" in found.bibtex


def test_a_study_of_no_publication_is_not_cited() -> None:
    assert reference(None, "x", "") is None
