"""What is kept of users' source, in the cache and in runs; and what is not believed."""

from __future__ import annotations

from pathlib import Path

import pytest

from model.errors import StudyError
from testbed.labs.virtual import tree_kernel
from testbed.labs.virtual.own_source import kept
from testbed.labs.virtual.own_source.given_tree import opened
from testbed.labs.virtual.own_source.kept import Origin
from testbed.study import kernel_names

TEXT = b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-\xff\r\n+b\n"


def test_a_run_brings_back_what_the_cache_has_lost(
    linux: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (linux / "net" / "a.c").write_text("int other;\n")
    part = kept.keep_patch("fix", TEXT)
    name = f"{tree_kernel.named(str(linux))}+{part}"
    records = kept.records([name, "6.12", "7.3+sctp-4th-duplicate", "2.35-era2001"])
    assert list(records) == [name]
    assert records[name]["tree"] == str(linux)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "new-cache"))
    base, local, _ = name.split("+")
    assert kept.origin(base) is None
    assert kept.records([name]) == {name: {}}
    kept.take_in(records)
    assert kept.patch(part) == TEXT, "to the byte, whatever its encoding"
    assert kept.patch(local) is not None
    assert kept.origin(base) == Origin(str(linux), opened(str(linux)).commit)
    assert kept.records([name]) == records


def test_what_the_cache_has_is_not_replaced(linux: Path) -> None:
    base = tree_kernel.named(str(linux))
    records = kept.records([base])
    records[base]["tree"] = "/elsewhere"
    kept.take_in(records)
    assert kept.origin(base) == Origin(str(linux), opened(str(linux)).commit)


def test_another_text_than_the_name_says_is_not_taken(own_cache: Path) -> None:
    part = kernel_names.own_patch("fix", "00000000")
    kept.take_in({f"6.12+{part}": {"patches": {part: "another"}}})
    assert kept.patch(part) is None
    place = own_cache / kept.FOLDER / f"{part}.patch"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("edited")
    assert kept.patch(part) is None


@pytest.mark.parametrize(
    "record",
    [
        None, [], "x", {"6.12": None}, {1: {}}, {"../x": {"tree": "/x", "commit": "2" * 40}},
        {"6.12-g222222222222": {"tree": "/x", "commit": "1" * 40}},
        {"6.12-g222222222222": {"tree": 1, "commit": "2" * 40}},
        *({"6.12-g222222222222": {"tree": "/x", "commit": "2" * 40 + more}}
          for more in ("~1", "^2", "^{/x}", "2", "\n")),
        {"6.12-g222222222222": {"tree": "/x", "commit": "2" * 12}},
        {"6.12-g222222222222": {"patches": {"../x-1a2b3c4d": "x", "y": 1, "z-1a2b3c4d": "\u20ac"}}},
        {"6.12+z-1a2b3c4d": {"patches": {"z-1a2b3c4d": "\u20ac", 1: 2}}},
        {"6.12": {"tree": "/x", "commit": "2" * 40}},
    ],
)  # fmt: skip
def test_what_a_run_says_wrongly_is_left_out(record: object, own_cache: Path) -> None:
    kept.take_in(record)
    assert not list(own_cache.rglob("*.patch"))
    assert not list(own_cache.rglob("*.json"))


def test_two_commits_with_the_same_first_digits(linux: Path) -> None:
    tree = opened(str(linux))
    other = Origin("/x", tree.commit[:12] + "0" * 28)
    kept._keep_origin(tree.base, other)
    with pytest.raises(StudyError, match="another commit has the same first digits"):
        kept.keep_origin(tree)


def test_two_patches_with_the_same_name_and_first_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_digest", lambda _text: "1a2b3c4d" + "0" * 56)
    name = kept.keep_patch("fix", TEXT)
    assert kept.keep_patch("fix", TEXT) == name
    with pytest.raises(StudyError, match="another patch has the same name and first digits"):
        kept.keep_patch("fix", TEXT + b"\n")
    assert kept.patch(name) == TEXT
    assert kept.keep_patch("other", TEXT + b"\n") != name
