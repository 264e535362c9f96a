# pyright: standard
"""Everything Qt: main window, pages, plots, widgets, theme, and the QThread workers that iterate a run."""
