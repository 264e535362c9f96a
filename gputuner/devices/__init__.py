"""Cards behind one protocol: NVML, simulated, replayed, and the host's own processor."""
