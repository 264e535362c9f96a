# pyright: standard
"""One module per page of the window."""
