"""Several trainings on one card: how many at once, which go together, in which way, and what to measure next."""

from collections.abc import Sequence
from dataclasses import replace

from gputuner.advice.contention_ways import (
    AS_GOOD,
    MPS_DAEMON,
    better_baseline,
    fewest_risks,
    gain_over,
    pays,
    way_rules,
)
from gputuner.advice.evidence import Evidence
from gputuner.advice.making import make, setting_of
from gputuner.advice.questions import command
from gputuner.analysis.contention_figures import Mix, mixes
from gputuner.model.advice import Advice, Question
from gputuner.model.change import Change
from gputuner.model.points import Point
from gputuner.model.readings import Scalar

FIXED_CHANCE = 0.15
"""How often a batch cannot be changed where nobody said so."""
EXCLUSIVE = ("exclusive_process", "exclusive_thread")
METRICS = frozenset({"pressure_sensitivity", "pressure_exerted", "co_run_cause", "co_run_predicted"})
CONTEND = "contend"
LIMIT = 1.5
"""Slowdown of one of two jobs that most owners would not take."""
SLOW = 1.1
"""A slowdown from which on it is worth asking why."""
PAIRS = 3
"""From so many pairs on one advice tells the best and the worst, not one for each."""
IMPORTANT, KNOWN = 10.0, 3.0
"""Importance, in per cent, of what has no gain."""


def is_contention(evidence: Evidence) -> bool:
    """Whether the figures are those of a contention experiment."""
    if evidence.command.split(" ")[0] == CONTEND:
        return True
    return any("mix" in point.params or point.metric in METRICS for point in evidence.points)


def contention_rules(evidence: Evidence) -> list[Advice]:
    """All advice that the figures of a contention experiment give."""
    known = [mix for mix in mixes(evidence.points) if mix.card == evidence.card.uuid]
    valid = [mix for mix in known if mix.valid]
    found = _exclusive(evidence, known)
    plain = [mix for mix in valid if not mix.shares]
    others = [mix for mix in plain if not mix.alike]
    pairs = [_best_way(plain, label) for label in dict.fromkeys(mix.label for mix in plain if mix.jobs == 2)]
    if others and len(pairs) >= PAIRS:  # a matrix asks which go together, not how many of each
        found += _pairs(evidence, pairs)
        plain = [mix for mix in plain if mix.jobs > 2]
        others = [mix for mix in others if mix.jobs > 2]
    for label in dict.fromkeys(mix.label.split("+")[0] for mix in plain if mix.alike):
        found += _how_many(evidence, [mix for mix in plain if mix.alike and mix.label.split("+")[0] == label])
    for label in dict.fromkeys(mix.label for mix in others):
        found += _together(evidence, _best_way(others, label))
    return [*found, *way_rules(evidence, known)]


def _best_way(known: Sequence[Mix], label: str) -> Mix:
    """A mix in the way of sharing in which it does most; MPS only where that is clearly more."""
    return fewest_risks([mix for mix in known if mix.label == label])


def _how_many(evidence: Evidence, own: Sequence[Mix]) -> list[Advice]:
    """How many of one job at once, from 2 … N of it."""
    best = _fewest(own)
    baseline = better_baseline(best)
    if baseline is not None and pays(gain_over(best, baseline)):
        return [_many(evidence, "contend.how_many", best, baseline)]
    found: list[Advice] = []
    if pays(gain_over(best, 1.0)):  # against one after the other as they are
        found.append(_many(evidence, "contend.fixed_batch", best, 1.0, chance=FIXED_CHANCE))
    if baseline is not None:
        found.append(make("contend.one", evidence.card.uuid, _params(best), _points(best), weight=KNOWN))
    return found


def _fewest(own: Sequence[Mix]) -> Mix:
    """The fewest jobs whose gain is about the best, rather not under MPS."""
    top = max(_gain(mix) for mix in own)
    near = [mix for mix in own if _gain(mix) >= top * (1.0 - AS_GOOD)]
    least = min(mix.jobs for mix in near)
    return fewest_risks([mix for mix in near if mix.jobs == least])


def _gain(mix: Mix) -> float:
    return mix.gain.value if mix.gain is not None else 0.0


def _many(evidence: Evidence, rule: str, mix: Mix, baseline: float, *, chance: float = 1.0) -> Advice:
    return make(
        rule,
        evidence.card.uuid,
        _params(mix),
        _points(mix),
        gain=gain_over(mix, baseline),
        chance=chance,
        risk=mix.mode == "mps",
        change=_change(mix, baseline),
    )


def _change(mix: Mix, baseline: float) -> Change | None:
    """From one training, at its tuned batch where that is the baseline, to so many at once."""
    first = mix.slowdowns[0] if mix.slowdowns else None
    if first is None or mix.gain is None or mix.mode != "processes" or "precision" not in first.params:
        return None
    setting = setting_of(first)
    batch = mix.gain.extra.get("tuned_batch", setting.batch) if baseline > 1.0 else setting.batch
    base = replace(setting, batch=int(batch))
    return Change(workload=first.workload, base=base, advised=replace(setting, processes=mix.jobs))


