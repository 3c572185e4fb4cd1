"""``groundtruth bundle``: what is in the file, that it is the same each time, what is refused."""

from __future__ import annotations

import hashlib
import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from model import run_folder
from testbed.command.cli import command_status
from tests.support.fake_lab import FakeLab
from tests.support.runs.one_point import Broken
from tests.support.said import Said
from tests.unit.bundles.conftest import run_one

Files = dict[str, bytes]


def bundled(run: Path, *options: str, file: str = "b.tar.gz") -> Files:
    """Pack a run, and return the files of the bundle by their names below its folder."""
    assert command_status(["bundle", str(run), "--to", file, "--force", *options]) == 0
    with tarfile.open(file) as archive:
        members = archive.getmembers()
        assert all(one.isfile() and one.mtime == 315532800 and not one.uid for one in members)
        names = [one.name for one in members]
        assert names == sorted(names)
        found = {}
        for one in members:
            handle = archive.extractfile(one)
            assert handle
            found[one.name.removeprefix(f"{run.name}/")] = handle.read()
        return found


def entities(files: Files) -> dict[str, dict[str, Any]]:
    graph = json.loads(files["ro-crate-metadata.json"])["@graph"]
    found = {one["@id"]: one for one in graph}
    assert len(found) == len(graph)
    return found


def references(value: Any) -> list[str]:
    """Return the ids that an entity's values refer to."""
    if isinstance(value, list):
        return [id_ for one in value for id_ in references(one)]
    return [value["@id"]] if isinstance(value, dict) else []


def test_a_bundle_holds_the_run_and_what_describes_it(run: Path) -> None:
    files = bundled(run)
    ids = sorted(path.name for path in (run / "cells").iterdir())
    assert {name for name in files if not name.startswith("run/")} == {
        "CITATION.cff", "README.md", "SHA256SUMS", "bundle.json", "ro-crate-metadata.json",
        "hosts/paper.yaml", "kernels/7.3.config",
    }  # fmt: skip
    for name in ("study.yaml", "manifest.json", "summary.json", "report/index.html", "lab.json"):
        assert files[f"run/{name}"] == (run / name).read_bytes()
    for id_ in ids:
        own = {name.removeprefix(f"run/cells/{id_}/") for name in files if id_ in name}
        assert {"cell.json", "DONE", "verify.json", "timing.json"} <= own
        assert "console.log" not in own
        assert not [name for name in own if name.endswith((".gz", ".jsonl", ".tsv"))]
    assert files["hosts/paper.yaml"] == Path("hosts/paper.yaml").read_bytes()
    assert files["kernels/7.3.config"] == b"# Linux 7.3\nCONFIG_HZ=250\n"
    sums = dict(line.split("  ")[::-1] for line in files["SHA256SUMS"].decode().splitlines())
    assert set(sums) == set(files) - {"SHA256SUMS"}
    assert all(hashlib.sha256(files[name]).hexdigest() == sums[name] for name in sums)


def test_it_is_the_same_each_time_and_of_another_run_another(run: Path) -> None:
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    assert command_status(["bundle", str(run)]) == 0
    usual = run.with_name(f"{run.name}.tar.gz")
    first = usual.read_bytes()
    for path in before:
        os.utime(path, (1, 1))
    assert command_status(["bundle", "r/latest"]) == 0
    assert usual.read_bytes() == first
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before
    with_all = bundled(run, "--evidence")
    assert set(with_all) > set(bundled(run))


def test_with_evidence_it_is_the_whole_run(run: Path) -> None:
    files = bundled(run, "--evidence")
    for id_ in (path.name for path in (run / "cells").iterdir()):
        done = json.loads(files[f"run/cells/{id_}/DONE"])["sha256"]
        for name, digest in done.items():
            assert hashlib.sha256(files[f"run/cells/{id_}/{name}"]).hexdigest() == digest


