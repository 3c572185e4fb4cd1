"""How a study's publication, and its run on this kernel, are cited. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from model.run_files.publication import Source

_DOI = re.compile(r"\b10\.\d{4,9}/[^\s,;]+")
_SPECIAL = re.compile(r"[\\{}$&#%_^~]")


@dataclass(frozen=True, kw_only=True)
class Reference:
    """A publication in a line, its DOI (empty: none is given), and as an entry for BibTeX.

    ``run`` is a line that cites what was run here.
    """

    text: str
    doi: str
    bibtex: str
    run: str


def reference(source: Source | None, study: str, ran: str) -> Reference | None:
    """Return how to cite a publication and its run; None for a study of none."""
    if source is None:
        return None
    year = f", {source.year}" if source.year else ""
    doi = _DOI.search(source.publication)
    fields = {
        "author": "{" + _plain(source.authors) + "}",
        "howpublished": _plain(source.publication),
        **({"year": str(source.year)} if source.year else {}),
        **({"doi": doi[0]} if doi else {}),
        "note": _plain(f"simulated with {source.simulator}"),
    }
    entry = ",\n".join(f"  {name} = {{{text}}}" for name, text in fields.items())
    return Reference(
        text=f"{source.authors}, {source.publication}{year} ({source.simulator})",
        doi=doi[0] if doi else "",
        bibtex=f"@misc{{{study},\n{entry}\n}}",
        run=f"Groundtruth, study {study}: {ran}.",
    )


def _plain(text: str) -> str:
    return _SPECIAL.sub(lambda found: f"\\{found[0]}", text)
