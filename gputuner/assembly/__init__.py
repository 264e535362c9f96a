"""The composition root: the one place that chooses concrete classes. Opening it touches no card."""
