"""YAML read strictly: what is no plain data is one clear line; every place knows its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from model.errors import StudyError
from testbed.study.yaml_document import MAX_DEPTH, MAX_FILE_BYTES, parse_document, read_document
from tests.support.recorded import value


def failure(text: str) -> list[str]:
    """Return the problems of a text, those that leave data as well as those that do not."""
    try:
        return [problem.message() for problem in parse_document(text, "f.yaml").problems]
    except StudyError as error:
        return str(error).splitlines()


@pytest.mark.parametrize(("text", "messages"), value("cases/not-plain-yaml.json"))
def test_what_is_not_plain_yaml(text: str, messages: list[str]) -> None:
    found = failure(text)
    assert len(found) == len(messages)
    for message, start in zip(found, messages, strict=True):
        assert message.startswith(start)


def test_aliases_do_not_multiply() -> None:
    levels = [f"l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * 9)}]" for i in range(1, 30)]
    assert len(failure("\n".join(["l0: &l0 [x]", *levels]))) == 30 + 29 * 9


def test_nesting_has_an_end() -> None:
    deep = f"a: {'[' * 5000}{']' * 5000}\n"
    assert failure(deep) == [f"f.yaml:1: nested too deeply: wanted at most {MAX_DEPTH} levels"]


@pytest.mark.parametrize(
    ("text", "value"), [*value("cases/yaml-scalars.json"), ("[1, a]", (1, "a"))]
)
def test_scalars_are_json_numbers_or_text(text: str, value: object) -> None:
    found = parse_document(f"a: {text}\n", "f.yaml").data["a"]
    assert found == value
    assert type(found) is type(value)


def test_every_place_knows_its_line_and_its_text() -> None:
    document = parse_document("a: 1.50\nb:\n  - id: x\n    c: 2\n  - d\n", "f.yaml")
    assert document.where(("b", 0, "c")) == "f.yaml:4"
    assert document.where(("b", 1)) == "f.yaml:5"
    assert document.where(("b", 0, "absent", 7)) == "f.yaml:3"
    assert document.key(("b", 0, "c")) == "b.x.c"
    assert document.key(("b", 1)) == "b[1]"
    assert document.texts["a",] == "1.50"


def test_a_replaced_value_has_the_line_it_comes_from() -> None:
    document = parse_document("a: {b: [1, 2]}\nc: 9\n", "f.yaml")
    changed = document.replaced(("a", "b", 1), 9, 2)
    assert changed.data == {"a": {"b": (1, 9)}, "c": 9}
    assert changed.line(("a", "b", 1)) == 2
    assert document.data == {"a": {"b": (1, 2)}, "c": 9}


def read_failure(path: Path) -> str:
    with pytest.raises(StudyError) as caught:
        read_document(path)
    assert caught.value.exit_status == 2
    return str(caught.value).replace(str(path.parent), "D")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    wanted = "wanted a study file in YAML"
    assert read_failure(tmp_path / "none.yaml") == (
        f"D/none.yaml: cannot read: No such file or directory: {wanted}"
    )
    (tmp_path / "folder.yaml").mkdir()
    assert read_failure(tmp_path / "folder.yaml") == (
        f"D/folder.yaml: cannot read: Is a directory: {wanted}"
    )
    (tmp_path / "latin.yaml").write_bytes("a: 1\nb: café\n".encode("latin-1"))
    assert read_failure(tmp_path / "latin.yaml") == (
        "D/latin.yaml:2: not text: wanted UTF-8, got byte 0xe9"
    )
    (tmp_path / "large.yaml").write_bytes(b"#" * (MAX_FILE_BYTES + 1))
    assert read_failure(tmp_path / "large.yaml") == (
        f"D/large.yaml: file too large: wanted at most {MAX_FILE_BYTES} bytes"
    )
    assert "cannot read" in read_failure(tmp_path / "nul\0.yaml")
    assert "file too large" in read_failure(Path("/dev/zero"))


def test_line_ends_and_byte_order_marks_do_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "dos.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\r\nb: x\r\n")
    document = read_document(path)
    assert document.data == {"a": 1, "b": "x"}
    assert document.line(("b",)) == 2
