"""Settings that are legal but misleading: when each rule speaks, and with which numbers."""

from __future__ import annotations

import pytest

from testbed.labs.confinement.windows import advertised_window, tcp_payload_bytes
from testbed.planning.findings import find
from testbed.planning.rules import CELL_RULES, SEED_RULES, expected_losses_pkts
from testbed.points.resolve import resolve_cell
from testbed.study.vocabulary import RULES
from tests.support.recorded import value
from tests.support.study_file import SWEEP, UNPUBLISHED, WIRELESS, Edit, edited, line_of, study

ONE_POINT: list[Edit] = [UNPUBLISHED, (f"sweep:\n{SWEEP}", "")]
NO_ACKNOWLEDGEMENT: Edit = (WIRELESS[WIRELESS.index("acknowledged:") :], "")


def profile(*settings: str) -> Edit:
    """Return the edit that gives the study a profile of its own with these settings."""
    knobs = "".join(f"        {line}\n" for line in settings)
    return (
        "hosts: paper\n",
        (
            "hosts: own\nprofiles:\n  own:\n    title: Own\n    entries:\n"
            f"      - parameter: all\n        fidelity: exact\n{knobs}"
        ),
    )


#: No rule fires with it: windows above the path, nothing remembered.
QUIET = (
    "sysctl: {net.ipv4.tcp_no_metrics_save: 1}",
    "sctp_socket: {rcvbuf_bytes: 1000000}",
)


def warned(*edits: Edit, seeds: tuple[int, ...] = (1, 2)) -> dict[str, list[str]]:
    """Return the texts of the warnings by rule, at a study of one point."""
    loaded = study(*ONE_POINT, NO_ACKNOWLEDGEMENT, *edits)
    found: dict[str, list[str]] = {}
    for finding in find(loaded, seeds=seeds).warnings:
        found.setdefault(finding.rule, []).append(finding.text)
    return found


def test_a_quiet_study_has_no_findings() -> None:
    assert warned(profile(*QUIET)) == {}


@pytest.mark.parametrize(("edits", "rule", "text"), value("cases/findings.json"))
def test_each_rule_speaks_for_itself(edits: list[Edit], rule: str, text: str) -> None:
    assert warned(profile(*QUIET), *edits) == {rule: [text]}


def test_values_at_the_edge_are_not_misleading() -> None:
    limit = ("    queue: 10 packets\n", "    queue: 10 packets\n    channel_limit: 64 packets\n")
    assert warned(profile(*QUIET), limit) == {}
    assert warned(profile(*QUIET), ("    rate: 10 Mbit/s", "    rate: 3000008 bit/s")) == {}
    for size in (719, 1452):
        message = ("message: 1448 bytes\n    streams", f"message: {size} bytes\n    streams")
        assert warned(profile(*QUIET), message) == {}


def test_windows_below_the_path() -> None:
    found = warned(
        profile(
            "sysctl: {net.ipv4.tcp_no_metrics_save: 1, net.ipv4.tcp_window_scaling: 0}",
            "sctp_socket_receiver: {rcvbuf_bytes: 65536}",
        )
    )
    head = "'s advertised window is at most"
    tail = (
        "less than the bandwidth-delay product of 190500 bytes (3 Mbit/s x 508 ms): no {} flow can"
        " exceed 1.03 Mbit/s, whatever the network does; all flows together fill at most 69 % of"
        " the bottleneck"
    )
    assert found == {
        "window-below-path": [
            f"sctp{head} 65536 bytes (rcvbuf_bytes), {tail.format('sctp')}",
            f"tcp{head} 65535 bytes (no window scaling), {tail.format('tcp')}",
        ]
    }