def test_evidence_that_was_removed_is_not_said_to_be_there(run: Path, said: Said) -> None:
    assert command_status(["gc", str(run)]) == 0
    assert command_status(["bundle", str(run), "--to", "b.tar.gz", "--evidence"]) == 2
    assert "raw files of 3 of 3 cells were removed" in said()[1]
    assert not Path("b.tar.gz").exists()
    assert bundled(run)


def test_the_crate_says_what_each_file_is_and_how_it_came_about(run: Path) -> None:
    files = bundled(run, "--license", "CC-BY-4.0")
    found = entities(files)
    assert found["ro-crate-metadata.json"]["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.1"}
    root = found["./"]
    started = json.loads((run / run_folder.PROVENANCE).read_text())["started"]
    assert root["datePublished"] == started
    assert references(root["license"]) == ["https://spdx.org/licenses/CC-BY-4.0"]
    described = {id_ for id_, one in found.items() if one["@type"] == "File"}
    assert described == set(files) - {"ro-crate-metadata.json", "SHA256SUMS"}
    for id_ in described:
        assert found[id_]["sha256"] == hashlib.sha256(files[id_]).hexdigest()
        assert found[id_]["contentSize"] == str(len(files[id_]))
    reached, left = set(), ["./"]
    while left:
        id_ = left.pop()
        reached.add(id_)
        left += references(found[id_].get("hasPart", []))
    assert described < reached
    (action,) = (one for one in found.values() if one["@type"] == "CreateAction")
    assert action["startTime"] == started
    assert references(action["actionStatus"]) == ["http://schema.org/CompletedActionStatus"]
    assert references(action["object"]) == ["run/study.yaml", "hosts/paper.yaml"]
    assert references(action["result"]) == [
        "run/summary.json", "run/report/index.html", "run/cells/",
    ]  # fmt: skip
    programs = [found[id_] for id_ in references(action["instrument"])]
    assert [one["@type"] for one in programs] == ["SoftwareApplication"] * 2
    assert [one["name"] for one in programs] == ["Groundtruth", "Kernel 7.3, virtual lab"]
    assert programs[1]["softwareVersion"] == "7.3.4-1"
    (article,) = (found[id_] for id_ in references(root["citation"]))
    assert (article["@type"], article["datePublished"]) == ("ScholarlyArticle", "2005")
    every = [id_ for one in found.values() for value in one.values() for id_ in references(value)]
    known = {id_ for id_ in every if id_.startswith("http")}
    assert set(every) - known <= set(found)


def test_the_commands_say_what_they_took(run: Path) -> None:
    for place, told in zip(
        sorted((run / "cells").iterdir()),
        ({"wall_s": 60, "cpu_s": 30, "peak_memory_bytes": 5}, {"wall_s": 120, "cpu_s": 30,
         "peak_memory_bytes": 9}, {"wall_s": 180, "cpu_s": 60, "peak_memory_bytes": 7}),
        strict=True,
    ):  # fmt: skip
        (place / run_folder.TIMING).write_text(json.dumps(told))
    made, report, verify = json.loads(bundled(run)["bundle.json"])["commands"]
    assert made["command"].split()[0] == "groundtruth"  # what this process was called with
    took = {"cells": 3, "wall_minutes": 6.0, "processor_minutes": 2.0, "peak_memory_bytes": 9}
    assert {key: made[key] for key in took} == took
    assert report["command"] == f"groundtruth report results/{run.name}"
    assert {key: verify[key] for key in took} == took
    assert verify["command"] == "groundtruth verify b.tar.gz"


def test_what_was_not_measured_is_unknown(run: Path) -> None:
    for number, place in enumerate(sorted((run / "cells").iterdir())):
        text = ("[]", '{"wall_s": -1}', '{"wall_s": true, "cpu_s": "x"}')[number]
        (place / run_folder.TIMING).write_text(text)
    files = bundled(run)
    made = json.loads(files["bundle.json"])["commands"][0]
    assert made["cells"] == 3
    unknown = ("wall_minutes", "processor_minutes", "peak_memory_bytes")
    assert [made[name] for name in unknown] == [None] * 3
    assert "| 3 | not measured | not measured | not measured |" in files["README.md"].decode()


