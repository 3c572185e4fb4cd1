"""A small study of an ad-hoc network, edited: what the tests of such networks start from."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from model.ad_hoc import AdHoc
from model.cell import Cell
from model.errors import StudyError
from testbed.points.load_study import Study, parse_study
from testbed.points.resolve import resolve_cell
from tests.support.study_file import Edit

TEXT = """\
groundtruth: 1
study: radios
title: Two pairs and two nodes between them
duration: 20 s
seeds: [1, 2]
hosts: plain
kernel: "6.12"
generator: probe
profiles:
  plain:
    title: As the kernel is, without memory
    entries:
      - parameter: no memory
        fidelity: exact
        sysctl: {net.ipv4.tcp_no_metrics_save: 1}
network:
  topology: ad-hoc
  pairs: 2
  nodes: 6
  radio: {rate: 2 Mbit/s, range: 250 m, carrier_sense: 550 m}
  routing: {protocol: aodv}
  mobility:
    model: random-waypoint
    field: {width: 700 m, height: 100 m}
    speed: {min: 1 m/s, max: 5 m/s}
    pause: 0 s
flows:
  - {id: main, group: T, protocol: tcp, pair: 1, message: 1400 bytes}
  - {id: cbr, group: C, protocol: udp, pair: 2, message: 512 bytes, rate: 16 kbit/s}
groups: {T: TCP, C: CBR}
sweep:
  flows.main.protocol: [tcp]
metrics: [goodput_T_bps]
"""
#: Where nodes stay.
STILL: Edit = ("model: random-waypoint", "model: stationary")


def edited(*edits: Edit) -> str:
    """Return the study's text with the first occurrence of each text replaced."""
    text = TEXT
    for old, new in edits:
        assert old in text, f"no {old!r} in the study"
        text = text.replace(old, new, 1)
    return text


def study(*edits: Edit) -> Study:
    """Return the edited study, read."""
    return parse_study(edited(*edits), "a.yaml", hosts_folders=[])


def problems(*edits: Edit) -> list[str]:
    """Return the lines of the error that the edited study raises."""
    with pytest.raises(StudyError) as caught:
        study(*edits)
    return str(caught.value).splitlines()


def cells(*edits: Edit, seed: int = 1, pcap: bool = False) -> list[Cell]:
    """Return the cells of the edited study, one per point."""
    made = study(*edits)
    return [
        resolve_cell(made, point, seed=seed, replicate=1, lab={}, pcap=pcap)
        for point in made.points
    ]


def cell(*edits: Edit, **changes: Any) -> Cell:
    """Return the cell of the edited study's first point, with fields of it replaced."""
    return dataclasses.replace(cells(*edits)[0], **changes)


def network(*edits: Edit) -> AdHoc:
    """Return the network of the edited study's first point."""
    found = cells(*edits)[0].ad_hoc
    assert found is not None
    return found
