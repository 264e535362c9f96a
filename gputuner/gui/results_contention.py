# pyright: standard
"""From the figures of jobs that share a card to bars: slowdown of each job, gain of the card, causes."""

from collections.abc import Sequence

from PySide6.QtCore import Qt

from gputuner.advice.contention_ways import mix_pays
from gputuner.analysis.contention_claim import claims_of
from gputuner.analysis.contention_figures import SLOWDOWN, Mix, SlowSteps, mixes, newest, slow_steps
from gputuner.analysis.headlines import NULL
from gputuner.gui.plots.bar_marks import Sign, signs_of
from gputuner.gui.plots.bars import BarGroup, BarRow
from gputuner.gui.plots.share_bars import Share, ShareGroup, ShareRow
from gputuner.gui.results import figure, of_metric, point_hint
from gputuner.gui.theme import Theme
from gputuner.language import contention as words
from gputuner.language import numbers, sentences
from gputuner.language.contention_tables import null_lines
from gputuner.language.words import _
from gputuner.model.points import Flag, Point

ROOM = 1.05
FEW = 3
"""Up to so many mixes each gain stands beside its baselines as bars of their own; of more, a mark stands for one."""
UNKNOWN = "unknown"
BESIDES = frozenset(
    {"mix", "mode", "jobs", "job", "cause", "model", NULL, "round", "phase", "job_label", "probe", "dial", "burst_ms"}
)
"""Parameters that tell how and beside what a job ran."""
_COLOURS = {
    "time_slicing": "purple",
    "slices": "purple",
    "sm": "green",
    "tensor": "orange",
    "dram": "sky",
    "l2": "yellow",
    "pcie": "vermilion",
    "host": "muted",
    "host_serialised": "muted",
    "clock": "blue",
    "memory_capacity": "sky",
}
LEAST_REST = 0.005
"""A smaller rest of a slowdown that no cause explains gets no share of the bar."""
_PATTERNS = {
    "host": Qt.BrushStyle.HorPattern,
    "memory_capacity": Qt.BrushStyle.Dense5Pattern,
    "host_serialised": Qt.BrushStyle.Dense4Pattern,
    "mixed": Qt.BrushStyle.DiagCrossPattern,
    UNKNOWN: Qt.BrushStyle.BDiagPattern,
}


def mix_title(label: str, mode: str, shares: str = "", card: str = "") -> str:
    """The jobs of a mix, the way they share (empty: not told), and what each gets where that differs."""
    way = words.mode(mode, card) if mode else ""
    return " · ".join(part for part in (words.mix(label), way, _share_words(shares)) if part)


def _one_way(shown: Sequence[Mix]) -> bool:
    """Whether all mixes share the card in the same way, so that it need not be said of each."""
    return len({mix.mode for mix in shown}) == 1


def _share_words(shares: str) -> str:
    """What each job gets, in their order: ``60 / 40 %`` of the threads, or who goes first."""
    parts = shares.split(",") if shares else []
    if all(part.isdigit() for part in parts):
        return f"{' / '.join(parts)} %" if parts else ""
    names = {"high": _("goes first"), "normal": _("normal")}
    return " / ".join(names.get(part, part) for part in parts)


def slowdown_groups(points: Sequence[Point], theme: Theme) -> list[BarGroup]:
    """How much longer a step of each job takes than alone; dashed is 1. Last what comes out beside an idle partner."""
    nulls = [point for point in newest(of_metric(points, SLOWDOWN)) if point.params.get(NULL)]
    shown = [mix for mix in mixes(points) if mix.slowdowns]
    every = [*nulls, *(point for mix in shown for point in mix.slowdowns)]
    top = ROOM * max([2.0, *(end for p in every for end in (p.value, _ci(p)[1]) if end is not None)])
    alike = _one_way(shown)
    groups = [
        BarGroup(
            title=mix_title(mix.label, "" if alike else mix.mode, mix.shares, mix.card),
            rows=tuple(_slow_row(point, _named(point, _repeats(mix.slowdowns)), top, theme) for point in mix.slowdowns),
            line=1.0,
        )
        for mix in shown
    ]
    for job in dict.fromkeys(map(job_of, nulls)):
        rows = tuple(_slow_row(point, _round_words(point), top, theme) for point in nulls if job_of(point) == job)
        groups.append(BarGroup(title=" · ".join((job, _("beside an idle partner"))), rows=rows, line=1.0))
    return groups


def _repeats(points: Sequence[Point]) -> bool:
    """Whether two of the jobs are the same, so that they need a number."""
    return len({job_of(point) for point in points}) < len(points)


def _named(point: Point, numbered: bool) -> str:
    number = f"{figure(point.params.get('job')) or 1:.0f} · " if numbered else ""
    return f"{number}{job_of(point)}"


def _round_words(point: Point) -> str:
    return _("round {number}").format(number=f"{figure(point.params.get('round')) or 1:.0f}")


