"""The tables to attach: the same numbers as the page, and no text that becomes markup."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from model import run_folder
from reports.page import latex
from reports.page.grid import Grid, columns, judgement, part, plain
from reports.page.review_tables import TABLE_FILES, Attachment, attachment
from reports.page.verdicts import sure
from reports.page.write import write_report
from reports.store.run import read_run
from reports.verdict.summary import Summary, summarise
from reports.verdict.verdicts import Verdict
from tests.support.runs.report_run import PUBLISHED, build_run

HOSTILE = (
    "<b>a</b> | `x` *y* _z_ [t](http://evil.example) ~~s~~ ![i](j) "
    "\\section{q} $5 #1 50 % A&B {c} ^"
)


@pytest.fixture(scope="module")
def summary(tmp_path_factory: pytest.TempPathFactory) -> Summary:
    return summarise(read_run(build_run(tmp_path_factory.mktemp("run"))))


def table_of(text: str) -> Attachment:
    """Return a text in every place of a table and around it."""
    table = Grid(
        caption=text, columns=columns("number", "a", text) + columns("words", "c"),
        rows=((text, "1", part("", part("strong", text))),), notes=(text,),
    )  # fmt: skip
    return Attachment(title=text, tables=(table,), notes=(text,))


def file_of(name: str, attached: Attachment) -> str:
    (kind,) = (kind for kind in TABLE_FILES if kind.name == name)
    return kind.text(attached)


def test_the_tables_of_a_study(summary: Summary) -> None:
    found = attachment(summary)
    titles = [table.caption for table in found.tables]
    assert titles[0] == "Share of goodput, TCP SACK in %: published (Table 2) beside measured"
    assert titles[-1] == "Link utilisation in %: published (Table 2) beside measured"
    increase = found.tables[titles.index(
        "Increase in goodput of SCTP over TCP SACK in %: published (Table 2) beside measured"
    )]  # fmt: skip
    assert [plain(head).replace("\N{NO-BREAK SPACE}", " ") for head in increase.heads] == [
        "Bottleneck loss, data", "Published", "Kernel mean", "Difference", "95 % CI of the mean",
        "95 % of single runs", "n", "Published is",
    ]  # fmt: skip
    assert [plain(field) for field in increase.rows[3]] == [
        "1.5 %", "25.6†", "16.0", "−9.6", "13.7 to 18.3", "10.4 to 21.6", "5", "outside",  # noqa: RUF001
    ]  # fmt: skip
    assert increase.notes == ("3 of 7 published values could be one run of this kernel.",)
    assert sum(note.startswith("†") for note in found.notes) == 7


def test_verdicts_come_first(summary: Summary) -> None:
    verdict = Verdict(
        id="s-wins", text="S > T at every loss.", where="conclusion", verdict="holds",
        evidence="7 of 7", p_holds=0.001, p_refuted=1.0, comparisons=(),
    )  # fmt: skip
    table = attachment(dataclasses.replace(summary, verdicts=(verdict,))).tables[0]
    assert table.caption == "Verdicts on the claims"
    (row,) = table.rows
    claimed = "S > T at every loss. (conclusion)"
    assert (row[0], row[1], row[3]) == ("s-wins", judgement("holds"), claimed)
    assert "0.001" in plain(row[2])
    assert row[4] == "7 of 7"
    assert table.notes[0] == "Of 1 claim 1 holds."
    text = file_of(run_folder.TABLES_TEX, Attachment(title="t", tables=(table,), notes=()))
    assert r"\begin{tabular}{llp{0.23\linewidth}p{0.23\linewidth}p{0.23\linewidth}}" in text


@pytest.mark.parametrize(
    ("verdict", "p_holds", "p_refuted", "wanted"),
    [
        ("holds", 0.0004, 1.0, "p < 0.001"), ("refuted", 1.0, 0.012, "p = 0.012"),
        ("undecided", 0.31, 1.0, "not significant: p = 0.31 for holding"),
        ("undecided", 0.9, 0.08, "not significant: p = 0.08 for refuting"),
        ("undecided", 1.0, 1.0, "not significant"), ("undecided", None, None, ""),
    ],
)  # fmt: skip
def test_how_sure_a_verdict_is(
    verdict: str, p_holds: float | None, p_refuted: float | None, wanted: str
) -> None:
    found = Verdict(
        id="a", text="", where="", verdict=verdict, evidence="", p_holds=p_holds,
        p_refuted=p_refuted, comparisons=(),
    )  # fmt: skip
    assert sure(found) == wanted


def test_both_files_are_written_with_every_published_number(tmp_path: Path) -> None:
    run = build_run(tmp_path, seeds=2)
    write_report(run)
    for name in (run_folder.TABLES_MD, run_folder.TABLES_TEX):
        text = (run / name).read_text()
        for row in PUBLISHED:
            assert all(re.search(rf"[|&] {value}(†|\\dag{{}})? [|&]", text) for value in row)


def test_a_run_with_nothing_published_and_nothing_left_to_chance(tmp_path: Path) -> None:
    run = build_run(tmp_path, losses=(0.0,), seeds=1, changes={"published": None})
    found = attachment(summarise(read_run(run)))
    assert found.tables[0].heads == ("Bottleneck loss, data", "Kernel", "n")
    assert found.notes == ()


def read(text: str) -> list[Token]:
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)


def lines_of(text: str) -> list[str]:
    """Return the text of every inline part; fail if any is more than text."""
    found = []
    for token in read(text):
        if token.type == "inline":
            children = token.children or []
            assert {child.type for child in children} <= {"text", "text_special"}, token.content
            found.append("".join(child.content for child in children))
    return found


def shown(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


BLOCKS = ["- x", "+ x", "1. x", "12) x", "# x", "> x", "===", "---", "a\n\nb", "|", "\\"]


@given(st.text(min_size=1, max_size=40) | st.sampled_from([HOSTILE, "www.evil.example", *BLOCKS]))
def test_markdown_shows_every_text_as_it_is(text: str) -> None:
    wanted = shown(text)
    if not wanted:
        return
    file = file_of(run_folder.TABLES_MD, table_of(text))
    assert lines_of(file) == [
        wanted, wanted, "a", wanted, "c", wanted, "1", wanted, wanted, wanted,
    ]  # fmt: skip
    kinds = [token.type for token in read(file) if token.nesting == 1]
    assert kinds.count("heading_open") == 2
    assert kinds.count("tr_open") == 2
    assert kinds.count("bullet_list_open") == kinds.count("ordered_list_open") + 1 == 1
    assert "://" not in file
    assert "www." not in file.lower()


def test_markdown_aligns_numbers_and_leaves_signs_in_tables_alone() -> None:
    text = file_of(run_folder.TABLES_MD, table_of("-1.5"))
    assert "| ---: | ---: | --- |" in text
    assert "| -1.5 | 1 | -1.5 |" in text
    assert "\n- \\-1.5\n" in text


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("50 % of A_B & C#1 $5 {x}", r"50 \% of A\_B \& C\#1 \$5 \{x\}"),
        ("\\section~^", r"\textbackslash{}section\textasciitilde{}\textasciicircum{}"),
        ("a < b > c | d", "a $<$ b $>$ c $|$ d"),
        ("--pcap", "{-}{-}pcap"),
        ("−1.5 – 2 ± 3†", r"$-$1.5 {--} 2 $\pm$ 3\dag{}"),  # noqa: RUF001
        ("[x]*", "{[}x{]}{*}"),
        ("Jos\u00e9 M\u00fcller \u00d8re \u0141", r"Jos{\'{e}} M{\"{u}}ller {\O}re {\L}"),
        ("\u4e2d", "(U+4E2D)"),
        ("a\nb\tc\x1b", "a b c"),
    ],
)  # fmt: skip
def test_latex_escapes(text: str, wanted: str) -> None:
    assert latex.escaped(text) == wanted


COMMAND = re.compile(
    r"\\(textbackslash|textasciitilde|textasciicircum|dag|dots)\{\}|\\[{}$&#%_]"
    r"|\$(\\pm|\\times|\\mu|\\lambda|\^\\circ|[<>|-])\$|\{\\(ss|ae|AE|o|O|l|L)\}"
    r"|\{\\[`'^~=.\"urHvc]\{[A-Za-z]\}\}|\{(-{1,3}|''?|``?|\[|\]|\*)\}|~"
)


@given(st.text(max_size=60) | st.just(HOSTILE))
def test_latex_holds_no_command_of_the_text(text: str) -> None:
    found = latex.escaped(text)
    assert found.isascii()
    assert "\n" not in found
    assert not set(COMMAND.sub("", found)) & set("\\{}$&#%_^~<>|\"'`[]*-")


def test_latex_environments_close_and_rows_have_all_cells() -> None:
    text = file_of(run_folder.TABLES_TEX, table_of(HOSTILE))
    for name in ("table", "tabular"):
        assert text.count(rf"\begin{{{name}}}") == text.count(rf"\end{{{name}}}") == 1
    bare = re.sub(r"\\[{}]", "", text)
    assert bare.count("{") == bare.count("}")
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert [len(re.findall(r"(?<!\\)&", row)) for row in rows] == [2, 2]
    order = [r"\toprule", r"\midrule", r"\bottomrule"]
    assert sorted(order, key=text.index) == order
