"""The part of a trial that counts: of a cold burst what came before a limit, of a long load its end (methods §1)."""

from dataclasses import replace

from gputuner.analysis.burst import free_stretch
from gputuner.analysis.steady import sustained_part
from gputuner.model.points import Conditions
from gputuner.model.steps import Trial


def free_part(trial: Trial, conditions: Conditions | None) -> tuple[Trial, Conditions | None]:
    """Only the windows before a limit took hold; the conditions of the whole burst do not hold for a part of it."""
    kept = free_stretch([1.0 / seconds for seconds in trial.iteration_s])
    if kept == len(trial.iteration_s):
        return trial, conditions
    per_window = trial.notes.get("iterations_per_window", 1)
    free_s = sum(trial.iteration_s[:kept]) * float(per_window)
    notes = {name: value for name, value in trial.notes.items() if name != "clock_mhz"}
    part = replace(trial, iteration_s=trial.iteration_s[:kept], notes={**notes, "free_s": round(free_s, 4)})
    if conditions is None:
        return part, None
    start_c = conditions.core_temperature_start_c
    return part, Conditions(duration_s=free_s, core_temperature_start_c=start_c, fan_fraction=conditions.fan_fraction)


def last_part(trial: Trial) -> tuple[float, ...]:
    """The entries of the last 30 s of a trial."""
    return sustained_part(trial.iteration_s, (trial.t1_ns - trial.t0_ns) / 1e9)
