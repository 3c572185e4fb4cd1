"""How a study's publication, and its run on this kernel, are cited. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote

from model.run_files.publication import Source

#: What stands for a simulator where there is none; after a comma, what the publication is.
NONE = "none"
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

    @property
    def url(self) -> str:
        """Where the DOI leads to."""
        return f"https://doi.org/{quote(self.doi)}"


def reference(source: Source | None, study: str, ran: str) -> Reference | None:
    """Return how to cite a publication and its run; None for a study of none."""
    if source is None:
        return None
    year = f", {source.year}" if source.year else ""
    fields = {
        "author": "{" + _plain(source.authors) + "}",
        "howpublished": _plain(source.publication),
        **({"year": str(source.year)} if source.year else {}),
        **({"doi": _plain(source.doi)} if source.doi else {}),
    }
    if simulates(source.simulator):
        fields["note"] = _plain(f"numbers by {source.simulator}")
    entry = ",\n".join(f"  {name} = {{{text}}}" for name, text in fields.items())
    return Reference(
        text=f"{source.authors}, {source.publication}{year}{what(source.simulator)}",
        doi=source.doi or "",
        bibtex=f"@misc{{{study},\n{entry}\n}}",
        run=f"Groundtruth, study {study}: {ran}.",
    )


def simulates(simulator: str) -> bool:
    """Return whether a publication has numbers, of a simulator or of anything else."""
    return simulator.partition(",")[0] != NONE


def what(simulator: str) -> str:
    """Return in parentheses where a publication's numbers are from, or what it is without any."""
    words = simulator if simulates(simulator) else simulator.partition(", ")[2]
    return f" ({words})" if words else ""


def _plain(text: str) -> str:
    return _SPECIAL.sub(lambda found: f"\\{found[0]}", text)
