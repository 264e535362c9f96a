"""What looks into a training that runs unchanged: hooks that a watched program loads by its environment.

A closure of its own: standard library, and torch only where the program itself has imported it; Python ≥ 3.8. Inside a
watched program this package bears the name ``_gputuner_observed``, so its modules import each other relatively.
"""