def test_what_is_damaged_is_refused(run: Path, said: Said) -> None:
    cell = next((run / "cells").iterdir())
    for path in (run / run_folder.STUDY, cell / run_folder.ENV, run / run_folder.SUMMARY_JSON):
        before = path.read_bytes()
        path.write_bytes(before.replace(b"1", b"2", 1))
        assert command_status(["bundle", str(run), "--to", "b.tar.gz"]) == 1
        assert path.name in said()[1]
        path.write_bytes(before)
    (run / run_folder.REPORT_HTML).unlink()
    assert command_status(["bundle", str(run), "--to", "b.tar.gz"]) == 2
    assert "there is no report" in said()[1]
    assert not Path("b.tar.gz").exists()
    assert not list(Path().glob(".b.tar.gz*"))


def test_links_lead_nowhere(run: Path, said: Said) -> None:
    (run / run_folder.REPORT / "passwd").symlink_to("/etc/passwd")
    assert command_status(["bundle", str(run), "--to", "b.tar.gz"]) == 3
    assert "a link" in said()[1]
    assert not Path("b.tar.gz").exists()


def test_unfinished_cells_are_missing_and_named(lab: FakeLab, broken: Broken, said: Said) -> None:
    broken.seeds = {2}
    words = ["run", "one.yaml", "--reps", "2", "-j", "1", "-D", "r"]
    assert command_status(words) == 3
    run = Path("r/latest").resolve()
    (left,) = (one.name for one in (run / "cells").iterdir() if not (one / "DONE").exists())
    assert command_status(["bundle", str(run), "--to", "b.tar.gz"]) == 2
    assert "1 of 3 cells are not finished" in said()[1]
    files = bundled(run, "--unfinished")
    assert not [name for name in files if left in name]
    assert json.loads(files["bundle.json"])["unfinished"] == {run.name: [left]}
    found = entities(files)
    (action,) = (one for one in found.values() if one["@type"] == "CreateAction")
    assert references(action["actionStatus"]) == ["http://schema.org/FailedActionStatus"]
    assert left in action["error"]
    assert "1 cell not finished, and missing here" in found["./"]["description"]


def test_a_set_is_one_bundle(lab: FakeLab) -> None:
    run = run_one("two.yaml")
    files = bundled(run)
    assert {"run/set.json", "run/report/index.html", "run/one/study.yaml", "run/two/study.yaml"} < (
        set(files)
    )
    assert [name for name in files if name.startswith("hosts/")] == ["hosts/paper.yaml"]
    found = entities(files)
    actions = [one["@id"] for one in found.values() if one["@type"] == "CreateAction"]
    assert sorted(actions) == ["#run-one", "#run-two"]
    (run_command, *_) = json.loads(files["bundle.json"])["commands"]
    assert run_command["cells"] == 6
    summary = run / run_folder.SUMMARY_JSON
    summary.write_text(summary.read_text().replace('"study": "one"', '"study": "1"', 1))
    assert command_status(["bundle", str(run), "--to", "c.tar.gz"]) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--to", "b.zip"], "not a bundle's name"),
        (["--to", "r/latest/b.tar.gz"], "what a run left is not written to"),
        (["--to", "there.tar.gz"], "a file is there"),
        (["--license", "all mine"], "not a licence"),
        (["--force"], "goes with --to"),
        (["--to", "one.yaml/b.tar.gz"], "cannot write the bundle"),
    ],
)
def test_usage(run: Path, said: Said, words: list[str], message: str) -> None:
    Path("there.tar.gz").touch()
    assert command_status(["bundle", "r/latest", *words]) == 2
    assert message in " ".join(said()[1].split())
