"""Sessions for tests of commands that compare: like one that was measured, with other figures."""

import json
from dataclasses import replace
from pathlib import Path

from gputuner.model.events import PointMeasured, RunStarted
from gputuner.model.points import Flag
from gputuner.sessions.reader import SessionReader
from gputuner.sessions.writer import SessionWriter

DAY_S = 86400.0


def session_of(out: str) -> Path:
    return Path(json.loads(out)["session_path"])


def planted(
    source: Path, factor: float, run_id: str, only: str | None = None, *, days: float = -1.0, flag: Flag | None = None
) -> str:
    """A session like ``source`` whose figures (of the benchmark ``only``) are ``factor`` times as high.

    ``days``: how much later it began. ``flag``: of all figures.
    """
    writer = SessionWriter.create(source.parents[1], run_id)
    with SessionReader(source) as reader:
        for event in reader.events():
            told = replace(event, run_id=run_id)
            if isinstance(told, RunStarted):
                told = replace(told, unix_s=told.unix_s + days * DAY_S)
            if isinstance(told, PointMeasured):
                if only in (None, told.point.extra.get("benchmark")):
                    told = replace(told, point=_scaled(told.point, factor))
                if flag is not None:
                    told = replace(told, point=replace(told.point, flags=(flag,)))
            writer.write(told)
    writer.close()
    return run_id


def _scaled(point, factor):
    spread = point.spread
    if spread is not None:
        low, high = spread.ci95_low, spread.ci95_high
        spread = replace(
            spread, median=spread.median * factor, iqr=spread.iqr * factor, ci95_low=low and low * factor,
            ci95_high=high and high * factor,
        )  # fmt: skip
    return replace(point, value=point.value * factor, spread=spread)
