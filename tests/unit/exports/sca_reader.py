"""A strict reader of OMNeT++ scalar files, by the manual's appendix "Result File Formats".

Written from the grammar, not from the writer; whatever the grammar does not allow raises.
"""

from __future__ import annotations

from dataclasses import dataclass, field

_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}


@dataclass
class Scalar:
    module: str
    name: str
    value: float
    attributes: dict[str, str] = field(default_factory=dict)


@dataclass
class Run:
    id: str
    attributes: dict[str, str] = field(default_factory=dict)
    itervars: dict[str, str] = field(default_factory=dict)
    config: list[tuple[str, str]] = field(default_factory=list)
    scalars: list[Scalar] = field(default_factory=list)

    def scalar(self, module: str, name: str) -> Scalar:
        (found,) = (one for one in self.scalars if (one.module, one.name) == (module, name))
        return found


def tokens(line: str) -> list[str]:
    """Return a line's tokens; in quotes backslashes escape."""
    found, place = [], 0
    while place < len(line):
        if line[place] in " \t":
            place += 1
        elif line[place] == '"':
            text, place = _quoted(line, place + 1)
            found.append(text)
            assert place == len(line) or line[place] in " \t", "a token ends at its quote"
        else:
            end = next((at for at in range(place, len(line)) if line[at] in " \t"), len(line))
            found.append(line[place:end])
            place = end
    return found


def _quoted(line: str, place: int) -> tuple[str, int]:
    text = ""
    while line[place] != '"':
        if line[place] != "\\":
            text, place = text + line[place], place + 1
        elif line[place + 1] == "x":
            text, place = text + chr(int(line[place + 2 : place + 4], 16)), place + 4
        else:
            text, place = text + _ESCAPES[line[place + 1]], place + 2
    return text, place + 1


def read(content: bytes) -> list[Run]:
    """Return the runs of a file."""
    text = content.decode()
    assert text.endswith("\n")
    first, *lines = text.removesuffix("\n").split("\n")
    assert tokens(first) == ["version", "3"]
    runs: list[Run] = []
    for line in lines:
        match tokens(line):
            case []:
                continue
            case ["run", name]:
                runs.append(Run(id=name))
            case ["attr", name, value]:
                of = runs[-1].scalars[-1] if runs[-1].scalars else runs[-1]
                assert name not in of.attributes
                of.attributes[name] = value
            case ["itervar", name, value]:
                assert not runs[-1].scalars
                runs[-1].itervars[name] = value
            case ["config", name, value]:
                assert not runs[-1].scalars
                runs[-1].config.append((name, value))
            case ["scalar", module, name, value]:
                runs[-1].scalars.append(Scalar(module, name, float(value)))
            case other:
                raise AssertionError(f"no line of a scalar file: {other}")
    return runs
