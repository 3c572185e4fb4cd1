"""Where a cell runs. A lab takes a cell folder with ``cell.json`` and fills it."""
