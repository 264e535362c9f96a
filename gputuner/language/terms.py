"""Words for the closed sets of the model: reasons, limiters, flags, outcomes, confidence, states, support, origin."""

from collections.abc import Mapping

from gputuner.language.words import N_, _, ngettext
from gputuner.model.advice import TRIES, TRIES_HELD, Confidence
from gputuner.model.cards import CardState, Origin, Support
from gputuner.model.events import Outcome
from gputuner.model.points import Flag
from gputuner.model.quantities import Limiter
from gputuner.model.readings import Reason, Scalar

REASONS: dict[Reason, str] = {
    Reason.NOT_SUPPORTED: N_("not supported by this card"),
    Reason.NO_PERMISSION: N_("no permission to read it"),
    Reason.DRIVER_TOO_OLD: N_("the driver is too old to report it"),
    Reason.ASLEEP: N_("the card sleeps and is not woken"),
    Reason.LOST: N_("the card is lost"),
    Reason.NOT_READ: N_("not read yet"),
    Reason.NOT_WITH_MIG: N_("not available while MIG is on"),
    Reason.DRIVER_MODEL: N_("not available with this driver model (WDDM or WSL)"),
    Reason.IMPLAUSIBLE: N_("the driver gave an impossible value; rejected"),
    Reason.ERROR: N_("the driver failed to answer"),
}

NOT_BY_HOST = N_("not reported by this machine")

LIMITERS: dict[Limiter, str] = {
    Limiter.NONE: N_("nothing"),
    Limiter.IDLE: N_("idle"),
    Limiter.POWER: N_("power limit"),
    Limiter.THERMAL_SOFTWARE: N_("heat (software limit)"),
    Limiter.THERMAL_HARDWARE: N_("heat (hardware slowdown)"),
    Limiter.POWER_BRAKE: N_("power brake"),
    Limiter.HARDWARE: N_("hardware slowdown, cause not told"),
    Limiter.USER_CAP: N_("clock set by the user"),
    Limiter.SYNC_BOOST: N_("sync boost"),
    Limiter.UNKNOWN: N_("unknown"),
}

FLAGS: dict[Flag, str] = {
    Flag.SHARED: N_("others used the card meanwhile"),
    Flag.THROTTLED_POWER: N_("held back by the power limit"),
    Flag.THROTTLED_THERMAL: N_("held back by heat"),
    Flag.CLOCK_LOWERED: N_("clock lowered, cause not seen"),
    Flag.NOT_STEADY: N_("not steady yet"),
    Flag.SPREAD: N_("wide spread"),
    Flag.DRIFT: N_("drifted while measured"),
    Flag.FEW_SAMPLES: N_("too few repeats for an interval"),
    Flag.EXTRAPOLATED: N_("predicted, not tried out"),
    Flag.TOO_SLOW: N_("too slow for its time budget"),
    Flag.LINK_BELOW_MAX: N_("PCIe link below its maximum"),
    Flag.EMULATED: N_("emulated, not native to the chip"),
    Flag.NO_TELEMETRY: N_("no telemetry meanwhile"),
    Flag.IMPLAUSIBLE: N_("implausible"),
    Flag.TF32_BELOW_FP32: N_("TF32 slower than FP32"),
}

OUTCOMES: dict[Outcome, str] = {
    Outcome.COMPLETED: N_("completed"),
    Outcome.CANCELLED: N_("cancelled; what was measured is kept"),
    Outcome.FAILED: N_("failed"),
    Outcome.TIMED_OUT: N_("timed out; what was measured is kept"),
    Outcome.STOPPED_FOR_SAFETY: N_("stopped for safety; what was measured is kept"),
}

CONFIDENCES: dict[Confidence, str] = {
    Confidence.MEASURED: N_("measured on this card with this workload"),
    Confidence.MEASURED_OTHER: N_("measured on this card with another workload"),
    Confidence.PUBLISHED: N_("published for this card"),
    Confidence.MODEL: N_("from a model"),
}
REHEARSED: dict[Origin, str] = {
    Origin.SIMULATED: N_("simulated: a model of the card, not a card"),
    Origin.REPLAYED: N_("a recording that was played back"),
}

CARD_STATES: dict[CardState, str] = {
    CardState.READY: N_("ready"),
    CardState.ASLEEP: N_("asleep"),
    CardState.LOST: N_("lost"),
}

SUPPORTS: dict[Support, str] = {
    Support.NATIVE: N_("native"),
    Support.EMULATED: N_("only emulated"),
    Support.ABSENT: N_("absent"),
}

ORIGINS: dict[Origin, str] = {
    Origin.MEASURED: N_("measured"),
    Origin.SIMULATED: N_("simulated"),
    Origin.REPLAYED: N_("replayed"),
}


def reason(entry: Reason) -> str:
    """Why there is no value."""
    return _(REASONS[entry])


def host_reason(entry: Reason) -> str:
    """Why a fact of the machine around the cards has no value."""
    return _(NOT_BY_HOST) if entry is Reason.NOT_SUPPORTED else reason(entry)


def limiter(entry: Limiter) -> str:
    """What holds the clock back."""
    return _(LIMITERS[entry])


def flag(entry: Flag) -> str:
    """What is wrong with a figure."""
    return _(FLAGS[entry])


def outcome(entry: Outcome) -> str:
    """How a run ended."""
    return _(OUTCOMES[entry])


def confidence(entry: Confidence, origin: Origin = Origin.MEASURED) -> str:
    """What an advice rests on; a simulated or replayed card's evidence is called that, whatever was made of it."""
    if origin is Origin.MEASURED:
        return _(CONFIDENCES[entry])
    measured = entry in (Confidence.MEASURED, Confidence.MEASURED_OTHER)
    return " · ".join((_(REHEARSED[origin]), *(() if measured else (_(CONFIDENCES[entry]),))))


def of_its_kind(params: Mapping[str, Scalar]) -> str:
    """What came of such advice so far; empty where none was tried."""
    hits, tries = params.get(TRIES_HELD), params.get(TRIES)
    if not isinstance(hits, int) or not isinstance(tries, int):
        return ""
    told = ngettext(
        "such advice came true in {hits} of {tries} try",
        "such advice came true in {hits} of {tries} tries",
        tries,
    )
    return told.format(hits=hits, tries=tries)


def card_state(entry: CardState) -> str:
    """Whether a card can be asked."""
    return _(CARD_STATES[entry])


def support(entry: Support) -> str:
    """How a chip offers a feature."""
    return _(SUPPORTS[entry])


def origin(entry: Origin) -> str:
    """Where numbers come from."""
    return _(ORIGINS[entry])