def _together(evidence: Evidence, mix: Mix) -> list[Advice]:
    """Whether the jobs of a mix go together."""
    baseline = better_baseline(mix)
    if baseline is None:
        return []
    gain, params, points = gain_over(mix, baseline), _params(mix), _points(mix)
    if pays(gain):
        return [make("contend.together", evidence.card.uuid, params, points, gain=gain, risk=mix.mode == "mps")]
    return [make("contend.apart", evidence.card.uuid, params, points, weight=KNOWN)]


def _pairs(evidence: Evidence, pairs: Sequence[Mix]) -> list[Advice]:
    """Of many pairs, which go together best and which worst."""
    known = [mix for mix in pairs if better_baseline(mix) is not None or mix.gain is not None]
    ranked = sorted(known, key=lambda mix: _gain(mix) / (better_baseline(mix) or 1.0))
    worst, best = ranked[0], ranked[-1]
    gain = gain_over(best, better_baseline(best) or 1.0)
    if not pays(gain):
        params = {**_params(best), "pairs": len(pairs)}
        return [make("contend.no_pair", evidence.card.uuid, params, _points(best), weight=KNOWN)]
    params = {**_params(best), "worst": worst.label, "worst_gain": _gain(worst), "pairs": len(pairs)}
    points = [*_points(best), *_points(worst)]
    return [make("contend.pairs", evidence.card.uuid, params, points, gain=gain, risk=best.mode == "mps")]


def _params(mix: Mix) -> dict[str, Scalar]:
    gain = mix.gain
    extra = gain.extra if gain is not None else {}
    params: dict[str, Scalar] = {
        "mix": mix.label,
        "mode": mix.mode,
        "jobs": mix.jobs,
        "workload": mix.slowdowns[0].workload if mix.slowdowns else mix.label,
        "together": _gain(mix),
        "slowdown": mix.worst or 1.0,
        **{name: extra[name] for name in ("alone_tuned", "tuned_batch", "energy_ratio", "fairness") if name in extra},
    }
    if mix.mode == "mps":
        params["mps_daemon"] = MPS_DAEMON
    by = str(extra.get("tuned_by", ""))
    if by.startswith("session "):
        params["tuned_session"] = by.removeprefix("session ")
    if gain is not None and "batch" in gain.params:
        params["batch"] = gain.params["batch"]
    return params


def _points(mix: Mix) -> list[Point]:
    """The evidence of a mix: the figures themselves, since their flags say whether the advice rests on firm ground."""
    return [*([mix.gain] if mix.gain is not None else []), *mix.slowdowns]


def _exclusive(evidence: Evidence, known: Sequence[Mix]) -> list[Advice]:
    """In an exclusive compute mode no second process gets a context; the mode is not ours to change."""
    told = evidence.card.readings.get("compute_mode")
    if told is None or told.value not in EXCLUSIVE or any(mix.mode == "processes" for mix in known):
        return []
    params: dict[str, Scalar] = {"mode": str(told.value).replace("_", " "), "jobs": 1}
    return [make("contend.exclusive", evidence.card.uuid, params, ["card:compute_mode"], weight=IMPORTANT)]


def contention_questions(evidence: Evidence) -> tuple[Question, ...]:
    """What would change the verdict, each with a command that exists."""
    known = [mix for mix in mixes(evidence.points) if mix.card == evidence.card.uuid]
    words, found = _command(evidence, known), list[Question]()

    def ask(identity: str, more: str) -> None:
        found.append(
            Question(id=identity, card=evidence.card.uuid, command=command(evidence.card, f"{words} {more}".strip()))
        )

    if any(point.metric == "null_difference" for point in evidence.points):
        return ()
    if not known or not any(mix.valid for mix in known):
        ask("contend_again" if known else "contend_nothing", "--minutes 10")
        return tuple(found)
    valid = [mix for mix in known if mix.valid]
    if any(better_baseline(mix) is None for mix in valid):
        ask("contend_tuned", "--minutes 10")
    if not evidence.card.is_cpu and {mix.mode for mix in known} == {"processes"} and " --mode " not in words:
        ask("contend_modes", "--mode processes,mps,streams --minutes 10")
    slowed = max((mix.worst or 1.0 for mix in valid), default=1.0) >= SLOW
    mixed = [mix for mix in valid if mix.mode == "streams" and not mix.alike]
    if mixed and not any(mix.shares for mix in valid) and " --priority " not in words:
        ask("contend_priority", f"--priority {','.join(('high', *('normal',) * (mixed[0].jobs - 1)))} --minutes 10")
    if slowed and not evidence.of("co_run_cause") and not {"--causes", "--matrix"} & set(words.split()):
        ask("contend_causes", "--causes --minutes 10")
    return tuple(found)


def _command(evidence: Evidence, known: Sequence[Mix]) -> str:
    """What measures the same again: as it was asked, else by the last mix (labels of jobs are how they are written)."""
    if evidence.command.split(" ")[0] == CONTEND:
        return evidence.command
    if not known:
        return CONTEND
    labels = known[-1].label.split("+")
    return f"{CONTEND} {labels[0]} --jobs {len(labels)}" if known[-1].alike else " ".join((CONTEND, *labels))