def job_of(point: Point) -> str:
    """The job that a figure is of, without how and beside what it ran."""
    labels, number = str(point.params.get("mix", "")).split("+"), figure(point.params.get("job"))
    if number is not None and 1 <= number <= len(labels):
        return words.job_label(labels[int(number) - 1])
    return words.job(point.workload, {name: value for name, value in point.params.items() if name not in BESIDES})


def _slow_row(point: Point, name: str, top: float, theme: Theme) -> BarRow:
    low, high = _ci(point)
    note = _slow_note(point)
    if Flag.IMPLAUSIBLE in point.flags:
        note = sentences.flag(Flag.IMPLAUSIBLE)
    return BarRow(
        name=name,
        text=f"{point.value:.2f} ×",
        value=point.value,
        top=top,
        colour=theme.muted if point.params.get(NULL) else theme.orange,
        low=low,
        high=high,
        signs=signs_of(point.flags),
        note=note,
        point_id=point.id,
        hint=slow_hint(point),
    )


def _slow_note(point: Point) -> str:
    """The slowest 5 % against the median: of steps, or of means of several."""
    found = slow_steps(point)
    if found is None:
        return ""
    if found.steps > 1:
        return _("p95 of {n}-step means {over}").format(n=found.steps, over=_over(found))
    return f"p95 {_over(found)}"


def _over(found: SlowSteps) -> str:
    return numbers.signed_percent(found.over_median - 1.0).replace(" ", "\u00a0")


def _slow_name(found: SlowSteps | None) -> str:
    """What the 95 % time is of: steps, or means of several."""
    if found is not None and found.steps > 1:
        return _("95 % of the means of {n} steps within").format(n=found.steps)
    return _("95 % of the steps within")


def slow_hint(point: Point) -> str:
    """What is known of a job beside others, as several lines."""
    extra, slow = point.extra, slow_steps(point)
    lines = [point_hint(point)]
    told = (
        (_("rate alone"), figure(extra.get("rate_alone")), "samples/s"),
        (_("rate together"), figure(extra.get("rate_together")), "samples/s"),
        (_("median step"), figure(extra.get("step_median_s")), "s"),
        (_slow_name(slow), None if slow is None else slow.seconds, "s"),
        (_("memory at peak"), figure(extra.get("reserved_peak_bytes")), "bytes"),
    )
    lines += [f"{name}: {numbers.value(value, unit)}" for name, value, unit in told if value is not None]
    changed = figure(extra.get("solo_change"))
    if changed is not None:
        lines.append(_("alone it changed by {percent} %").format(percent=f"{100 * changed:.1f}"))
    if extra.get("host_serialised"):
        lines.append(_("the host ran the jobs in turn"))
    return "\n".join(line for line in lines if line)


def gain_groups(points: Sequence[Point], theme: Theme) -> list[BarGroup]:
    """Work of the card in the same time against its baselines; dashed is one job after the other."""
    gains = [(mix, mix.gain) for mix in mixes(points) if mix.gain is not None]
    top = ROOM * max([1.0, *(end for _mix, gain in gains for end in _ends(gain))])
    alike = _one_way([mix for mix, _gain in gains])
    if len(gains) <= FEW:
        return [
            BarGroup(
                title=mix_title(mix.label, "" if alike else mix.mode, mix.shares, mix.card),
                rows=_with_baselines(mix, gain, top, theme),
                line=1.0,
            )
            for mix, gain in gains
        ]
    groups: list[BarGroup] = []
    for mode in dict.fromkeys(mix.mode for mix, _gain in gains):
        rows = tuple(
            _gain_row(mix, gain, _share_title(mix), top, theme, marked=True) for mix, gain in gains if mix.mode == mode
        )
        groups.append(BarGroup(title=words.mode(mode, gains[0][0].card), rows=rows, line=1.0))
    return groups


def _share_title(mix: Mix) -> str:
    """The jobs of a mix among others that share in the same way."""
    return " · ".join(part for part in (words.mix(mix.label), _share_words(mix.shares)) if part)


def _ends(point: Point | None) -> list[float]:
    if point is None:
        return []
    told = (point.value, _ci(point)[1], figure(point.extra.get("alone_tuned")))
    return [value for value in told if value is not None]


def _with_baselines(mix: Mix, point: Point, top: float, theme: Theme) -> tuple[BarRow, ...]:
    tuned = figure(point.extra.get("alone_tuned"))
    rows = [BarRow(name=_("one after the other"), text="1.00 ×", value=1.0, top=top, colour=theme.muted)]
    if tuned is not None:
        name = _("each alone, at its best batch")
        rows.append(BarRow(name=name, text=f"{tuned:.2f} ×", value=tuned, top=top, colour=theme.green))
    return (*rows, _gain_row(mix, point, _("together"), top, theme, marked=False))


