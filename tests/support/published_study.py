"""Studies for checks of published tables: points, what is printed there, and their paths."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from model.run_files.network_path import PathFlow, PointPath
from model.run_files.point import Point
from model.run_files.publication import Published, PublishedRow
from model.run_files.study import Study, parse_study
from tests.support.runs.report_run import resolved

SETTINGS = Mapping[str, Any]


def path(
    flows: Sequence[PathFlow],
    *,
    bottleneck_bps: float = 2e6,
    access_bps: float = 10e6,
    base_owd_s: float = 0.252,
    loss_frac: float = 0.0,
) -> PointPath:
    """Return a path whose two access links are alike and whose way back is as long."""
    return PointPath(
        point=Point.of({}),
        bottleneck_rate_bps=bottleneck_bps,
        forward_rates_bps=(access_bps, bottleneck_bps, access_bps),
        base_owd_s=base_owd_s,
        base_rtt_s=2 * base_owd_s,
        loss_frac=loss_frac,
        flows=tuple(flows),
    )


def flow(name: str, group: str, protocol: str, rate_bps: float = 0) -> PathFlow:
    """Return a flow with 1448 bytes of data in a packet."""
    headers = {"tcp": 40, "sctp": 48, "udp": 28}[protocol]
    return PathFlow(
        flow=name, group=group, protocol=protocol, rate_bps=rate_bps,
        payload_bytes=1448, packet_bytes=1448 + headers,
    )  # fmt: skip


def published_study(
    rows: Sequence[tuple[SETTINGS, str, Mapping[str, str]]],
    paths: Mapping[Point, PointPath] | None = None,
    parameters: Sequence[tuple[str, str]] = (("protocol", "flows.B.protocol"),),
) -> Study:
    """Return a study that prints these rows (point, table, printed values), one point for each."""
    points = tuple(dict.fromkeys(Point.of(at) for at, _, _ in rows))
    record = {
        **resolved(),
        "parameters": [{"name": name, "path": where} for name, where in parameters],
        "points": [point.as_dict() for point in points],
        "published": None,
    }
    printed = tuple(
        PublishedRow(
            point=Point.of(at), where=where, values={k: Decimal(v) for k, v in values.items()}
        )
        for at, where, values in rows
    )
    published = Published(where="Tables", rows=printed)
    return dataclasses.replace(
        parse_study(json.dumps(record), "resolved.json"), published=published,
        paths=tuple(dataclasses.replace(way, point=point) for point, way in (paths or {}).items()),
    )  # fmt: skip
