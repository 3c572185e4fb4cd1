"""Cells that pass through a store shared with workers: what was put there, or not at all."""

from __future__ import annotations

import dataclasses
import errno
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.local import LocalFileSystem

from model import run_folder
from model.errors import MachineError, RunError, StudyError, UnsupportedError
from testbed.campaign import digests
from testbed.campaign.run_cells import Outcome, Part, run_parts
from testbed.cluster import address, artefacts, giving
from testbed.cluster.engine import Cluster
from testbed.machine import room
from tests.support.runs import s3_server
from tests.support.runs.cluster_cells import Act, Lab, planned

Start = Callable[..., subprocess.Popen[bytes]]
pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Return the variables by which a bucket of this machine is found."""
    with s3_server.served(tmp_path_factory.mktemp("s3")) as variables:
        yield dict(variables)


@pytest.fixture(params=["file", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the address of a folder, and of a bucket."""
    if request.param == "file":
        (tmp_path / "shared").mkdir()
        return f"file://{tmp_path}/shared"
    for name, value in request.getfixturevalue("s3").items():
        monkeypatch.setenv(name, value)
    return f"s3://{s3_server.BUCKET}/{tmp_path.name}"


def left(store: str) -> list[str]:
    return [str(one) for one in artefacts._system(store).find(store)]


def content(tmp_path: Path) -> Path:
    file = tmp_path / "packed"
    file.write_bytes(os.urandom(3 << 20))
    return file


def test_what_is_put_is_fetched_and_nothing_stays(tmp_path: Path, store: str) -> None:
    file = content(tmp_path)
    with artefacts.begun(store) as there:
        kept = [there.put("a", file), there.put("a", file)]
        assert kept[0].url != kept[1].url
        assert kept[0].url.startswith(f"{store}/groundtruth-")
        artefacts.get(kept[0], tmp_path / "back")
        assert (tmp_path / "back").read_bytes() == file.read_bytes()
        before = len(left(store))
        artefacts.remove(kept[0])
        assert len(left(store)) == before - 1
    assert left(store) == []


