"""The optimizers that trainings stepped with, in words."""

from collections.abc import Iterable

from gputuner.language.words import N_, _, listed
from gputuner.model.points import Point

NAMES: dict[str, str] = {
    "sgd_momentum": N_("SGD with momentum"),
    "adam_fused": N_("Adam, fused"),
    "adamw_fused": N_("AdamW, fused"),
}
"""Those of the built-in trainings; one of the user's own is told by its class and how it steps."""
TOLD, TOLD_AS = "optimizer", "optimizer_as"
PLAIN = "plain"


def optimizers(points: Iterable[Point]) -> str:
    """Those that figures of trainings name, each once; empty where none does."""
    return listed(dict.fromkeys(_one(point) for point in points if TOLD in point.extra))


def _one(point: Point) -> str:
    name, kind = str(point.extra[TOLD]), point.extra.get(TOLD_AS)
    if name in NAMES:
        return _(NAMES[name])
    return name if kind in (None, PLAIN) else _("{optimizer}, {kind}").format(optimizer=name, kind=kind)
