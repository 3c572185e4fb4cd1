"""Features of interfaces: as ethtool tells them, bit by bit."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from testbed.labs.remote.on_machine import features
from testbed.labs.remote.on_machine.features import Feature

RECORDED = Path(__file__).parents[2] / "data" / "ethtool-6.14"
#: What ethtool calls kinds that are one bit.
KINDS = {
    "rx-checksumming": "rx-checksum", "generic-segmentation-offload": "tx-generic-segmentation",
    "generic-receive-offload": "rx-gro", "large-receive-offload": "rx-lro",
    "rx-vlan-offload": "rx-vlan-hw-parse", "tx-vlan-offload": "tx-vlan-hw-insert",
    "ntuple-filters": "rx-ntuple-filter", "receive-hashing": "rx-hashing",
}  # fmt: skip
#: And those that are several.
SEVERAL = {"tx-checksumming", "scatter-gather", "tcp-segmentation-offload"}
LINE = re.compile(r"\t?(\S+): (on|off)( \[fixed\])?")


def recorded(name: str) -> dict[str, Feature]:
    told = json.loads((RECORDED / f"{name}.json").read_text())
    return features.of_words(told["names"], told["words"])


@pytest.mark.parametrize("name", ["veth", "virtio"])
def test_each_feature_is_as_ethtool_prints_it(name: str) -> None:
    lines = (RECORDED / f"{name}.txt").read_text().splitlines()[1:]
    printed = {}
    for line in lines:
        found = LINE.fullmatch(line)
        assert found, line
        printed[KINDS.get(found[1], found[1])] = (found[2] == "on", not found[3])
    told = {name: (one.on, one.changeable) for name, one in recorded(name).items()}
    assert told == {name: value for name, value in printed.items() if name not in SEVERAL}


def test_bits_of_one_kind_are_told_apart() -> None:
    told = features.told(recorded("veth"))
    assert "tx-tcp-segmentation" in told
    assert "tx-tcp6-segmentation" not in told
    assert "rx-gro-hw [fixed]" in features.told(recorded("virtio"))
    assert not [words for words in told if "vlan" in words or "highdma" in words]


def test_what_is_set_are_the_bits_that_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    told = json.loads((RECORDED / "veth.json").read_text())
    asked = []

    def ask(_interface: str, words: list[int]) -> list[int]:
        asked.append(words)
        return [0, 0, *told["words"]]

    monkeypatch.setattr(features, "_names", lambda _interface: told["names"])
    monkeypatch.setattr(features, "_ask", ask)
    # One is fixed, one is unknown here.
    features.want(
        "v1", {"rx-gro": False, "tx-tcp6-segmentation": True, "rx-lro": True, "else": True}
    )
    bits = {name: 1 << told["names"].index(name) for name in ("rx-gro", "tx-tcp6-segmentation")}
    assert asked[-1] == [
        features.SFEATURES, 2, sum(bits.values()), bits["tx-tcp6-segmentation"], 0, 0,
    ]  # fmt: skip
