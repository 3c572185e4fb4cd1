"""What a user's patch does to Kconfig's files: asked as in any source, or refused.

    python -m pytest tests/long/own_patches.py

Some minutes: it builds two kernels.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from model.errors import BuildError
from testbed.labs.virtual import virtual_lab
from tests.lab.kernels.test_own_patch import named, nothing

pytestmark = pytest.mark.timeout(1800)

ADDED = """\
--- a/net/sctp/Kconfig
+++ b/net/sctp/Kconfig
@@ -1,0 +2,12 @@
+config FOLLOWS
+\tdef_bool y
+\tdepends on IP_SCTP
+
+config ASKED_FOR
+\tbool "is asked for"
+\tdefault y
+\tdepends on IP_SCTP
+
+config TCP_CONG_PRAGUE
+\tbool "known by its name"
+
"""


def test_what_a_patch_changes_of_kconfig_is_configured_as_in_any_source(tmp_path: Path) -> None:
    file = tmp_path / "fix.patch"
    file.write_text(ADDED)
    lab = virtual_lab.ensure(named(file), nothing)
    config = (lab.kernel / "config").read_text().splitlines()
    assert "CONFIG_FOLLOWS=y" in config
    assert "# CONFIG_ASKED_FOR is not set" in config  # nor is anything else that nobody asks for
    assert "CONFIG_TCP_CONG_PRAGUE=y" in config  # a study can ask for it by name
    plain = virtual_lab.ensure("6.12", nothing).kernel / "config"
    assert [line for line in config if line not in plain.read_text().splitlines()] == [
        next(line for line in config if line.startswith("CONFIG_LOCALVERSION=")),
        "CONFIG_FOLLOWS=y", "# CONFIG_ASKED_FOR is not set", "CONFIG_TCP_CONG_PRAGUE=y",
    ]  # fmt: skip


def test_a_patch_that_takes_an_option_of_the_labs_away_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "fix.patch"
    header = "--- a/net/sctp/Kconfig\n+++ b/net/sctp/Kconfig\n"
    file.write_text(f"{header}@@ -6 +6 @@\n-menuconfig IP_SCTP\n+menuconfig NO_SCTP\n")
    with pytest.raises(BuildError) as caught:
        virtual_lab.ensure(named(file), nothing)
    assert "not taken by Kconfig: CONFIG_IP_SCTP=y (in no Kconfig file); " in caught.value.got
    assert "not taken by Kconfig: CONFIG_INET_SCTP_DIAG=y (net/sctp/Kconfig:" in caught.value.got
