"""``groundtruth compare``: what may not pass in silence."""

from __future__ import annotations

from pathlib import Path

import pytest

from model import run_folder
from tests.support.said import Said
from tests.unit.command.test_compare import MAPPING, finished, found, here, status, table

pytestmark = pytest.mark.unit
__all__ = ["finished", "here"]


def _measured(column: str, metric: str, unit: str = "") -> None:
    Path("m.yaml").write_text(
        "mapping: 1\nsource: x\npoints: {network.bottleneck.loss.data: {part: loss, unit: '%'}}\n"
        f"replicate: run\nvalues: [{{metric: {metric}, column: {column}, unit: '{unit}'}}]\n"
    )


@pytest.mark.parametrize(
    ("metric", "unit", "value", "wanted"),
    [
        ("jain_protocols", "", "1.01", "0 to 1"), ("jain_protocols", "", "-0.1", "0 to 1"),
        ("loss_T_frac", "%", "101", "0 to 1"), ("share_T_pct", "%", "100.5", "0 to 100"),
        ("pct_increase", "%", "-101", "-100 or more"), ("utilisation_pct", "%", "-1", "0 or more"),
    ],
)  # fmt: skip
def test_numbers_that_nothing_measured_can_be_are_refused(
    metric: str, unit: str, value: str, wanted: str, here: Path, said: Said
) -> None:
    table(f"1,1,{value},400")
    _measured("tcp", metric, unit)
    assert status("--with mine.csv --mapping m.yaml") == 3
    told = " ".join(said()[1].split())
    assert f"mine.csv:2: {metric} of column tcp is impossible: wanted {wanted}, got" in told
    assert "is it that metric, in that unit?" in told


def test_rounding_of_a_whole_is_no_impossible_number(here: Path) -> None:
    table("1,1,1.0000000002,400")
    _measured("tcp", "jain_protocols")
    assert status("--with mine.csv --mapping m.yaml") == 0


def test_more_than_the_link_carries_is_told_first(here: Path, said: Said) -> None:
    table("1,1,9000,400", "1,2,500,410")
    assert status("--with mine.csv --mapping m.yaml") == 0
    (note,) = (one for one in found("my-simulator").notes if "bottleneck's rate" in one)
    assert "goodput_T_bps 9e+06 at loss_frac 0.01 (mine.csv:2)" in note
    assert "utilisation_pct" in note
    assert "are unit, headers, counted and the simulated link right?" in note


def test_exports_of_other_kernels_or_labs_are_not_put_together(here: Path, said: Said) -> None:
    (path,) = Path("r/latest/export/csv").glob("*-metrics.csv")
    lines = path.read_text().splitlines()
    column = lines[0].split(",").index("kernel_release")
    release = lines[1].split(",")[column]
    other = [line.replace(release, "9.9.9") for line in lines]
    Path("other.csv").write_text("\n".join(other) + "\n")
    assert status(f"--with {path} other.csv") == 3
    told = " ".join(said()[1].split())
    assert "other.csv:2: made on something else than the exports before it" in told
    assert f"wanted kernel {release}, lab" in told
    assert "--name" in told
    assert status("--with other.csv --name other") == 0


def test_exports_with_impossible_numbers_are_refused(here: Path, said: Said) -> None:
    (path,) = Path("r/latest/export/csv").glob("*-metrics.csv")
    lines = path.read_text().splitlines()
    head = lines[0].split(",")
    row = next(line.split(",") for line in lines if "goodput_T_bps" in line)
    row[head.index("value")] = "-5"
    Path("bad.csv").write_text(f"{lines[0]}\n{','.join(row)}\n")
    assert status("--with bad.csv") == 3
    assert "bad.csv:2: goodput_T_bps is impossible: wanted 0 or more, got -5" in said()[1]


