"""What belongs to which path is told by names that the network's layout has, too."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos import layout, two_paths
from model import path_names

PATHS = range(1, path_names.MOST + 1)
POINTS = ("sent", "queue_offered", "loss_offered", "loss_passed")


@pytest.mark.parametrize(
    ("address", "path"),
    [("10.1.0.2", 1), ("10.2.249.2", 1), ("10.3.0.2", 2), ("10.4.7.2", 2)],
)
def test_an_address_says_its_path(address: str, path: int) -> None:
    assert path_names.path_of_address(address) == path


@pytest.mark.parametrize(
    "address", ["10.5.0.2", "10.0.0.2", "192.0.2.1", "10.1.0", "10.1.0.2.3", "10.01.0.2", ""]
)
def test_an_address_of_no_host_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match="no host's address"):
        path_names.path_of_address(address)


@given(st.text(max_size=20))
def test_any_text_is_an_address_on_a_path_or_refused(text: str) -> None:
    try:
        assert path_names.path_of_address(text) in PATHS
    except ValueError:
        assert not text.startswith(("10.1.0.", "10.4.0.")) or text.count(".") != 3


@pytest.mark.parametrize(("link", "path"), [("bottleneck", 1), ("bottleneck2", 2)])
def test_a_bottleneck_says_its_path(link: str, path: int) -> None:
    assert path_names.bottleneck(path) == link
    assert path_names.path_of_link(link) == path


@pytest.mark.parametrize("link", ["bottleneck1", "bottleneck3", "bottle", "", "bottleneck02"])
def test_another_link_is_refused(link: str) -> None:
    with pytest.raises(ValueError, match="no path's bottleneck"):
        path_names.path_of_link(link)


def test_the_layout_which_stands_alone_says_the_same() -> None:
    told = [
        (*path_names.routers(one), *path_names.second_numbers(one), path_names.bottleneck(one))
        for one in PATHS
    ]
    assert told == list(two_paths.PATHS)
    for path in PATHS:
        for point in POINTS:
            assert path_names.counter(point, path) == layout.counter_name(point, path)


def test_the_first_path_is_not_said() -> None:
    assert [path_names.said(path) for path in PATHS] == ["", ", path 2"]
