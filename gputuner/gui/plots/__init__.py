"""Pictures drawn with pyqtgraph. Pages import these modules only after the frame is shown: the library is slow to load."""