def test_two_sources_of_one_folder_s_name_are_not_taken_for_one(here: Path, said: Said) -> None:
    table("1,1,500,400")
    assert status("--with mine.csv --mapping m.yaml --name ns-3.37") == 0
    Path("mine.csv").write_text("not read any more")
    written = (Path("r/latest/compared/ns-3.37") / run_folder.COMPARISON_JSON).read_bytes()
    argv = "--with mine.csv --mapping m.yaml"
    Path("m.yaml").write_text(MAPPING.replace("my simulator", "ns 3.37"))
    assert status(argv) == 2
    told = " ".join(said()[1].split())
    assert (
        "the folder of another comparison: wanted one for 'ns 3.37', got that of 'ns-3.37'" in told
    )
    assert "--name" in told
    assert (Path("r/latest/compared/ns-3.37") / run_folder.COMPARISON_JSON).read_bytes() == written
    table("1,1,501,400")
    assert status(f"{argv} --name ns-3.37") == 0


def test_agreement_of_nothing_is_no_agreement(here: Path, said: Said) -> None:
    table("1,1,500,400")
    assert status("--with mine.csv --mapping m.yaml --assert") == 5
    told = " ".join(said()[1].split())
    assert "nothing could be judged: wanted a comparison with a margin and an interval" in told
    assert "one replicate" in told
    assert found("my-simulator").comparisons
    table("1,1,500,400", "1,2,501,401")
    _measured("tcp", "loss_T_frac", "%")
    Path("mine.csv").write_text("loss,run,tcp\n1,1,1\n1,2,1.1\n")
    assert status("--with mine.csv --mapping m.yaml --assert") == 5
    assert "without a margin" in said()[1]


FLOWS = """\
mapping: 1
source: x
points: {network.bottleneck.loss.data: 1 %}
files: 'run-{run}.*'
replicate: run
groups: {T: {destination_port: 5001}}
headers: 0 bytes
counted: {from: 0 s, to: 500 s}
"""
MONITOR = """\
<FlowMonitor><FlowStats><Flow flowId="1" timeFirstTxPacket="+1e9ns" timeLastRxPacket="+2e9ns"
 delaySum="+1e9ns" jitterSum="+0ns" rxBytes="1000" txPackets="10" rxPackets="10" lostPackets="0"/>
</FlowStats><Ipv4FlowClassifier><Flow flowId="1" sourceAddress="10.0.0.1" sourcePort="1"
 destinationAddress="10.0.0.2" destinationPort="5001" protocol="6"/></Ipv4FlowClassifier>
</FlowMonitor>
"""


@pytest.mark.parametrize("more", ["", ", n: 3, sd: sd"])
def test_a_metric_from_flows_and_from_values_is_refused(more: str, here: Path, said: Said) -> None:
    Path("run-1.xml").write_text(MONITOR)
    Path("run-1.csv").write_text("goodput,sd,cwnd\n5,1,7\n")
    values = f"values:\n  - {{metric: goodput_T_bps, column: goodput, unit: bit/s{more}}}\n"
    Path("m.yaml").write_text(FLOWS + values)
    assert status("--with run-1.xml run-1.csv --mapping m.yaml") == 3
    told = " ".join(said()[1].split())
    assert "goodput_T_bps from flows and from values: wanted one of the two, got flows from" in told
    assert f"values of {'run-1.csv:2' if more else 'replicate 1'}" in told
    assert not (Path("r/latest") / run_folder.COMPARED).exists()


def test_flows_and_values_of_different_metrics_go_together(here: Path) -> None:
    Path("run-1.xml").write_text(MONITOR)
    Path("run-1.csv").write_text("goodput,sd,cwnd\n5,1,7\n")
    values = "values: [{metric: cwnd_mean_T_segments, column: cwnd, unit: segments}]\n"
    Path("m.yaml").write_text(FLOWS + values)
    assert status("--with run-1.xml run-1.csv --mapping m.yaml") == 0
    assert "goodput_T_bps" in {one.metric for one in found("x").comparisons}