def _gain_row(mix: Mix, point: Point, name: str, top: float, theme: Theme, *, marked: bool) -> BarRow:
    low, high = _ci(point)
    pays = mix_pays(mix)
    verdict = () if pays is None else (Sign.PAYS if pays else Sign.PAYS_NOT,)
    return BarRow(
        name=name,
        text=f"{point.value:.2f} ×",
        value=point.value,
        top=top,
        colour=theme.muted if pays is False else theme.blue,
        mark=figure(point.extra.get("alone_tuned")) if marked else None,
        low=low,
        high=high,
        signs=(*verdict, *signs_of(point.flags)),
        note=gain_note(point),
        point_id=point.id,
        hint=gain_hint(point),
    )


def gain_note(point: Point) -> str:
    """What stands beside a gain: why it does not count, else the energy for the same work."""
    if point.extra.get("valid", True) is not True or Flag.IMPLAUSIBLE in point.flags:
        return _("alone changed meanwhile")
    energy = figure(point.extra.get("energy_ratio"))
    if energy is None:
        return ""
    percent = f"{round(100 * (energy - 1)) + 0.0:+.0f}".replace("-", "\u2212")
    return _("energy {percent} %").format(percent=percent)


def gain_hint(point: Point) -> str:
    """What is known of jobs together, as several lines."""
    extra = point.extra
    told = (
        (_("each alone, at its best batch"), figure(extra.get("alone_tuned")), 1.0, " ×"),
        (_("fairness"), figure(extra.get("fairness")), 1.0, ""),
        (_("energy for the same work"), figure(extra.get("energy_ratio")), 1.0, " ×"),
        (_("power"), figure(extra.get("power_ratio")), 1.0, " ×"),
        (_("share of the clock kept"), figure(extra.get("clock_factor")), 100.0, " %"),
        (_("alone they changed by"), figure(extra.get("solo_change")), 100.0, " %"),
    )
    lines = [point_hint(point)]
    lines += [f"{name}: {numbers.number(value * per)}{unit}" for name, value, per, unit in told if value is not None]
    return "\n".join(line for line in lines if line)


def claim_words(points: Sequence[Point]) -> str:
    """What the figures say of the claim on three EDSR trainings, and of the method itself; empty where neither ran."""
    return "\n".join([*map(words.claim, claims_of(points)), *null_lines(points)])


def cause_groups(points: Sequence[Point], theme: Theme) -> list[ShareGroup]:
    """What the slowdown of each job comes from, as shares of it; those of several modes apart."""
    slow = {
        (mix.label, mix.mode, p.params.get("job")): p for mix in mixes(points) for p in mix.slowdowns if not mix.shares
    }
    found: dict[tuple[str, str], dict[int, list[Point]]] = {}
    for point in newest(of_metric(points, "co_run_cause")):
        number = int(figure(point.params.get("job")) or 1)
        found.setdefault(mix_of(point), {}).setdefault(number, []).append(point)
    groups: list[ShareGroup] = []
    for key, jobs in found.items():
        numbered = _repeats([causes[0] for causes in jobs.values()])
        rows = tuple(
            _cause_row(_named(causes[0], numbered), causes, slow.get((*key, number)), theme)
            for number, causes in sorted(jobs.items())
        )
        groups.append(ShareGroup(title=mix_title(*key, card=jobs[min(jobs)][0].card), rows=rows))
    return groups


def mix_of(point: Point) -> tuple[str, str]:
    """The mix and the way of sharing that a figure belongs to."""
    return str(point.params.get("mix", "")), str(point.params.get("mode", "processes"))


def _cause_row(name: str, causes: list[Point], slow: Point | None, theme: Theme) -> ShareRow:
    parts = sorted((point for point in causes if point.value > 0), key=lambda point: -point.value)
    shares = tuple(_share(str(point.params["cause"]), point.value, theme, point.id) for point in parts)
    rest = 1.0 - sum(share.value for share in shares)
    if parts and rest >= LEAST_REST:
        shares = (*shares, _share(UNKNOWN, rest, theme, ""))
    if not parts:  # nothing explains it, or there is nothing to explain
        verdict = str(causes[0].extra.get("verdict", UNKNOWN))
        shares = (_share(verdict, 1.0, theme, causes[0].id, Qt.BrushStyle.BDiagPattern),)
    told = slow.value if slow is not None else figure(causes[0].extra.get("slowdown"))
    lines = [f"{share.name}: {100 * share.value:.0f} %" for share in shares] if parts else [shares[0].name]
    return ShareRow(
        name=name,
        shares=shares,
        text="" if told is None else f"{told:.2f} ×",
        hint="\n".join([name, *lines]),
    )


def _share(name: str, value: float, theme: Theme, point_id: str, pattern: Qt.BrushStyle | None = None) -> Share:
    usual = _PATTERNS.get(name, Qt.BrushStyle.SolidPattern)
    colour = cause_colour(name, theme)
    return Share(name=words.cause(name), value=value, colour=colour, pattern=pattern or usual, point_id=point_id)


def cause_colour(name: str, theme: Theme) -> str:
    """The colour of a cause or a probe, the same in every picture."""
    return str(getattr(theme, _COLOURS.get(name, "strong_line")))


def _ci(point: Point) -> tuple[float | None, float | None]:
    return (point.spread.ci95_low, point.spread.ci95_high) if point.spread is not None else (None, None)
