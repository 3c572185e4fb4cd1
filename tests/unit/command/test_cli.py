"""The command: its words, its exit status, and that a command that cannot run writes nothing."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from model import run_folder
from model.errors import (
    DisagreementError,
    GroundtruthError,
    ParseError,
    RunError,
    StudyError,
    UnsupportedError,
    VerifyError,
)
from testbed import __main__
from testbed.command.cli import command_status
from testbed.command.runs import commands, plans
from tests.support.said import Said

ROOT = Path(__file__).parents[3]
COMMANDS = (
    "run", "resume", "plan", "validate", "list", "new", "report", "parse", "verify", "status", "gc",
    "scheduler", "worker", "cluster-keys", "cluster-workers",
    "crosscheck", "explain", "compare", "bisect",
    "wireshark", "export", "bundle", "packetdrill", "build", "doctor", "clean", "lab",
)  # fmt: skip


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run in an empty folder with a cache that is not there."""
    place = tmp_path / "here"
    place.mkdir()
    monkeypatch.chdir(place)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "100")
    return place


def everything(folder: Path) -> dict[str, int]:
    return {str(path): path.lstat().st_mtime_ns for path in folder.rglob("*")}


NO_MARS = (
    "groundtruth: LAB: no such lab: wanted virtual or stock or host or remote or ns2, got 'mars'"
)
UNUSABLE = [
    ("run nonesuch", "groundtruth: no such study: wanted a file, or "),
    (f"validate {'x' * 5000}", "groundtruth: no such study: wanted a file, or .* got 'xxx"),
    (f"plan {'x' * 5000}.yaml", "groundtruth: x+.yaml: cannot read: File name too long"),
    ("run folder", "groundtruth: folder: cannot read: Is a directory: wanted a study file in YAML"),
    ("validate ./nonesuch.yaml", "groundtruth: nonesuch.yaml: cannot read: No such file"),
    ("plan broken.yaml", "groundtruth: broken.yaml"),
    ("plan binary.yaml", "groundtruth: binary.yaml"),
    ("run wireless --lab mars", NO_MARS),
    ("plan wireless --lab mars", NO_MARS),
    ("build --lab mars", NO_MARS),
    ("run wireless --kernel latest", "groundtruth: KERNEL: no such kernel: wanted a version such"),
    ("plan wireless --kernel 6.12.1", "groundtruth: KERNEL: no such kernel"),
    ("plan wireless --scale 1.1", "groundtruth: SCALE: no such scale: wanted a number such as 0.1"),
    ("run wireless --scale 10%", r"groundtruth: SCALE: no such scale: .* \(write 10 % as 0.1\)"),
    (
        "run anatomy --scale 0.1",
        ".*: drops.T: packets lost by their number: wanted the study's own",
    ),
    ("build --kernel ../6.1", "groundtruth: KERNEL: no such kernel"),
    ("doctor --kernel six", "groundtruth: KERNEL: no such kernel"),
    ("run wireless --hosts nonesuch", "groundtruth: "),
    ("run wireless -D file", "groundtruth: file: cannot write results: wanted a folder that can"),
    ("run wireless -D file/below", "groundtruth: file/below: cannot write results"),
    ("report folder", "groundtruth: folder: not a run folder: wanted a folder with plan.json"),
    ("report nonesuch", "groundtruth: nonesuch: not a run folder: .* got no such folder"),
    ("resume folder", "groundtruth: folder: not a run folder"),
    ("verify file", "groundtruth: file: not a run folder"),
    ("crosscheck wireless folder", r"groundtruth: wireless: not a run folder: .*--labs LAB"),
    (
        "crosscheck wireless --labs virtual",
        "groundtruth: LABS: nothing to compare: wanted two",
    ),
    ("crosscheck wireless --labs stock,stock", "groundtruth: LABS: nothing to compare"),
    ("crosscheck wireless --labs virtual,mars", NO_MARS),
    ("cluster-workers lab1", "groundtruth: CLUSTER: not the address of a scheduler"),
    ("cluster-workers none.yml", "groundtruth: CLUSTER: no such inventory: .* got none.yml"),
    ("lab parts --lab mars", NO_MARS),
]


