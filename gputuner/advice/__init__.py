"""Judgements: pure rules from measured evidence to advice with an expected gain and a confidence."""
