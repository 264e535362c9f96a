"""From the lines that a watched process wrote to its totals. Tolerant: what is torn or foreign is skipped."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from gputuner.analysis.statistics import spread
from gputuner.analysis.told_command import readable
from gputuner.model.watched import LoaderSeen, Observed

Line = Mapping[str, Any]
NOTE_S = 5e-6
"""What one note of the hooks costs a training (s): ``tests/perf/watch_cost.py``, with the caches cold after a step."""
NOTES_PER_STEP = 2
MOST_SERIES = 2000
"""Lines in the series of steps; of more every second one, and so on."""
MOST_BESIDE, BESIDE_S = 1.25, 0.02
"""A line is taken for one of steps alone while it is not longer than its steps by more than a quarter and 20 ms."""
MOST_STEPS = 20_000
"""Step times that a spread is made of."""


def gather(lines: Iterable[str | bytes]) -> Observed | None:
    """Totals of the process that wrote these lines; None where nothing usable stands in them."""
    told = [line for line in map(_parsed, lines) if line is not None]
    by_kind: dict[str, list[Line]] = {}
    for line in told:
        by_kind.setdefault(str(line["k"]), []).append(line)
    hello = (by_kind.get("hello") or by_kind.get("off") or [{}])[0]
    pid = _whole(hello.get("pid"))
    if pid is None:
        return None
    windows = by_kind.get("window", [])
    settings: dict[str, Any] = {}
    for facts in by_kind.get("facts", []):
        settings |= facts
    off = by_kind.get("off", [])
    return Observed(
        pid=pid,
        ppid=_whole(hello.get("ppid")),
        rank=_whole(hello.get("rank")),
        local_rank=_whole(hello.get("local_rank")),
        world_size=_whole(hello.get("world_size")),
        program=readable(str(hello.get("program", ""))),
        python=_text(hello.get("python")),
        torch=_text(hello.get("torch")),
        ended="end" in by_kind,
        off=_text(off[0].get("why")) or "?" if off else None,
        **_settings(settings, stepped=any(_sum([w], "seen") for w in windows)),
        **_times(windows, _number(hello.get("t"))),
        **_sums(windows),
        **_memory(windows, settings),
    )


def window_of(observed: Sequence[Observed]) -> tuple[float, float] | None:
    """Unix seconds from the first to the last line with steps over all processes; None where none stepped."""
    firsts = [each.first_step_unix_s for each in observed if each.first_step_unix_s is not None]
    lasts = [each.last_step_unix_s for each in observed if each.last_step_unix_s is not None]
    return (min(firsts), max(lasts)) if firsts and lasts else None


def _parsed(line: str | bytes) -> Line | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    told = cast("dict[str, Any]", value)
    return told if isinstance(told.get("k"), str) else None


def _number(value: object) -> float | None:
    """A finite number, not a truth value."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < 1e300 else None


def _whole(value: object) -> int | None:
    number = _number(value)
    return int(number) if number is not None and number >= 0 else None


def _text(value: object) -> str | None:
    return value[:200] if isinstance(value, str) else None


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _sum(windows: Sequence[Line], name: str) -> float:
    return sum(max(0.0, _number(window.get(name)) or 0.0) for window in windows)


