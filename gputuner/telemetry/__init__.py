"""Watching cards: sampling tiers, the collector process, feeds of ticks, ring buffers and what is derived of them."""
