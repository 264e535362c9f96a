# pyright: standard
"""Pictures drawn with pyqtgraph, which is slow to load: pages import these modules only after the frame is shown."""
