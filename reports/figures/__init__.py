"""The figures of a report, each defined once: as a picture for print, and to zoom into on the page.

Pure but for drawing: tables come in as data frames (:mod:`reports.store.cell_tables` reads them).
"""
