"""Made-up histories of cards over weeks, with a known drift of the thermal resistance: the truth for the wear tests.

Shares nothing with the estimator but the record that it reads. A ladder of four nodes (die, spreader behind the
interface, fins, case air) is stepped by explicit Euler; the interface ages so that the whole resistance grows by the
given share a month. The fan follows the core by a curve with a lag and stands at rest on some cards; the room swings by
± 4 °C with a random period; power leaks with heat; sensors tell whole degrees, whole per cents and tenths of a watt.
"""

from dataclasses import dataclass

import numpy as np

from gputuner.analysis.wear_trace import Heat, WearTrace

DAY = 86400.0
BIN = 10
KINDS = ("blower", "zero_rpm", "no_rest", "passive")


@dataclass(frozen=True, kw_only=True)
class History:
    """One card's sessions; ``per_month``: the true growth of its resistance as a share of the first one.

    ``rooms_c``: the true room at the begin of each session, °C.
    """

    kind: str
    per_month: float
    limit_w: float
    traces: list[WearTrace]
    rooms_c: list[float]


def histories(count: int, per_month: float, seed: int, kinds: tuple[str, ...] = KINDS) -> list[History]:
    """``count`` random cards with the same true drift."""
    rng = np.random.default_rng(seed)
    cards = [_card(rng, kinds[i % len(kinds)]) for i in range(count)]
    lanes = [(card, day) for card in cards for day in card["days"]]
    arrays = {
        name: np.array([float(card[name]) for card, _ in lanes]) for name in cards[0] if name not in ("days", "kind")
    }
    t0 = np.array([day * DAY for _, day in lanes])
    kind = np.array([card["kind"] for card, _ in lanes])
    told = _lived(rng, arrays, t0, kind, per_month)
    found: list[History] = []
    at = 0
    for card in cards:
        n = len(card["days"])
        found.append(
            History(
                kind=card["kind"],
                per_month=per_month,
                limit_w=card["limit_w"],
                traces=[_trace(told, lane, 1.8e9 + t0[lane]) for lane in range(at, at + n)],
                rooms_c=told["room"][at : at + n].tolist(),
            )
        )
        at += n
    return found


def _card(rng, kind):
    weeks = rng.uniform(5, 10)
    count = int(rng.integers(16, 36))
    days = np.sort(rng.uniform(0, weeks * 7, count))
    days = days[np.concatenate([[True], np.diff(days) > 0.08])]
    return {
        "kind": kind,
        "days": days,
        "limit_w": rng.uniform(220, 480),
        "total": rng.uniform(0.10, 0.17),
        "interface": rng.uniform(0.25, 0.40),
        "exponent": rng.uniform(0.5, 0.8),
        "fan_base": rng.uniform(0.25, 0.35),
        "fan_from": rng.uniform(40, 50),
        "fan_slope": rng.uniform(0.012, 0.025),
        "period": float(np.exp(rng.uniform(np.log(1.0), np.log(70.0)))),
        "phase": rng.uniform(0, 2 * np.pi),
        "room": rng.uniform(20, 26),
        "leak": rng.uniform(0.0003, 0.0012),
        "case": rng.uniform(0.004, 0.015),
        "share_a": rng.uniform(0.65, 0.95),
        "share_b": rng.uniform(0.65, 0.95),
        "second": rng.choice([0.0, 0.4]),
    }


def _lived(rng, c, t0, kind, per_month):
    n = t0.size
    seconds = 2700
    rest_s = np.where(kind == "no_rest", 60.0, rng.uniform(840, 1100, n))
    month = t0 / (30.44 * DAY)
    room = c["room"] + 4.0 * np.sin(2 * np.pi * t0 / DAY / c["period"] + c["phase"]) + rng.normal(0, 0.4, n)
    ramp = rng.normal(0, 0.8, n) / seconds
    job_b = rng.random(n) < c["second"]
    work_w = c["limit_w"] * np.where(job_b, c["share_b"], c["share_a"])
    traffic = np.where(job_b, 0.75, 0.35)
    idle_w = 0.05 * c["limit_w"] + 5.0
    whole = c["total"] * 280.0 / c["limit_w"]
    interface = whole * c["interface"] + per_month * month * (whole + c["case"])
    spread, fins = whole * 0.12, whole * (0.88 - c["interface"])
    passive, still = kind == "passive", (kind == "zero_rpm")

    def fins_at(fan):
        return np.where(passive, fins, fins * (np.maximum(fan, 0.12) / 0.6) ** -c["exponent"])

    fan = np.where(passive, 0.6, np.where(still, 0.0, c["fan_base"]))
    caseair = np.zeros(n)
    sink = idle_w * fins_at(fan)
    mid = sink + idle_w * spread
    die = mid + idle_w * interface
    capacity = (3.0 / interface, 4.0 * (1 / interface + 1 / spread), 75.0 / fins)  # J/K: τ of seconds, of 1–2 min
    keep = {name: np.empty((seconds, n)) for name in ("t", "p", "f")}
    for s in range(seconds):
        busy = s >= rest_s
        core = room + ramp * s + caseair + die
        want = np.clip(c["fan_base"] + c["fan_slope"] * np.maximum(0.0, core - c["fan_from"]), 0.0, 1.0)
        off = still & (core < np.where(fan > 0.1, 42.0, 52.0))
        want = np.where(off, 0.0, want)
        fan = np.where(passive, 0.6, fan + (want - fan) / 6.0)
        p = np.where(busy, work_w * (1 + c["leak"] * (core - 60.0)), idle_w)
        a, b = (die - mid) / interface, (mid - sink) / spread
        out = sink / fins_at(fan)
        die, mid, sink = die + (p - a) / capacity[0], mid + (a - b) / capacity[1], sink + (b - out) / capacity[2]
        caseair = caseair + (c["case"] * p - caseair) / 300.0
        keep["t"][s] = np.round(core)
        keep["p"][s] = np.round(p * (1 + rng.normal(0, 0.012, n)), 1)
        keep["f"][s] = np.round(fan, 2)
    return keep | {"rest_s": rest_s, "room": room, "traffic": traffic, "passive": passive}


def _trace(told, lane, unix_s):
    def bins(name):
        return told[name][:, lane].reshape(-1, BIN)

    t = bins("t")
    m = len(t)
    at = np.arange(m) * float(BIN)
    work = at >= told["rest_s"][lane]
    nan = np.full(m, np.nan)
    return WearTrace(
        t_s=unix_s + at,
        seconds=np.full(m, float(BIN)),
        heat={"core": Heat(low=t.min(axis=1), mean=t.mean(axis=1), high=t.max(axis=1))},
        power_w=bins("p").mean(axis=1),
        fan=nan if told["passive"][lane] else bins("f").mean(axis=1),
        busy=np.where(work, 0.99, 0.0),
        traffic=np.where(work, told["traffic"][lane], 0.0),
        step_s=float(BIN),
    )