@pytest.mark.parametrize(("line", "message"), UNUSABLE, ids=[line for line, _ in UNUSABLE])
def test_what_cannot_be_used_is_one_clear_message_and_writes_nothing(
    line: str, message: str, here: Path, tmp_path: Path, said: Said
) -> None:
    (here / "folder").mkdir()
    (here / "file").touch()
    (here / "broken.yaml").write_text("study: [\n")
    (here / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    before = everything(tmp_path)
    assert command_status(line.split()) == StudyError.exit_status == 2
    out, err = said()
    assert out == ""
    assert re.match(message, err), err
    assert err.count("groundtruth: ") == 1
    assert "Traceback" not in err
    assert everything(tmp_path) == before


MISUSED = [
    ("", "Usage: groundtruth "),
    ("nonesuch", "Error: No such command 'nonesuch'."),
    ("--nonesuch", "Error: No such option: --nonesuch"),
    ("run", "Error: Missing argument 'STUDY...'."),
    ("run wireless --reps 0", "Error: Invalid value for '--reps' / '--runs'"),
    ("run wireless --reps few", "Error: Invalid value for '--reps' / '--runs'"),
    ("plan wireless --runs -1", "Error: Invalid value for '--reps' / '--runs'"),
    ("run wireless -j 0", "Error: Invalid value for '--jobs' / '-j'"),
    ("verify x --cells -1", "Error: Invalid value for '--cells'"),
    ("report", "Error: Missing argument 'RUN'."),
    ("report x y", "Error: Got unexpected extra argument"),
    ("report x --format tap", "Error: Invalid value for --format: wanted one of screen, tables, "),
    ("crosscheck", "Error: Missing argument 'STUDY|RUN...'."),
    ("crosscheck x y --reps 3", "Error: Invalid value for an option of a run: goes with --labs"),
    ("crosscheck x y --labs virtual,stock", "takes one study"),
    ("crosscheck x --labs virtual,stock --reps auto", "should be a valid integer"),
    ("plan wireless --pcap", "Error: No such option: --pcap"),
    ("doctor --kernel", "Error: Option '--kernel' requires an argument."),
]


@pytest.mark.parametrize(("line", "message"), MISUSED, ids=[line for line, _ in MISUSED])
def test_misuse_is_told_on_standard_error(
    line: str, message: str, tmp_path: Path, said: Said
) -> None:
    before = everything(tmp_path)
    assert command_status(line.split()) == 2
    out, err = said()
    assert out == ""
    assert message in err
    assert everything(tmp_path) == before


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_every_command_has_help(command: str, flag: str, said: Said) -> None:
    assert command_status([command, flag]) == 0
    out, err = said()
    assert out.startswith(f"Usage: groundtruth {command} [OPTIONS]")
    assert err == ""


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("groundtruth re", {"resume", "report"}),
        ("groundtruth run wi", {"wireless", "wired"}),
        ("groundtruth run wireless --lab v", {"virtual"}),
        ("groundtruth list m", {"metrics"}),
    ],
)
def test_a_shell_completes_commands_studies_and_labs(
    words: str, offered: set[str], said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_GROUNDTRUTH_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    command_status([])
    assert set(said()[0].split()) == offered


def test_help_names_every_command(said: Said) -> None:
    assert command_status(["--help"]) == 0
    out, _ = said()
    assert tuple(re.findall(r"^  ([a-z][a-z-]*)  +[A-Z]", out, re.MULTILINE)) == COMMANDS


@pytest.mark.parametrize("flag", ["-V", "--version"])
def test_the_version_is_the_projects(flag: str, said: Said) -> None:
    project = Path(__file__).parents[3] / "pyproject.toml"
    version = tomllib.loads(project.read_text())["project"]["version"]
    assert command_status([flag]) == 0
    assert said()[0] == f"groundtruth {version}\n"


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (DisagreementError("they differ"), 1),
        (StudyError("no such study"), 2),
        (RunError("a cell failed"), 3),
        (VerifyError("not as asked"), 3),
        (ParseError("not JSON", where="x.json:3"), 3),
        (UnsupportedError("no [apt] here"), 4),
        (OSError(5, "Input/output error"), 3),
    ],
)
def test_exit_status_of_each_kind_of_error(
    error: Exception, status: int, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    def act(*_: object) -> None:
        raise error

    monkeypatch.setattr(plans, "validate_studies", act)
    assert command_status(["validate", "x"]) == status
    assert said() == ("", f"groundtruth: {error}\n")
    if isinstance(error, GroundtruthError):
        assert error.exit_status == status


def test_validate(said: Said) -> None:
    assert command_status(["validate", str(ROOT / "studies" / "wireless.yaml")]) == 0
    assert said()[0].splitlines()[-1] == "wireless: valid, 7 points, 0 warnings"


def test_plan_counts_cells_and_writes_nothing(tmp_path: Path, said: Said) -> None:
    before = everything(tmp_path)
    assert command_status(["plan", "wireless", "--reps", "2", "-j", "3"]) == 0
    out, _ = said()
    # 14 measuring cells of 1000 s and 7 calibrations of 200 s are 15400 s: 4 h 16 min.
    assert "14 measuring cells and 7 calibrations, 4 h 16 min of virtual time, about " in out
    assert " on 3 cores" in out
    assert "first built, once, about 10 min: lab image, kernel 6.12, kernel 7.3" in out
    assert everything(tmp_path) == before


def test_plan_of_a_shortened_study(said: Said) -> None:
    assert command_status(["plan", "wireless", "--reps", "2", "--scale", "0.1"]) == 0
    out, err = said()
    # 14 measuring cells of 100 s and 7 calibrations of 200 s are 2800 s.
    assert "14 measuring cells and 7 calibrations, 46 min 40 s of virtual time, about " in out
    assert "real time" not in out
    assert "times of the experiment are scaled by 0.1: not the published ones\n" in err


@pytest.mark.parametrize(
    ("options", "words"),
    [([], "--scale 0.1 shortens it"), (["--scale", "0.2"], "--scale 0.2 has shortened it")],
)
def test_plan_says_where_time_is_real(options: list[str], words: str, said: Said) -> None:
    assert command_status(["plan", "wireless", "--lab", "host", *options]) == 0
    out, _ = said()
    assert " calibrations, about " in out
    assert f"in real time: a run takes as long as it lasts; {words}, and the report" in out


@pytest.fixture
def handlers() -> Iterator[None]:
    """Give back the handlers of the signals that the program takes."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


@pytest.mark.usefixtures("handlers")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_ends_the_command_with_status_3(
    number: signal.Signals, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    cleaned = []

    def act(*_: object) -> None:
        try:
            os.kill(os.getpid(), number)
            time.sleep(10)
        finally:
            cleaned.append("up")

    monkeypatch.setattr(plans, "validate_studies", act)
    monkeypatch.setattr(sys, "argv", ["groundtruth", "validate", "x"])
    with pytest.raises(SystemExit) as ended:
        __main__.main()
    assert ended.value.code == 3
    assert said() == (
        "",
        "groundtruth: interrupted; finished cells are kept; go on with: the same command\n",
    )
    assert cleaned == ["up"]


@pytest.mark.usefixtures("handlers")
def test_the_program_ends_with_the_commands_status(
    said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["groundtruth", "report", "nonesuch"])
    with pytest.raises(SystemExit) as ended:
        __main__.main()
    assert ended.value.code == 2
    assert "not a run folder" in said()[1]


def test_output_that_nobody_reads_is_no_disagreement() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(
        [sys.executable, "-m", "testbed", "--help"],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=write_end,
        stderr=subprocess.PIPE,
        timeout=30,
        check=False,
    )
    os.close(write_end)
    assert (done.returncode, done.stderr) == (3, b"")


def test_names_of_a_run_folder_are_told_once() -> None:
    names = [
        value
        for name, value in vars(run_folder).items()
        if name.isupper() and isinstance(value, str)
    ]
    assert len(names) == len(set(names))


def test_a_full_disk_is_told_with_the_way_on(said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    def act(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(commands, "parse", act)
    assert command_status(["parse", "x"]) == 3
    assert said()[1] == (
        "groundtruth: [Errno 28] No space left on device "
        "(free some space; finished cells are kept, see: groundtruth resume)\n"
    )
