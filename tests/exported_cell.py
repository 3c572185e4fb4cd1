"""A run folder around the recorded cell of the virtual lab, ready to be exported for Wireshark."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from collectors.tables_parse import write_tables
from testbed import runfolder
from testbed.cell import Cell, cell_id, from_dict, to_dict
from testbed.execute import finish, write_json
from tests.recorded import DATA

RECORDED = DATA / "lab-cell-7.3"


def recorded_cell() -> Cell:
    """Return the recorded cell's settings."""
    return from_dict(json.loads((RECORDED / "cell.json").read_text()))


def make_run(run: Path) -> Path:
    """Make a run folder whose one measuring cell is the recorded one; return the cell's folder."""
    cell = recorded_cell()
    folder = runfolder.cell_folder(run, cell_id(cell))
    shutil.copytree(RECORDED, folder)
    (folder / "README").unlink()
    write_json(folder / runfolder.ENV, {"kernel_release": "7.3.4-groundtruth", "warnings": []})
    write_tables(folder, cell)
    finish(folder)
    write_json(run / runfolder.PLAN, {"schema": 1, "cells": []})
    write_json(run / runfolder.CELLS, [{"id": cell_id(cell), "cell": to_dict(cell)}])
    return folder
