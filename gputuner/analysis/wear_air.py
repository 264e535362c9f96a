"""The air at a card for each steady stretch: shown by the card at rest, or told."""

from collections.abc import Sequence

from gputuner.analysis.thermal_trace import LEAST_FAN
from gputuner.analysis.wear_drift import FAN_EXPONENT
from gputuner.analysis.wear_steady import Stretch
from gputuner.analysis.wear_trend import Basis, SteadyPoint

PIN_WITHIN_S = 3 * 3600.0
"""A rest tells the air of work that is no further away; rooms change over half a day."""
LEAST_W = 40.0
"""Power of work over that of rest; less tells nothing."""


def with_air(
    work: Stretch, rests: Sequence[Stretch], *, session_id: str, room_c: float | None = None
) -> SteadyPoint | None:
    """A stretch of work with its air; None where it is no warmer than its air.

    At rest and at work core = air + R · P. With R at rest k times that at work, by the fan law R ∝ fan^−0.4,
    R = (T_work − T_rest) / (P_work − k · P_rest). Where the fan stands at rest, k is a rough one, so that R is right in
    its changes only (basis ``idle_still``). A rest goes before what was told: the card cannot forget to look.

    Args:
        work: settled, under load.
        rests: settled, without load, of any session.
        session_id: of the work.
        room_c: temperature of the air as it was told, °C.
    """
    air_c: float | None = None
    basis = Basis.ROOM
    near = [rest for rest in rests if abs(rest.unix_s - work.unix_s) <= PIN_WITHIN_S]
    if near:
        rest = min(near, key=lambda each: abs(each.unix_s - work.unix_s))
        air_c = _air_of(work, rest)
        basis = Basis.IDLE if rest.fan_turns else Basis.IDLE_STILL
    if air_c is None:
        air_c, basis = room_c, Basis.ROOM
    if air_c is not None and work.temperature_c - air_c < 1.0:
        return None
    return SteadyPoint(
        unix_s=work.unix_s,
        session_id=session_id,
        temperature_c=work.temperature_c,
        power_w=work.power_w,
        fan_fraction=work.fan_fraction,
        traffic=work.traffic,
        air_c=air_c,
        k_per_w=None if air_c is None else (work.temperature_c - air_c) / work.power_w,
        basis=Basis.NONE if air_c is None else basis,
    )


def _air_of(work: Stretch, rest: Stretch) -> float | None:
    fans = work.fan_fraction, rest.fan_fraction
    ratio = 1.0
    if fans[0] is not None and fans[1] is not None:
        ratio = (max(fans[1], LEAST_FAN) / max(fans[0], LEAST_FAN)) ** -FAN_EXPONENT
    weighed_w = work.power_w - ratio * rest.power_w
    if weighed_w < LEAST_W or work.temperature_c <= rest.temperature_c:
        return None
    return work.temperature_c - work.power_w * (work.temperature_c - rest.temperature_c) / weighed_w
