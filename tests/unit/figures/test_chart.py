"""Drawn pictures: small, of their own names, and the same however often they are drawn."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import altair as alt
import polars as pl
import pytest
from altair.utils import schemapi

from reports.figures.chart import KERNEL, Figure, Key, drawn, layered, render_svg, unchecked

MARK = {"type": "point", "filled": True, "opacity": 1, "color": KERNEL, "shape": "square"}


def figure(id: str) -> Figure:
    rows = pl.DataFrame({"x": [1, 2, None], "y": [1 / 3, 2 / 3, 1.0]})
    layer = drawn(rows, MARK).encode(x="x:Q", y="y:Q")
    spec, zoomable = layered([layer], [Key("what", MARK)], hover=[layer])
    return Figure(id=id, title="t", caption="c", spec=spec, zoomable=zoomable)


def test_a_picture_is_the_same_after_others_were_drawn() -> None:
    first = render_svg(figure("a"))
    render_svg(figure("b"))
    assert render_svg(figure("a")) == first
    names = re.findall(r'id="([^"]*)"', first)
    assert names == [f"a-{number}" for number in range(len(names))]
    assert {f"#{name}" for name in names} >= set(re.findall(r"url\((#[^)]*)\)", first))
    assert names


def test_places_have_two_decimals_and_texts_are_left_alone() -> None:
    text = render_svg(figure("a"))
    tree = ElementTree.fromstring(text)
    for element in tree.iter():
        for name in ("transform", "d", "x2", "y2"):
            assert not re.search(r"\.\d{3}", element.get(name, ""))
    assert ' opacity="1"' not in text
    labels = [element.text for element in tree.iter() if element.tag.endswith("text")]
    assert {"0.5", "what"} <= set(labels)


def test_what_is_no_chart_is_found_where_figures_are_tested() -> None:
    wrong = [alt.Chart(alt.InlineData(values=[{}]), mark="no such mark")]  # type: ignore[arg-type]
    with unchecked():
        layered(wrong, [])
    with pytest.raises(schemapi.SchemaValidationError):
        layered(wrong, [])


def test_the_picture_has_no_hover_and_nothing_to_zoom() -> None:
    one = figure("a")
    assert "params" not in one.spec
    assert len(one.zoomable["layer"]) == len(one.spec["layer"]) + 1
    assert one.zoomable["params"][0]["views"] == [one.zoomable["layer"][0]["name"]]
