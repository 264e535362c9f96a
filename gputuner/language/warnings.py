"""One sentence for each warning that a run, the cards or the telemetry tell."""

from collections.abc import Mapping

from gputuner.language.alerts import WARNINGS as ALERTS
from gputuner.language.benchmarks import WARNINGS as BENCHMARKS
from gputuner.language.benchmarks import level, mode, unavailable
from gputuner.language.contention_commands import WARNINGS as COMMANDS
from gputuner.language.contention_words import PROBES
from gputuner.language.contention_words import STAGES as CONTENTION_STAGES
from gputuner.language.contention_words import WARNINGS as CONTENTION
from gputuner.language.control import TOLD as CONTROL
from gputuner.language.control import named as set_named
from gputuner.language.cooling import WARNINGS as COOLING
from gputuner.language.driver import TELEMETRY
from gputuner.language.errors import ERRORS
from gputuner.language.filling import fill
from gputuner.language.health import WARNINGS as HEALTH
from gputuner.language.loading import WARNINGS as LOADING
from gputuner.language.loading import named as loading_named
from gputuner.language.names import quantity, reading_name, source, workload
from gputuner.language.numbers import value
from gputuner.language.numerics_words import WARNINGS as NUMERICS
from gputuner.language.power import WARNINGS as POWER
from gputuner.language.sharing_words import WARNINGS as SHARING
from gputuner.language.sharing_words import particular as particular_sharing
from gputuner.language.steps import PRECISIONS
from gputuner.language.switching import STAGES as SWITCH_STAGES
from gputuner.language.switching import WARNINGS as SWITCHES
from gputuner.language.switching import named as switched
from gputuner.language.words import N_, _
from gputuner.model.quantities import Quantity

