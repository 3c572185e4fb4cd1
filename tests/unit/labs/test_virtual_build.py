"""How the parts of virtual labs are built: in which order, and what is refused before."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from model.errors import StudyError, UnsupportedError
from testbed.labs.booted import image, lab_code
from testbed.labs.confinement import preflight
from testbed.labs.virtual import kernel, virtual_lab
from testbed.labs.virtual.virtual_lab import VirtualLab
from testbed.machine import contents
from tests.support.fake_lab import nothing
from tests.support.recorded import wireless_cell


@pytest.fixture
def steps(lab: VirtualLab, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let a lab be built from parts that are there; return what was done, in order."""
    done: list[str] = []

    def step(name: str, place: Path | None) -> Callable[..., Path | None]:
        def take(*_: object) -> Path | None:
            done.append(name)
            return place

        return take

    monkeypatch.setattr(preflight, "check", lambda: None)
    monkeypatch.setattr(image, "built", lambda: None)
    monkeypatch.setattr(image, "installed", lambda _root: {"make": "4.4"})
    monkeypatch.setattr(image, "ensure", step("image", lab.image))
    monkeypatch.setattr(kernel, "check_offered", step("ask for the kernel", None))
    monkeypatch.setattr(kernel, "ensure", step("kernel", lab.kernel))
    monkeypatch.setattr(lab_code, "ensure", step("code", lab.code))
    return done


def test_the_kernel_is_asked_for_first_and_built_last(lab: VirtualLab, steps: list[str]) -> None:
    assert virtual_lab.ensure("7.3", nothing) == lab
    assert steps == ["ask for the kernel", "image", "code", "kernel"]
    with pytest.raises(StudyError, match="no such kernel"):
        virtual_lab.ensure("six", nothing)
    assert len(steps) == 4


def test_what_is_built_is_not_asked_for(
    lab: VirtualLab, steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image, "built", lambda: lab.image)
    monkeypatch.setattr(kernel, "built", lambda _version, _digest, _config: lab.kernel)
    virtual_lab.ensure("7.3", nothing)
    assert steps == ["image", "code", "kernel"]


def test_labs_of_several_kernels_share_all_else_and_run_their_own_cells(
    lab: VirtualLab, steps: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    requested: list[list[str]] = []
    monkeypatch.setattr(kernel, "check_offered", lambda versions: requested.append(versions))
    labs = virtual_lab.ensure_per_kernel(["6.12", "7.3", "6.12"], nothing)
    assert requested == [["6.12", "7.3"]]
    assert steps == ["image", "code", "kernel", "kernel"]
    assert [labs.describe(version)["kernel"] for version in ("7.3", "6.12")] == ["7.3", "6.12"]
    assert labs.packages() == {"make": "4.4"}
    ran: list[str] = []
    monkeypatch.setattr(VirtualLab, "run", lambda self, *_: ran.append(self.kernel_version))
    for version in ("6.12", "7.3"):
        cell = wireless_cell(lab=labs.describe(version))
        labs.run(cell, tmp_path, threading.Event())
    assert ran == ["6.12", "7.3"]
    (lab.code / "added").touch()
    with pytest.raises(UnsupportedError, match="got code/added: new "):
        labs.check_whole(thorough=True)


def test_no_kernel_is_built_before_all_are_known_to_be_on_offer(
    lab: VirtualLab, steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(versions: list[str]) -> None:
        raise UnsupportedError(f"none of {versions}")

    monkeypatch.setattr(kernel, "check_offered", refuse)
    with pytest.raises(UnsupportedError, match="none of"):
        virtual_lab.ensure_per_kernel(["7.3", "9.9"], nothing)
    with pytest.raises(StudyError, match="no such kernel"):
        virtual_lab.ensure_per_kernel(["7.3", "nine"], nothing)
    assert steps == []


def test_another_lab_is_refused_before_the_kernel_is_built(
    lab: VirtualLab, steps: list[str]
) -> None:
    def check(found: Mapping[str, str], packages: Mapping[str, str]) -> None:
        assert found == {
            "image_digest": contents.digest(lab.image.parent),
            "code_digest": contents.digest(lab.code),
        }
        assert packages == {"make": "4.4"}
        raise StudyError("another lab")

    with pytest.raises(StudyError, match="another lab"):
        virtual_lab.ensure("7.3", nothing, check)
    assert steps == ["ask for the kernel", "image", "code"]


@pytest.mark.usefixtures("steps")
def test_a_lab_with_another_tick_differs_in_its_kernel_alone(
    lab: VirtualLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    requested: list[tuple[object, ...]] = []

    def ensure(*args: object) -> Path:
        requested.append(args)
        return lab.kernel

    monkeypatch.setattr(kernel, "ensure", ensure)
    config = kernel.Config(tick_hz=1000)
    changed = virtual_lab.ensure("7.3", nothing, config=config)
    digest = contents.digest(lab.image.parent)
    assert requested == [("7.3", lab.image, digest, nothing, config)]
    assert changed.describe() == lab.describe() | {"tick_hz": "1000"}


def test_an_edited_cache_is_seen_by_every_run(lab: VirtualLab, steps: list[str]) -> None:
    (lab.code / "added").touch()
    (lab.kernel / "linux").write_text("another kernel")
    with pytest.raises(UnsupportedError, match="got kernel/linux: changed; code/added: new "):
        virtual_lab.ensure("7.3", nothing)