def _list(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _settled(windows: Sequence[Line]) -> list[Line]:
    """The lines with steps, without the first of them where others are left: it holds the first steps of all."""
    stepped = [window for window in windows if _sum([window], "steps")]
    return stepped[1:] if len(stepped) > 1 else stepped


def _epoch_starts(windows: Sequence[Line]) -> float | None:
    """Share of all time in steps that went by at the start of epochs; the line with the first steps counts too, for of
    two epochs it may hold one, and the other alone would tell twice the share. The first epoch's start lies before the
    first step whose time is known, and no workers that live on would save it."""
    whole_s = _sum(windows, "training_s")
    return min(1.0, _sum(windows, "first_s") / whole_s) if whole_s > 0 else None


def _times(windows: Sequence[Line], started: float | None) -> dict[str, Any]:
    stepped = [window for window in windows if _sum([window], "steps")]
    stamps = [t for t in (_number(window.get("t")) for window in windows) if t is not None]
    told: dict[str, Any] = {"started_unix_s": started, "last_unix_s": max(stamps) if stamps else None}
    if stepped:
        ends = [(_number(window.get("t")), _number(window.get("s")) or 0.0) for window in stepped]
        known = [(end, length) for end, length in ends if end is not None]
        if known:
            told["first_step_unix_s"] = known[0][0] - known[0][1]
            told["last_step_unix_s"] = known[-1][0]
    return told


def _accumulated(batches: int, steps: int) -> float | None:
    """Batches of a step; whole where an edge of the lines explains the difference.

    A line that ends between the batches of a step holds them and not the step: up to that many batches more or fewer.
    """
    if not steps or not batches:
        return None
    whole = round(batches / steps)
    return float(whole) if whole and abs(batches - whole * steps) <= whole else batches / steps


def _sums(windows: Sequence[Line]) -> dict[str, Any]:
    """Sums and spreads over the settled lines; processor time and faults of those that hold steps and nothing else."""
    settled = _settled(windows)
    plain = [window for window in settled if _steps_only(window)]
    steps, training_s = int(_sum(settled, "steps")), _sum(settled, "training_s")
    samples, batches = int(_sum(settled, "samples")), int(_sum(settled, "batches"))
    step_s = [us / 1e6 for window in settled for us in map(_number, _list(window.get("step_us"))) if us and us > 0]
    asked = _sum(settled, "asked")
    plain_steps = _sum(plain, "steps")
    operations = _sum(settled, "operations") / steps if steps else 0.0
    thread = [window for window in plain if _number(window.get("thread_s")) is not None]
    whole = len(thread) == len(plain)
    return {
        "steps": int(_sum(windows, "seen")),
        "by_batches": any(window.get("by_batches") is True for window in windows[-1:]),
        "step_s": spread(_thinned(step_s, MOST_STEPS)) if step_s else None,
        "step_series_s": tuple(_thinned([_sum([w], "training_s") / _sum([w], "steps") for w in settled], MOST_SERIES)),
        "accumulated": _accumulated(batches, steps),
        "other_optimizers": int(_sum(windows, "others")),
        "timed_steps": steps,
        "covered_steps": int(plain_steps),
        "training_s": training_s,
        "other_s": _sum(settled, "other_s"),
        "waited_s": min(_sum(settled, "waited_s"), training_s),
        "waited_first_s": min(_sum(settled, "first_s"), training_s),
        "epoch_starts": _epoch_starts(windows),
        "hidden_s": min(_sum(settled, "hidden_s"), _sum(settled, "waited_s"), training_s),
        "unstepped_s": _sum(windows, "unstepped_s"),
        "batches": batches,
        "evaluation_batches": int(_sum(windows, "evaluation")),
        "samples": samples,
        "batch_size": _most_frequent(windows),
        "rate_per_s": samples / training_s if samples and training_s > 0 else None,
        "covered_s": _sum(plain, "s"),
        "cpu_s": _sum(plain, "cpu_s") if plain else None,
        "system_s": _known(plain, "system_s"),
        "thread_s": max(0.0, _sum(plain, "thread_s") - _sum(plain, "loading_cpu_s")) if plain and whole else None,
        "loading_cpu_s": _sum(plain, "loading_cpu_s"),
        "queued_s": _known(plain, "queued_s"),
        "minor_faults": _whole(_known(plain, "minor")),
        "major_faults": _whole(_known(plain, "major")),
        "operations_per_step": operations if operations > 0 else None,
        "behind": _sum(settled, "behind") / asked if asked else None,
        "scaled": _sum(windows, "scaled") > 0,
        "skipped_steps": int(_sum(windows, "skipped")),
        "scaler_wait_s": min(_sum(settled, "scaler_s"), training_s),
        "own_s": _sum(plain, "own_s") + NOTE_S * (NOTES_PER_STEP * plain_steps + _sum(plain, "batches")),
    }


def _steps_only(window: Line) -> bool:
    """Whether a line covers steps alone: no evaluation, nor what came after the last step."""
    length_s, training_s = _sum([window], "s"), _sum([window], "training_s")
    return not _sum([window], "other_s") and length_s <= MOST_BESIDE * training_s + BESIDE_S


def _known(windows: Sequence[Line], name: str) -> float | None:
    return _sum(windows, name) if windows and all(_number(w.get(name)) is not None for w in windows) else None


def _thinned(values: Sequence[float], most: int) -> list[float]:
    return list(values[:: -(-len(values) // most)]) if values else []


def _most_frequent(windows: Sequence[Line]) -> int | None:
    sizes: Counter[int] = Counter()
    for window in windows:
        for entry in _list(window.get("sizes")):
            pair = _list(entry)
            if len(pair) == 2 and (size := _whole(pair[0])) and (count := _whole(pair[1])):
                sizes[size] += count
    return sizes.most_common(1)[0][0] if sizes else None


def _memory(windows: Sequence[Line], settings: Line) -> dict[str, Any]:
    """Peaks over all lines; retries and failed allocations from the second line with steps on."""
    peaks = {name: [v for w in windows if (v := _whole(w.get(key))) is not None] for name, key in PEAKS.items()}
    told: dict[str, Any] = {name: max(values) if values else None for name, values in peaks.items()}
    settled = _settled(windows)
    for name, key in (("retries", "retries"), ("out_of_memory", "ooms")):
        counts = [v for w in settled if (v := _whole(w.get(key))) is not None]
        before = [v for w in windows if w not in settled and (v := _whole(w.get(key))) is not None]
        told[name] = max(0, counts[-1] - (before[-1] if before else 0)) if counts else None
    told["memory_total_bytes"] = _whole(settings.get("memory_total"))
    told["memory_fraction"] = _number(settings.get("memory_fraction"))
    return told


PEAKS = {
    "allocated_peak_bytes": "allocated",
    "reserved_peak_bytes": "reserved",
    "split_bytes": "split",
    "rss_peak_bytes": "rss_peak",
}


def _settings(facts: Line, *, stepped: bool) -> dict[str, Any]:
    autocast = _text(facts.get("autocast"))
    uuid = _text(facts.get("uuid"))
    graphs = _whole(facts.get("graphs")) or 0
    return {
        "device": "cuda" if facts.get("device") == "cuda" else "cpu",
        "uuids": (uuid,) if uuid else (),
        "card_name": _text(facts.get("name")),
        "optimizer": _text(facts.get("optimizer")),
        "fused": _flag(facts.get("fused")),
        "foreach": _flag(facts.get("foreach")),
        "parameters": _whole(facts.get("parameters")),
        "parameter_dtype": _text(facts.get("dtype")),
        "autocast": autocast or ("off" if stepped else None),
        "tf32_matmul": _flag(facts.get("tf32_matmul")),
        "tf32_cudnn": _flag(facts.get("tf32_cudnn")),
        "cudnn_benchmark": _flag(facts.get("benchmark")),
        "compiled": graphs > 0,
        "graphs": graphs,
        "threads": _whole(facts.get("threads")),
        "loaders": tuple(seen for entry in _list(facts.get("loaders")) if (seen := _loader(entry)) is not None),
    }


def _loader(entry: object) -> LoaderSeen | None:
    if not isinstance(entry, dict):
        return None
    facts = cast("dict[str, Any]", entry)
    workers = _whole(facts.get("workers"))
    if workers is None:
        return None
    return LoaderSeen(
        num_workers=workers,
        batch_size=_whole(facts.get("batch")),
        prefetch_factor=_whole(facts.get("prefetch")),
        pin_memory=facts.get("pin") is True,
        persistent_workers=facts.get("persistent") is True,
        start=_text(facts.get("start")),
    )