_RUN: dict[str, str] = {
    "budget_from_here": N_("The time budget of {seconds:s} counts from here; loading torch was not part of it."),
    "batch_hole": N_("Batch {batch} did not fit although more should; larger ones are tried."),
    "does_not_fit": N_(
        "{workload} does not fit even at batch {batch}: it needs more than the {free_bytes:bytes} of memory that were "
        "free. End what else holds memory, or make samples or model smaller; gradient checkpointing also helps."
    ),
    "does_not_fit:needed": N_(
        "{workload} does not fit even at batch {batch}: it needs at least {needed_bytes:bytes}, and "
        "{free_bytes:bytes} were free. End what else holds memory, or make samples or model smaller; gradient "
        "checkpointing also helps."
    ),
    "preferences_malformed": N_(
        "{path} cannot be understood, so the usual preferences hold. Mend it, or delete it to have them for good."
    ),
    "preferences_newer": N_(
        "{path} was written by a newer gputuner: what this one knows of it is followed, the rest left alone."
    ),
    "preference_ignored": N_("{path}: {key} has a value that cannot be, so the usual one holds."),
    "lengths_vary": N_(
        "The samples that {workload} makes differ in length (here {shape}): what fits now may not fit when long ones "
        "meet. Let batch(n) make the longest."
    ),
    "loss_not_finite": N_(
        "The loss in {precision} is no number (NaN or infinite): rates of such a training say nothing, and none is "
        "advised. Mend that first."
    ),
    "half_weights": N_(
        "The model's weights are {precision} by themselves, whatever a row says: number formats are not compared, and "
        "none is advised. Give the recipe a model with FP32 weights for that."
    ),
    "recipe_unknown": N_("The recipe gives parts that nothing is done with: {parts} (see docs/recipes.md)."),
    "memory_cap_beyond": N_(
        "--memory-cap says {cap_bytes:bytes}, but {card} has {total_bytes:bytes}: that is all there is, so the cap is "
        "left out."
    ),
    "memory_spill": N_(
        "Batch {batch} takes {peak_bytes:bytes} of a card with {total_bytes:bytes}: the driver put the rest into "
        'system memory, far slower ("CUDA - Sysmem Fallback Policy" in the NVIDIA control panel). It counts as not '
        "fitting."
    ),
    "limit_untold": N_(
        "No largest batch is told for {workload}: up to batch {largest} the memory of the samples hardly shows beside "
        "what there is without any. More time (--minutes) lets larger ones be tried."
    ),
    "limit_untold_few": N_(
        "No largest batch is told for {workload}: no two sizes ran whose memory is known. More time (--minutes) lets "
        "further ones be tried."
    ),
    "memory_unowned": N_(
        "{bytes:bytes} in use belong to no process that can be seen from here; usual causes are a killed training "
        "whose workers live on, another container, or a driver that has not cleaned up."
    ),
    "precision_skipped": N_("{precision} was left out for {workload}: {reason}."),
    "recipe_sets": N_(
        "The recipe's own code sets {settings} otherwise than a measurement here says. Each is measured as its row "
        "says, so FP32 is without TF32; your training runs as the recipe sets it."
    ),
    "sharing_does_not_fit": N_("{jobs} trainings at once do not fit in memory; that part was left out."),
    "sharing_failed": N_("{jobs} trainings at once could not be measured."),
    "size_limit": N_("Batch {batch} fails with an error that does not name memory: {message}"),
    "stage_skipped": N_(
        "Left out, the time is short: {stage} ({needed_s:s} needed, {left_s:s} left). More time takes it in."
    ),
    "stage_skipped:kept": N_(
        "Left out, the time is short: {stage} ({needed_s:s} needed and {keep_s:s} kept for what comes after, "
        "{left_s:s} left). More time takes it in."
    ),
    "try_condition_differs": N_("Not as when the advice was given: {what} was {was} and is {now}."),
    "try_other_card": N_(
        "The advice was given for another card ({was}, not {now}); the record does not count this try."
    ),
    "try_recipe_changed": N_(
        "The file of {workload} has changed since the advice was given; the record does not count this try."
    ),
    "try_recipe_unknown": N_("Whether the file of {workload} has changed since the advice was given is not known."),
    "try_too_short": N_(
        "The time was too short for A B B A (about {needed_s:s} needed), so there is no interval. More time gives one."
    ),
    "try_too_slow": N_("{workload} takes too long here at batch {batch} to be compared."),
    "worker_unkillable": N_(
        "A measuring process ({worker}) cannot be ended: it hangs inside the driver. Restart the machine to be rid of "
        "it."
    ),
    "watch_elsewhere": N_(
        "What {program} starts runs in processes that are not its children, so it counts as others here; put gputuner "
        "inside instead: {program} … gputuner --cli watch -- COMMAND."
    ),
    "watch_xid": N_(
        "The driver reported the error XID {xid} on {card} while the command ran; NVIDIA's list of XIDs says what it "
        "means, and results from then on are not to be trusted."
    ),
    "worker_lost": N_("The measuring process was lost ({message})."),
    "sources_disagree": N_(
        "Sources disagree by {difference} on the {quantity} of {card}: {source}, used here, says {value}; {other} said "
        "{other_value} at the same time (session {other_session})."
    ),
    "temperature_stuck": N_(
        "The core temperature of {card} stays at {temperature_c:degC} though its power went from {power_low_w:W} to "
        "{power_high_w:W}; it cannot be believed, so nothing is said about heat."
    ),
    "workload_failed": N_("{workload} cannot run here: {message}"),
}

_VISIBLE: dict[str, str] = {
    "visible_none": N_("CUDA_VISIBLE_DEVICES is {value}; programs see no card."),
    "visible_one_mig": N_("CUDA shows one MIG instance only ({shown}) of {named} that are named."),
    "visible_order_unknown": N_("CUDA may count the cards in another order; set CUDA_DEVICE_ORDER=PCI_BUS_ID."),
    "visible_repeated": N_("CUDA_VISIBLE_DEVICES names {entry} twice; programs see no card."),
    "visible_stops_at": N_("CUDA_VISIBLE_DEVICES: {entry} is no card; it and what follows ({ignored}) is ignored."),
}

