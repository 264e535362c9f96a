"""What really runs on the device; the only home of torch. Part of the worker's closure (Python 3.10 grammar)."""