@pytest.mark.parametrize(
    ("settings", "protocol", "size_bytes", "source"),
    [
        ("route: {quickack: 1}", "tcp", 3145728, "half of net.ipv4.tcp_rmem"),
        ("sysctl: {net.ipv4.tcp_rmem: 1 2 3000}", "tcp", 1500, "half of net.ipv4.tcp_rmem"),
        ("tcp_socket: {rcvbuf_bytes: 9000}", "tcp", 9000, "rcvbuf_bytes"),
        ("tcp_socket_sender: {rcvbuf_bytes: 9}", "tcp", 3145728, "half of net.ipv4.tcp_rmem"),
        ("tcp_socket: {window_clamp_bytes: 7000, rcvbuf_bytes: 9000}", "tcp", 7000,
         "tcp_socket window_clamp_bytes"),
        ("route_receiver: {window: lock 5000}", "tcp", 5000, "route window"),
        ("route: {quickack: 1}", "sctp", 106496, "half of net.core.rmem_default"),
        ("sysctl: {net.core.rmem_default: 8000}", "sctp", 4000, "half of net.core.rmem_default"),
        ("sctp_socket: {rcvbuf_bytes: 65536}", "sctp", 65536, "rcvbuf_bytes"),
    ],
)  # fmt: skip
def test_what_bounds_a_window(settings: str, protocol: str, size_bytes: int, source: str) -> None:
    loaded = study(profile(settings))
    cell = resolve_cell(loaded, loaded.points[0], seed=1, replicate=1, lab={})
    window = advertised_window(cell, protocol)
    assert (window.size_bytes, window.source) == (size_bytes, source)


@pytest.mark.parametrize(
    ("settings", "payload_bytes"),
    [
        ("route: {quickack: 1}", 1448),
        ("sysctl: {net.ipv4.tcp_timestamps: 0}", 1460),
        ("tcp_socket: {maxseg_bytes: 1448}", 1436),
    ],
)
def test_what_a_segment_carries(settings: str, payload_bytes: int) -> None:
    loaded = study(profile(settings))
    cell = resolve_cell(loaded, loaded.points[0], seed=1, replicate=1, lab={})
    assert tcp_payload_bytes(cell) == payload_bytes


def test_saved_metrics() -> None:
    (text,) = warned(profile("sctp_socket: {rcvbuf_bytes: 1000000}"))["saved-tcp-metrics"]
    assert text == (
        "host profile 'own' does not set net.ipv4.tcp_no_metrics_save to 1: a TCP connection"
        " starts from the ssthresh and round trip an earlier one to the same destination left"
        " behind"
    )


def test_expected_losses_against_hand_worked_numbers() -> None:
    loaded = study(profile(*QUIET))
    cells = [resolve_cell(loaded, p, seed=1, replicate=1, lab={}) for p in loaded.points]
    # At 1 %: 1.2247 / 0.1 / 0.508 s = 24.1 packets/s, for 1000 s, of which 1 %.
    assert expected_losses_pkts(cells[2], cells[2].flows[0]) == pytest.approx(241, abs=0.5)


def test_too_few_losses() -> None:
    found = warned(profile(*QUIET), ("duration: 1000 s", "duration: 100 s"))
    text = (
        "flow {} loses about 24.1 packets in one run of 100 s at 1 % loss, fewer than 30: that"
        " number alone varies by 20 % from run to run (expected rate: Mathis et al. 1997)"
    )
    assert found == {"too-few-losses": [text.format("T"), text.format("S")]}


def test_an_equal_share_and_a_window_also_bound_the_losses() -> None:
    slow = study(profile(*QUIET), ("rate: 3 Mbit/s", "rate: 24 kbit/s"))
    cell = resolve_cell(slow, slow.points[2], seed=1, replicate=1, lab={})
    # Half of 24 kbit/s in packets of 1488 bytes is 1.008 packets/s.
    assert expected_losses_pkts(cell, cell.flows[0]) == pytest.approx(10.08, abs=0.01)
    small = study(profile("tcp_socket: {rcvbuf_bytes: 1448}"))
    cell = resolve_cell(small, small.points[2], seed=1, replicate=1, lab={})
    # One packet per round trip.
    assert expected_losses_pkts(cell, cell.flows[0]) == pytest.approx(10 / 0.508)
    paced = study(profile(*QUIET), ("protocol: tcp\n", "protocol: tcp\n    rate: 11584 bit/s\n"))
    cell = resolve_cell(paced, paced.points[2], seed=1, replicate=1, lab={})
    # A message of 1448 bytes each second, of 1000, of which 1 %.
    assert expected_losses_pkts(cell, cell.flows[0]) == pytest.approx(10)


