"""gputuner: what a deep-learning card really does, what holds it back, and what to change.

Empty of imports on purpose: the worker registers this package in a foreign interpreter.
"""
