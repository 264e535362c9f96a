"""Every sentence in one place: what window, command line, advice and reports say of codes and values."""

from gputuner.language.advice import advice_action, advice_title, advice_why, gain, gain_is_open, question
from gputuner.language.errors import bug, error, interrupted
from gputuner.language.findings import finding, remedy
from gputuner.language.names import catalog_note, feature, metric, quantity, reading_name, source, workload
from gputuner.language.steps import point_title, point_unit, point_value, settings, step, step_result
from gputuner.language.terms import (
    card_state,
    confidence,
    flag,
    host_reason,
    limiter,
    of_its_kind,
    origin,
    outcome,
    reason,
    support,
)
from gputuner.language.warnings import warning

__all__ = [
    "advice_action",
    "advice_title",
    "advice_why",
    "bug",
    "card_state",
    "catalog_note",
    "confidence",
    "error",
    "feature",
    "finding",
    "flag",
    "gain",
    "gain_is_open",
    "host_reason",
    "interrupted",
    "limiter",
    "metric",
    "of_its_kind",
    "origin",
    "outcome",
    "point_title",
    "point_unit",
    "point_value",
    "quantity",
    "question",
    "reading_name",
    "reason",
    "remedy",
    "settings",
    "source",
    "step",
    "step_result",
    "support",
    "warning",
    "workload",
]