def test_seeds() -> None:
    assert set(warned(profile(*QUIET), seeds=(7,))) == {"one-seed"}
    (text,) = warned(profile(*QUIET), seeds=(7, 7, 8, 8, 9))["equal-seeds"]
    assert text == (
        "seed 7, 8 is given more than once: a seed fixes a run to the byte, so the copies are one"
        " run, and the interval is too narrow"
    )


def test_a_finding_says_at_which_points_and_where() -> None:
    text = edited(UNPUBLISHED, NO_ACKNOWLEDGEMENT, profile(*QUIET), ("1000 s", "100 s"))
    loaded = study(UNPUBLISHED, NO_ACKNOWLEDGEMENT, profile(*QUIET), ("1000 s", "100 s"))
    warnings = find(loaded, seeds=(1, 2)).warnings
    assert [w.where for w in warnings] == [
        f"w.yaml:{line_of(text, '- id: T')}",
        f"w.yaml:{line_of(text, '- id: S')}",
    ]
    assert warnings[0].text.endswith(" (at 4 of 7 points; these numbers: loss_frac=0.008)")


def test_a_finding_at_a_swept_setting_names_the_line_of_the_value() -> None:
    sweep = "  network.bottleneck.loss.acknowledgements:\n    - 0 %\n    - 1 %\n"
    edits: list[Edit] = [UNPUBLISHED, NO_ACKNOWLEDGEMENT, profile(*QUIET), (SWEEP, sweep)]
    warnings = find(study(*edits), seeds=(1, 2)).warnings
    assert [(w.rule, w.where) for w in warnings] == [
        ("ack-loss", f"w.yaml:{line_of(edited(*edits), '    - 1 %')}")
    ]


def test_what_is_acknowledged_is_kept_with_its_reason() -> None:
    loaded = study(*ONE_POINT)
    findings = find(loaded, seeds=(1, 2))
    assert findings.warnings == ()
    assert [(a.rule, a.where, a.why) for a in findings.acknowledged] == [
        (
            "window-below-path",
            "w.yaml:14",
            (
                "The published 64 KB window is part of the study; at these loss rates it is rarely"
                " reached."
            ),
        )
    ]


def test_a_needless_acknowledgement_is_a_finding() -> None:
    loaded = study(*ONE_POINT, profile(*QUIET))
    (warning,) = find(loaded, seeds=(1, 2)).warnings
    line = line_of(loaded.document.text, "- rule: window")
    assert warning.where == f"w.yaml:{line}"
    assert warning.record() == {
        "rule": "needless-acknowledgement",
        "where": f"study.yaml:{line}",
        "text": "rule window-below-path is acknowledged but does not fire: remove it, or check"
        " that the settings are the intended ones",
    }


def test_seeds_of_the_command_line_do_not_make_an_acknowledgement_needless() -> None:
    rule = ("rule: window-below-path", "rule: one-seed")
    loaded = study(*ONE_POINT, profile(*QUIET), ("seeds: [1, 2, 3, 4, 5]", "seeds: [1]"), rule)
    assert find(loaded, seeds=(1, 2)).warnings == ()
    assert [a.rule for a in find(loaded, seeds=(1,)).acknowledged] == ["one-seed"]


def test_every_rule_has_a_name_to_acknowledge() -> None:
    others = {"another-kernel", "needless-acknowledgement"}
    assert {*CELL_RULES, *SEED_RULES, *others} == set(RULES)
