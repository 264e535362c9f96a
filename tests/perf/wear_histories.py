"""How often does the drift of a card's resistance tell the truth? Made-up histories over weeks, by kind of card.

    python -m tests.perf.wear_histories [--cards 400] [--seed 7]
    python -m tests.perf.wear_histories --stored FOLDER   # how long the sessions of a data folder take, thrice

Prints Markdown: verdicts, intervals that hold the truth, and the median estimate, for a true growth of 0, 5 and 15 % of
the first resistance a month. The truth of a history is the mean rate at which its resistance grows over its span.
"""

import argparse
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

from gputuner.analysis.wear import session_wear, wear
from gputuner.analysis.wear_slope import MONTH_S
from gputuner.analysis.wear_trend import Drift, Trend
from gputuner.assembly.wear import wear_of, worn_cards
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.readings import Reading
from gputuner.sessions.library import SessionLibrary
from tests.analysis.wear_histories import KINDS, History, histories

TOLD = "no_rest, room told"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cards", type=int, default=400)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--stored", type=Path)
    asked = parser.parse_args()
    if asked.stored is not None:
        stored(asked.stored)
        return
    print("| true growth a month | air | histories | told to rise | told to fall | interval holds the truth | median |")
    print("|---|---|---:|---:|---:|---:|---|")
    began, judged = time.process_time(), 0
    thermometers = np.random.default_rng(asked.seed)
    for per_month in (0.0, 0.05, 0.15):
        found: dict[str, list[tuple[Drift, float]]] = defaultdict(list)
        for history in histories(asked.cards, per_month, asked.seed):
            found[history.kind].append((judge(history), truth(history)))
            judged += 1
            if history.kind == "no_rest":
                found[TOLD].append((judge(history, read(history, thermometers)), truth(history)))
                judged += 1
        for kind in (*KINDS, TOLD):
            print(row(per_month, kind, found[kind]))
    print(f"\n{judged} histories, {(time.process_time() - began) / judged:.2f} s of one core each with making them up")


def stored(folder: Path) -> None:
    library = SessionLibrary(folder)
    for origin in (Origin.MEASURED, Origin.SIMULATED):
        for card in worn_cards(library, origin)[:1]:
            for _ in range(3):
                began, cpu = time.perf_counter(), time.process_time()
                found = wear_of(library, card.uuid, origin=origin)
                took, cpu = time.perf_counter() - began, time.process_time() - cpu
                print(f"{len(found.sessions)} sessions, {found.observed_s / 3600:.1f} h: {took:.2f} s, CPU {cpu:.2f} s")


def read(history: History, rng: np.random.Generator) -> list[float]:
    """The room of each session from a thermometer of whole degrees that is up to 1 °C off, another one each month."""
    months = [int((trace.t_s[0] - history.traces[0].t_s[0]) // MONTH_S) for trace in history.traces]
    off_k = rng.uniform(-1.0, 1.0, max(months) + 1)
    return [round(room_c + off_k[month]) for room_c, month in zip(history.rooms_c, months, strict=True)]


def judge(history: History, rooms_c: list[float] | None = None) -> Drift:
    limit = {"power_limit_default_w": Reading(value=history.limit_w, unit="W")}
    card = CardInfo(uuid="GPU-a", index=0, name="made-up card", readings=limit)
    told = [
        session_wear(trace, card, session_id=str(n), unix_s=float(trace.t_s[0]), room_c=rooms_c[n] if rooms_c else None)
        for n, trace in enumerate(history.traces)
    ]
    return wear(card, Origin.MEASURED, told).drift


def truth(history: History) -> float:
    span = (history.traces[-1].t_s[0] - history.traces[0].t_s[0]) / MONTH_S
    return float(np.expm1(np.log1p(history.per_month * span) / span))


def row(per_month: float, kind: str, found: list[tuple[Drift, float]]) -> str:
    told = [(drift, true) for drift, true in found if drift.per_month is not None]
    rising = sum(drift.verdict is Trend.RISING for drift, _ in found)
    falling = sum(drift.verdict is Trend.FALLING for drift, _ in found)
    holds = sum(drift.low <= true <= drift.high for drift, true in told)
    middle, low, high = np.median([(d.per_month, d.low, d.high) for d, _ in told], axis=0) * 100
    return (
        f"| {per_month:.0%} | {kind} | {len(found)} | {rising} | {falling} | {holds} of {len(told)} | "
        f"{middle:+.1f} % ({low:+.1f} … {high:+.1f}) |"
    )


if __name__ == "__main__":
    main()