WARNINGS: dict[str, str] = (
    _RUN
    | SWITCHES
    | _VISIBLE
    | TELEMETRY
    | BENCHMARKS
    | NUMERICS
    | LOADING
    | CONTENTION
    | COMMANDS
    | SHARING
    | COOLING
    | POWER
    | HEALTH
    | CONTROL
    | ALERTS
)

STAGES: dict[str, str] = {
    "limit": N_("the check of the largest batch"),
    "numerics": N_("the comparison of losses"),
    "sharing": N_("two trainings at once"),
    "sustained": N_("sustained load"),
    "training": N_("the training"),
    "turns": N_("comparisons in turns"),
    **CONTENTION_STAGES,
    **SWITCH_STAGES,
}
CONDITIONS: dict[str, str] = {"torch": "torch", "torch_cuda": "CUDA"}
"""Names of software that stay as they are in every language."""
SKIPS: dict[str, str] = {
    "unsupported": N_("this torch or chip cannot"),
    "failed": N_("it failed"),
}


def warning(code: str, params: Mapping[str, object], text: str = "") -> str:
    """The sentence for a warning or the state of a feed; else the text given, or the bare code and its values."""
    code = _hung(params) if code == "telemetry_call_hung" else code
    code = f"{code}:needed" if code in ("does_not_fit", "contend_memory_ends") and "needed_bytes" in params else code
    code = "stage_skipped:kept" if code == "stage_skipped" and "keep_s" in params else code
    code = particular_sharing(code, params)
    params = loading_named(params) if code in LOADING else set_named(params) if code in CONTROL else params
    table = WARNINGS if code in WARNINGS else ERRORS
    if code in table:
        sides = _sides(params) if code == "sources_disagree" else switched(params) if code in SWITCHES else {}
        return fill(table[code], {"message": text, **params, **_named(params), **sides})
    values = ", ".join(f"{name} {entry}" for name, entry in params.items())
    return text or (f"{code.replace('_', ' ')}: {values}" if values else code.replace("_", " "))


def _hung(params: Mapping[str, object]) -> str:
    """The sentence for a call that hangs: which tier of a card, or the driver, and in which function if known."""
    if "card" in params and not params["card"]:
        return "telemetry_call_hung_driver"
    tier = "_slow" if params.get("call") == "slow" else ""
    return f"telemetry_call_hung{tier}{'_named' if params.get('function') else ''}"


def _named(params: Mapping[str, object]) -> dict[str, object]:
    """The names among the values, as words."""
    words: dict[str, object] = {}
    for name, entry in params.items():
        match name, str(entry):
            case "workload", which:
                words[name] = workload(which)
            case "probe", which if which in PROBES:
                words[name] = _(PROBES[which])
            case "precision", which:
                words[name] = PRECISIONS.get(which, which)
            case "stage", which if which in STAGES:
                words[name] = _(STAGES[which])
            case "stage", which if which.startswith("precision_"):
                words[name] = PRECISIONS.get(which.removeprefix("precision_"), which)
            case "reason", which if "benchmark" in params:
                words[name] = unavailable(which, params)
            case "reason", which if which in SKIPS:
                words[name] = _(SKIPS[which])
            case "mode" | "other", which if "other_rate" in params:
                words[name] = mode(which)
            case "what", which if "was" in params:
                words[name] = CONDITIONS.get(which) or reading_name(which)
            case "near" | "far", which:
                words[name] = level(which)
            case _:
                pass
    return words


def _sides(params: Mapping[str, object]) -> dict[str, object]:
    """What two sources say of a quantity, in its unit."""
    unit = str(params.get("unit", ""))
    figures = {name: params.get(name) for name in ("difference", "value", "other_value")}
    words: dict[str, object] = {
        name: value(figure, unit) for name, figure in figures.items() if isinstance(figure, (int, float))
    }
    words |= {name: source(str(params[name])) for name in ("source", "other") if name in params}
    if params.get("quantity") in set(Quantity):
        words["quantity"] = quantity(Quantity(params["quantity"]))
    return words
