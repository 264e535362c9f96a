# pyright: standard
"""From an advice that was tried to its picture: the gain as predicted and as it came, and the trials it rests on."""

from collections.abc import Mapping, Sequence

from gputuner.advice.tried import gain_point, tried_of
from gputuner.gui.plots.bars import BarGroup, BarRow
from gputuner.gui.plots.gain_axis import GainRow
from gputuner.gui.results import of_metric, point_hint, value_words
from gputuner.gui.theme import Theme
from gputuner.language import sentences
from gputuner.language import tried as words
from gputuner.language.advice import fields
from gputuner.language.advice_words import ADVICE
from gputuner.language.words import CHINESE, _, language
from gputuner.model.advice import Advice, Confidence
from gputuner.model.points import Point
from gputuner.model.readings import Scalar

ROOM = 1.05
PHASE = "try"


def trial_groups(points: Sequence[Point], theme: Theme) -> list[BarGroup]:
    """Rates as before and as advised, in the order measured."""
    trials = [point for point in of_metric(points, "train_throughput") if point.params.get("phase") == PHASE]
    groups: list[BarGroup] = []
    if trials:
        top = ROOM * max(point.value for point in trials)
        rows = tuple(_trial(point, top, theme) for point in trials)
        groups.append(BarGroup(title=_("Rate of each trial"), rows=rows))
    return groups


def _trial(point: Point, top: float, theme: Theme) -> BarRow:
    side = point.params.get("side")
    return BarRow(
        name=sentences.settings({"side": side}) if isinstance(side, str) else "",
        text=value_words(point),
        value=point.value,
        top=top,
        colour=theme.blue if side == "advised" else theme.muted,
        low=point.spread.ci95_low if point.spread else None,
        high=point.spread.ci95_high if point.spread else None,
        point_id=point.id,
        hint=point_hint(point),
    )


def tried_rows(points: Sequence[Point], theme: Theme) -> list[GainRow]:
    """The newest gain (that of all rounds so far), below what was predicted."""
    point = gain_point(points)
    if point is None:
        return []
    tried = tried_of(point)
    told = [(_("predicted"), tried.predicted, theme.muted, ""), (_("realised"), tried.found.gain, theme.blue, point.id)]
    return [
        GainRow(
            name=name,
            text=words.gain(gain).replace("-", "−"),
            value=gain.value,
            low=gain.low,
            high=gain.high,
            colour=colour,
            hollow=not point_id,
            point_id=point_id,
        )
        for name, gain, colour, point_id in told
        if gain is not None
    ]


def verdict_words(points: Sequence[Point]) -> str:
    """What the try says of the advice; empty before its first round ended."""
    point = gain_point(points)
    if point is None:
        return ""
    told = (words.verdict(tried_of(point).verdict), words.memory(point.extra.get("memory_change")))
    return sentences_together(told).replace("-", "−")


def sentences_together(told: Sequence[str]) -> str:
    """Sentences after each other."""
    return ("" if language() == CHINESE else " ").join(entry for entry in told if entry)


def advice_words(spec: Mapping[str, object]) -> str:
    """The advice that was tried: its title where the advised setting fills it, else what it changes."""
    base, advised = (_flat(spec.get(side)) for side in ("base", "advised"))
    rule = str(spec.get("advice", ""))
    known = ADVICE.get(rule) or ADVICE.get(rule.rsplit(".", 1)[0])
    if known is not None and all(name in advised for name in fields(known.title)):
        entry = Advice(id=rule, card="", params=advised, evidence=("try",), confidence=Confidence.MEASURED)
        return sentences.advice_title(entry)
    names = [name for name in advised if base.get(name) != advised[name]]
    changed = sentences.settings({name: advised[name] for name in names})
    before = sentences.settings({name: base[name] for name in names if name in base})
    return _("{advised} instead of {before}").format(advised=changed, before=before) if before else changed or rule


def session_words(spec: Mapping[str, object]) -> str:
    """Where the advice came from."""
    told = {"advice": str(spec.get("advice", "")), "session": str(spec.get("session", ""))}
    return _("advice {advice} of session {session}").format(**told)


def _flat(setting: object) -> dict[str, Scalar]:
    """A training's setting as stored, its switches and its loader beside the rest."""
    if not isinstance(setting, Mapping):
        return {}
    parts = [setting, *(part for part in setting.values() if isinstance(part, Mapping))]
    return {
        str(name): value
        for part in parts
        for name, value in part.items()
        if isinstance(value, str | int | float | bool)
    }
