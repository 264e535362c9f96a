"""Questions to a GPU: a frozen spec and a plan per experiment."""
