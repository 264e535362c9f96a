# pyright: standard
"""Figures of jobs that share a card as Markdown to take along: the tables of the command line."""

from collections.abc import Sequence

from gputuner.gui.results_pairs import pair_markdown
from gputuner.gui.results_text import origin_lines
from gputuner.language.contention_models import ACTIVITY, CAUSE, PREDICTED, model_lines, round_lines
from gputuner.language.contention_tables import alone_table, cause_table, gain_table, predicted_table, together_table
from gputuner.language.tables import Table, bullets, markdown
from gputuner.model.points import Point


def mixes_markdown(points: Sequence[Point]) -> str:
    """Each mix against its baselines, each job of it, and each job alone."""
    told = _together(points, gain_table(points), together_table(points), alone_table(points))
    return told + _listed(round_lines(points))


def causes_markdown(points: Sequence[Point]) -> str:
    """What each job loses time at."""
    return _together(points, cause_table(points)) + _listed(cause_lines(points))


def prediction_lines(points: Sequence[Point]) -> list[str]:
    """How well slowdowns were predicted, beside simpler models."""
    return model_lines([point for point in points if point.metric not in (CAUSE, ACTIVITY)])


def cause_lines(points: Sequence[Point]) -> list[str]:
    """What a verdict does not know, and what the card's own counters say."""
    return model_lines([point for point in points if point.metric != PREDICTED])


def _listed(lines: Sequence[str]) -> str:
    return f"\n{bullets(lines)}" if lines else ""


def pairs_markdown(points: Sequence[Point], mode: str) -> str:
    """The matrix, and how well it is predicted."""
    told = predicted_table(points)
    parts = [pair_markdown(points, mode), *([markdown(told)] if told.rows else [])]
    return "\n".join(parts) + _listed(prediction_lines(points))


def _together(points: Sequence[Point], *tables: Table) -> str:
    told = [markdown(table) for table in tables if table.rows]
    return "\n".join([*origin_lines(points), *told])
