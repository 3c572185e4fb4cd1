"""One table in every output: its text as it is, its looks where an output has them."""

from __future__ import annotations

import io
import json

from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import TypeAdapter
from rich.console import Console

from reports.page.grid import Field, Grid, Part, columns, judgement, part, pieces, plain
from reports.page.html import _TEMPLATES
from reports.terminal.screen import Screen
from tests.support.report_page import HOSTILE, Page

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), min_size=1, max_size=30)


def table_of(*row: Field, caption: str = "caption", look: str = "") -> Grid:
    heads = (f"h{index}" for index in range(len(row)))
    return Grid(caption=caption, columns=columns("number", *heads), rows=(row,), look=look)


def html(table: Grid) -> str:
    parts = _TEMPLATES.get_template("parts.html.j2").make_module({"here": "run."})
    return str(parts.grid(table))  # type: ignore[attr-defined]


def terminal(table: Grid, encoding: str = "utf-8") -> str:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, newline="\n")
    Screen(Console(file=stream, width=200)).print_table(table)
    stream.flush()
    return raw.getvalue().decode(encoding)


@given(TEXTS | st.just(HOSTILE))
@example("code")
@example("strong")
def test_a_page_shows_every_text_as_it_is(text: str) -> None:
    row = (text, part("strong", text), part("", part("code", text), part(text, text)))
    linked = Part(look="mark", inside=(Part(look="", inside=(text,), link=text, title=text),))
    page = Page(html(table_of(*row, linked, judgement(text), caption=text, look=text)))
    assert page.open == []
    assert {tag for tag, _ in page.tags} == {
        "div", "table", "caption", "thead", "tr", "th", "tbody", "td", "code", "a",
        text if text in ("code", "strong") else "span",
    }  # fmt: skip
    assert "".join(page.words).count(text) >= 7
    assert page.all("a") == [{"href": f"#run.{text}", "title": text}]
    assert page.all("div")[0]["aria-label"] == text


def test_looks_become_tags_and_styles() -> None:
    claim = part("", part("strong", "7"), "; wanted 8", part("of", "each"))
    found = html(table_of("a", claim, judgement("holds", also="verdict"), judgement("open")))
    assert (
        '<tr><th scope="row" class="num">a</th>'
        '<td class="num"><strong>7</strong>; wanted 8<span class="of">each</span></td>'
        '<td class="num verdict inside">✓ holds</td><td class="num unknown">open</td></tr>'
    ) in found


def test_a_terminal_has_signs_and_colours_of_the_innermost_look() -> None:
    field = part("kernel", "7 ", judgement("refuted", " (", part("strong", "late"), ")"))
    assert plain(field) == "7 refuted (late)"
    assert list(pieces(field)) == [
        ("7 ", "kernel"), ("✗ ", "outside"), ("refuted", "outside"), (" (", "outside"),
        ("late", "strong"), (")", "outside"),
    ]  # fmt: skip
    table = table_of(field, "\N{MINUS SIGN}1\N{NO-BREAK SPACE}% \N{EN DASH} \x1b[2J\n")
    assert "7 ✗ refuted (late)  -1 % – \N{REPLACEMENT CHARACTER}[2J" in terminal(table)  # noqa: RUF001
    assert "7 X refuted (late) |-1 % - ?[2J?" in terminal(table, "ascii")


@given(st.recursive(TEXTS, lambda inside: st.builds(part, TEXTS, inside, inside), max_leaves=8))
def test_fields_are_read_back_from_files_as_they_were(field: Field) -> None:
    adapter: TypeAdapter[Field] = TypeAdapter(Field)
    text = json.dumps(adapter.dump_python(field))
    assert adapter.validate_json(text, strict=True) == field
