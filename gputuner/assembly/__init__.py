"""The composition root: the one place that chooses concrete classes. Opening it touches no card."""

from gputuner.assembly.setup import open_setup as open_setup
