"""The suite: one module per kind of benchmark, listed in ``catalogue.py``."""