@pytest.mark.parametrize("what", ["flipped", "longer", "cut", "gone"])
def test_what_was_changed_there_is_told_with_its_address(
    tmp_path: Path, store: str, what: str
) -> None:
    file = content(tmp_path)
    with artefacts.begun(store) as there:
        kept = there.put("a", file)
        system, data = artefacts._system(store), bytearray(file.read_bytes())
        if what == "flipped":
            data[len(data) // 2] ^= 1
        changed = {"longer": bytes(data) + b"x", "cut": bytes(data)[:-1]}.get(what, bytes(data))
        system.pipe_file(kept.url, changed)
        if what == "gone":
            system.rm_file(kept.url)
        with pytest.raises(MachineError, match=kept.url):
            artefacts.get(kept, tmp_path / "back")


def test_another_store_of_the_same_name_is_noticed(tmp_path: Path, store: str) -> None:
    with artefacts.begun(store) as there:
        there.check()
        with pytest.raises(UnsupportedError, match="another campaign's file"):
            dataclasses.replace(there, token="other").check()
        with pytest.raises(UnsupportedError, match="cannot use the artefacts"):
            dataclasses.replace(there, url=f"{store}/elsewhere").check()


def test_a_bucket_that_is_not_there_is_named(
    s3: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in s3.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(RunError, match=r"s3://no-such/x.*bucket does not exist"):
        artefacts.begun("s3://no-such/x").__enter__()


@pytest.mark.parametrize("what", ["wrong", "none"])
def test_wrong_credentials_are_told_and_not_shown(
    s3: dict[str, str], what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()  # it keeps those that were right
    for name, value in s3.items():
        monkeypatch.setenv(name, value)
    secret = "AWS_SECRET_ACCESS_KEY"
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    if what == "none":
        monkeypatch.delenv(secret)
        monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    else:
        monkeypatch.setenv(secret, "not-the-secret")
    with pytest.raises(RunError, match=r"cannot be used: got (Permission|NoCredentials)") as told:
        artefacts.begun(f"s3://{s3_server.BUCKET}/x").__enter__()
    assert "not-the-secret" not in str(told.value)
    s3fs.S3FileSystem.clear_instance_cache()


def test_a_folder_that_is_not_there_or_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"no-such.*no such folder"):
        artefacts.begun(f"file://{tmp_path}/no-such").__enter__()
    with pytest.raises(RunError, match=r"file:///proc.*cannot be used"):
        artefacts.begun("file:///proc/self").__enter__()


def test_a_full_store_is_named_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, file = f"file://{tmp_path}/shared", content(tmp_path)
    (tmp_path / "shared").mkdir()
    told = rf"{store}.*no room is left there"

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with artefacts.begun(store) as there, monkeypatch.context() as patched:
        patched.setattr(LocalFileSystem, "pipe_file", full)
        patched.setattr(LocalFileSystem, "put_file", full)
        with pytest.raises(RunError, match=told) as of_command:
            artefacts.begun(store).__enter__()
        with pytest.raises(UnsupportedError, match=told) as of_worker:
            there.check()
        with pytest.raises(UnsupportedError, match=told) as of_cell:
            there.put("a", file)
    for one in (of_command, of_worker, of_cell):  # not this machine's disk
        assert not room.is_full(one.value)
    assert left(store) == []
    assert list((tmp_path / "shared").iterdir()) == []


def test_a_full_disk_here_is_not_taken_for_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shared").mkdir()
    with artefacts.begun(f"file://{tmp_path}/shared") as there:
        kept = there.put("a", content(tmp_path))
        write_to = Path("/dev/full").open
        monkeypatch.setattr(Path, "open", lambda *_: write_to("wb"))
        with pytest.raises(OSError, match="No space left") as told:
            artefacts.get(kept, tmp_path / "back")
    assert room.is_full(told.value)


def test_what_is_no_plain_file_there_is_named_at_once(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    with artefacts.begun(f"file://{tmp_path}/shared") as there:
        kept = there.put("a", content(tmp_path))
        place = Path(kept.url.removeprefix("file://"))
        place.unlink()
        os.mkfifo(place)  # reading it waits for a writer for ever
        with pytest.raises(MachineError, match=rf"{kept.url}.*not a plain file"):
            artefacts.get(kept, tmp_path / "back")


@pytest.mark.parametrize("text", ["s3://B", "http://x/y", "file://host/x", "/shared", "s3://k:s@b"])
def test_what_is_no_store_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(artefacts.VARIABLE, text)
    with pytest.raises(StudyError, match=r"ARTEFACTS.*file:///FOLDER or s3://BUCKET"):
        artefacts.named()


def test_a_store_is_named_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(artefacts.VARIABLE, raising=False)
    assert artefacts.named() == ""
    monkeypatch.setenv(artefacts.VARIABLE, "s3://cells/of/us/")
    assert artefacts.named() == "s3://cells/of/us"


def test_cells_pass_through_it_and_one_that_was_changed_there_goes_again(
    tmp_path: Path, here: str, store: str, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    start("scheduler", here)
    start("worker", here, "--jobs", "1")
    (tmp_path / "begun").mkdir()
    cells, lab, fetch, seen = planned(2), Lab(Act(tmp_path / "begun")), artefacts.get, []
    said: set[str] = set()

    def once_changed(kept: artefacts.Kept, into: Path) -> None:
        seen.append(kept)
        if len(seen) == 1:
            system = artefacts._system(kept.url)
            data = bytearray(system.cat_file(kept.url))
            data[len(data) // 2] ^= 1
            system.pipe_file(kept.url, bytes(data))
        fetch(kept, into)

    monkeypatch.setattr(artefacts, "get", once_changed)
    cluster = Cluster(address=address.parse(here), through=store)
    part = Part(run=tmp_path / "run", cells=cells, lab=lab)
    (outcome,) = run_parts(
        [part], jobs=1, report=lambda progress: said.update(progress.said), elsewhere=cluster
    )
    assert outcome == Outcome(finished_cells=2, failures=())
    assert len(seen) == 3
    assert any(f"to be tried again: {os.uname().nodename}" in one and seen[0].url in one
               and "changed on its way" in one for one in said)  # fmt: skip
    assert left(store) == []
    (alone,) = run_parts(
        [Part(run=tmp_path / "alone", cells=cells, lab=lab)], jobs=1, report=lambda _: None
    )
    assert alone.finished_cells == 2
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    secrets = [os.environ[name].encode() for name in names if name in os.environ]
    assert len(secrets) == (2 if store.startswith("s3") else 0)
    for one in cells:
        places = [run_folder.cell_folder(tmp_path / name, one.id) for name in ("run", "alone")]
        assert digests.of_cell(places[0]) == digests.of_cell(places[1])
        for path in places[0].rglob("*"):
            written = path.read_bytes() if path.is_file() else b""
            assert not any(secret in written for secret in secrets)


def test_a_worker_that_cannot_use_it_gets_no_cell(
    tmp_path: Path, here: str, s3: dict[str, str], start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    start("scheduler", here)
    start("worker", here, "--jobs", "1")  # without credentials
    for name, value in s3.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(giving, "NO_WORKER_S", 0.5)
    cluster = Cluster(address=address.parse(here), through=f"s3://{s3_server.BUCKET}/y")
    given: dict[str, Any] = {"jobs": 1, "report": lambda _: None, "elsewhere": cluster}
    part = Part(run=tmp_path / "run", cells=planned(1), lab=Lab(Act(tmp_path)))
    with pytest.raises(RunError, match=r"no worker that can.*cannot use the artefacts"):
        run_parts([part], **given)
