"""Packet traces that open in Wireshark and tcptrace with the story of each packet told."""

from reports.jsondoc import Doc
from reports.wireshark.cell_export import Exported, Recorded, export_cell
from reports.wireshark.profile import PROFILE, install_profile

__all__ = ["PROFILE", "Doc", "Exported", "Recorded", "export_cell", "install_profile"]
