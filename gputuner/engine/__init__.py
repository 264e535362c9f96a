"""Perform a plan: start and stop workers, read the collector, stop for safety, keep and emit one event stream."""
