# pyright: standard
"""Small building blocks of the pages; none of them knows where its data comes from."""
