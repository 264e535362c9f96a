"""NVIDIA cards through the official binding of NVML (``nvidia-ml-py``, the module ``pynvml``)."""
