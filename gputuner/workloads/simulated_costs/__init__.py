"""What the workloads cost on a simulated card, one module per kind of work."""
