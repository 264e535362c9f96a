"""What was seen of a watched command, in words: where its time went, by what signs, and what was set."""

from typing import TYPE_CHECKING

from gputuner.language.numbers import number, value
from gputuner.language.steps import PRECISIONS
from gputuner.language.tables import Table
from gputuner.language.watch_causes import CAUSES
from gputuner.language.words import N_, _, listed, ngettext

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gputuner.model.events import CommandEnded, CommandSampled
    from gputuner.model.followed import TrainingNow
    from gputuner.model.watched import CardUse, LoaderSeen, Observed, Sign, TimeSpent

SENTENCES: dict[str, str] = {
    "data": N_("It waits for data: the loader does not keep up."),
    "host_launch": N_(
        "It is bound by the host: many small operations, each launched by Python, leave the card waiting."
    ),
    "host_other": N_("It is bound by the host: Python does other work between the steps."),
    "idle": N_(
        "It waits for something else than its loader, and uses no processor meanwhile: storage, the network, "
        "another program, or a pause of its own."
    ),
    "compute": N_("It is bound by computing: the hardware is at work."),
    "memory_capacity": N_("It is short of memory: the allocator has to give blocks back and ask again, or it fails."),
    "memory_bandwidth": N_(
        "It is bound by the memory's bandwidth: its operations read and write more than they compute."
    ),
    "card_busy": N_("The card is at work; whether it computes or moves data is not told."),
    "power": N_("The power limit holds the clock back."),
    "heat": N_("Heat holds the clock back."),
    "shared": N_("Others compute at the same time and take their share."),
    "unknown": N_("What it is bound by cannot be told from what was seen."),
}
"""What a training is bound by."""
_TOO_LITTLE = N_("Too little of its training was seen to tell what it is bound by.")
_IDLE_CARD = N_("The card had nothing to do for most of the time: it waited for the host.")
_IDLE = N_("It mostly waited, for storage, the network or other programs: the processor was idle for most of the time.")
"""The same of a command that was seen from outside alone."""
JUDGED = "judged_training"
SIGNS: dict[str, str] = {
    JUDGED: N_("time between training steps that was looked at"),
    "waiting": N_("waiting for data"),
    "hidden_waiting": N_("waiting for data while the card works"),
    "first_batch": N_("waiting for the first batch of an epoch"),
    "behind": N_("steps in which the card was still busy when all was launched"),
    "operations_per_step": N_("operations per step"),
    "host_s_per_operation": N_("host time per operation"),
    "cores_busy": N_("cores busy"),
    "cores": N_("cores that it may use"),
    "queued": N_("ready to run without a core"),
    "major_faults": N_("pages read back from storage"),
    "gpu_utilisation": N_("time with a kernel running"),
    "sm_active": N_("SMs active"),
    "tensor_active": N_("tensor cores active"),
    "dram_active": N_("memory active"),
    "memory_utilisation": N_("memory controller busy"),
    "system_time": N_("processor time in the system"),
    "faulted_bytes_per_step": N_("memory newly mapped per step"),
    "peak_of_limit": N_("peak memory of what there is"),
    "retries": N_("retries of the allocator"),
    "out_of_memory": N_("out-of-memory errors"),
    "clock_lost": N_("clock lost"),
    "limited_power": N_("time in the power limit"),
    "limited_heat": N_("time in a heat limit"),
    "others_computed": N_("others on the card"),
    "scaler_wait": N_("waiting for the loss scaler"),
}
BY: dict[str, str] = {
    "hooks_and_telemetry": N_("from hooks in its Python and from telemetry"),
    "hooks": N_("from hooks in its Python"),
    "telemetry": N_("from telemetry alone"),
}
_AUTOCAST = {"float16": "FP16", "bfloat16": "BF16", "float32": "FP32", "float64": "FP64"}
_NEARLY_ALL = 0.9
"""Share of the command's time from which on its training is as good as all of it."""
_SHARE_FROM_S = 2.0
"""Shorter commands are over before what watching takes once is spread over them."""
_SEVERAL = 3
"""Processes that are named in a table; the rest are counted."""


def cause(name: str) -> str:
    """A place where time goes."""
    return _(CAUSES[name]) if name in CAUSES else name.replace("_", " ")


def bound_by(spent: "TimeSpent") -> str:
    """What the training is bound by, and how sure that is."""
    text = _(SENTENCES.get(spent.cause, SENTENCES["unknown"]))
    outside = spent.by == "telemetry" or all(entry.name != JUDGED for entry in spent.signs)
    if (outside and spent.cause == "idle") or (spent.by == "telemetry" and spent.cause == "host_other"):
        text = _(_IDLE_CARD) if any(entry.name == "gpu_utilisation" for entry in spent.signs) else _(_IDLE)
    if spent.cause == "unknown" and [entry.name for entry in spent.signs] == [JUDGED]:
        text = _(_TOO_LITTLE)
    if not spent.sure and spent.cause != "unknown":
        text = _("Likely: {sentence}").format(sentence=text)
    if spent.beside is not None:
        text = _("{sentence} Beside it: {cause}.").format(sentence=text, cause=cause(spent.beside))
    return text


def sign(entry: "Sign") -> str:
    """One piece of evidence with its figure."""
    name = _(SIGNS[entry.name]) if entry.name in SIGNS else entry.name.replace("_", " ")
    if entry.name == "others_computed":
        return name
    unit = "" if entry.unit == "1/s" else entry.unit
    told = _("{n}/s").format(n=number(entry.value)) if entry.unit == "1/s" else value(entry.value, unit)
    return _("{what}: {of}").format(what=name, of=told)


def known_by(spent: "TimeSpent") -> str:
    """What it is known by: hooks, telemetry, or both."""
    return _(BY[spent.by]) if spent.by in BY else spent.by.replace("_", " ")


def parts_table(spent: "TimeSpent") -> Table:
    """Where the time went, the largest part first."""
    parts = sorted(spent.parts, key=lambda part: -part.share)
    rows = tuple((cause(part.cause), value(part.share, "fraction")) for part in parts if part.share >= 0.005)
    return Table(headers=(_("where the time went"), _("share")), rows=rows, right=(1,))


def covered(spent: "TimeSpent", ended: "CommandEnded") -> str:
    """What the shares are of, where that is not nearly all of the time that the command took; else empty."""
    judged = next((entry.value for entry in spent.signs if entry.name == JUDGED), None)
    if judged is None or judged >= _NEARLY_ALL * ended.use.duration_s:
        return ""
    times = {"training": value(judged, "s"), "whole": value(ended.use.duration_s, "s")}
    evaluated_s = max((entry.other_s for entry in ended.observed), default=0.0)
    if evaluated_s > 0:
        text = _(
            "This is about {training} between training steps; the command took {whole}, at least {evaluated} of it for "
            "evaluations."
        )
        return text.format(**times, evaluated=value(evaluated_s, "s"))
    return _("This is about {training} between training steps; the command took {whole}.").format(**times)


def headroom(spent: "TimeSpent") -> str:
    """How much memory was left; empty where it is not known."""
    if spent.headroom_bytes is None or spent.headroom_of_bytes is None:
        return ""
    left, of = value(spent.headroom_bytes, "bytes"), value(spent.headroom_of_bytes, "bytes")
    return _("{left} of {of} stayed free at the peak").format(left=left, of=of)


def facts(observed: "Observed") -> tuple[tuple[str, str], ...]:
    """What was seen of one training, name and value; what is not known is left out."""
    rows = ((_("steps"), _steps(observed)), *settings_of(observed), (_("memory at the peak"), memory(observed)))
    return tuple((name, text) for name, text in rows if text)


def settings_of(observed: "Observed") -> tuple[tuple[str, str], ...]:
    """What was seen to be set in one training, name and value; what is not known is left out."""
    rows = (
        (_("batch"), _batch(observed)),
        (_("number format"), precision(observed)),
        (_("data loader"), listed(dict.fromkeys(loader(entry) for entry in observed.loaders))),
        (_("optimizer"), _optimizer(observed)),
        (_("compiled"), _switch(observed.compiled)),
        (_("cuDNN autotuner"), _switch(observed.cudnn_benchmark)),
        (_("torch"), listed(part for part in (observed.torch, observed.device) if part)),
    )
    return tuple((name, text) for name, text in rows if text)


def trainings_table(observed: "Sequence[Observed]") -> Table:
    """Several trainings with the same settings, a row each."""
    headers = (_("training"), _("steps"), _("time per step"), _("rate"), _("waiting for data"), _("memory at the peak"))
    rows = tuple(
        (
            who(entry),
            str(entry.steps) if entry.ended else _("at least {n}").format(n=entry.steps),
            value(entry.step_s.median, "s") if entry.step_s is not None else "",
            value(entry.rate_per_s, "samples/s") if entry.rate_per_s is not None else "",
            value(entry.waited_s / entry.training_s, "fraction") if entry.training_s > 0 and entry.batches else "",
            memory(entry),
        )
        for entry in observed
    )
    return Table(headers=headers, rows=rows, right=(1, 2, 3, 4), wraps=(0, 5), least=(1,)).without_empty()


def precision(observed: "Observed") -> str:
    """The number format that it trains in, as far as seen."""
    names = {"torch.float32": "FP32", "torch.float16": "FP16", "torch.bfloat16": "BF16", **_AUTOCAST}
    parts = [names.get(observed.parameter_dtype or "", observed.parameter_dtype or "")]
    if observed.autocast and observed.autocast != "off":
        parts.append(_("autocast {format}").format(format=_AUTOCAST.get(observed.autocast, observed.autocast)))
    elif observed.autocast == "off" and observed.steps:
        parts.append(_("without autocast"))
    if observed.device == "cuda" and observed.tf32_matmul is not None:
        tf32 = PRECISIONS["tf32"]
        parts.append(
            _("{format} on").format(format=tf32) if observed.tf32_matmul else _("{format} off").format(format=tf32)
        )
    if observed.scaled:
        parts.append(_("loss scaled"))
    return listed(part for part in parts if part)


def loader(entry: "LoaderSeen") -> str:
    """A data loader's settings in one line."""
    workers = ngettext("{n} worker", "{n} workers", entry.num_workers).format(n=entry.num_workers)
    parts = [workers]
    if entry.num_workers and entry.prefetch_factor is not None:
        parts.append(_("prefetch {value}").format(value=entry.prefetch_factor))
    if entry.pin_memory:
        parts.append(_("pinned"))
    if entry.persistent_workers:
        parts.append(_("persistent"))
    return " ".join((parts[0], f"({listed(parts[1:])})")) if len(parts) > 1 else parts[0]


def memory(observed: "Observed") -> str:
    """Torch's own peaks on its card."""
    if observed.allocated_peak_bytes is None or observed.device != "cuda":
        return ""
    allocated, reserved = (
        value(each, "bytes") for each in (observed.allocated_peak_bytes, observed.reserved_peak_bytes)
    )
    return _("{allocated} allocated, {reserved} reserved").format(allocated=allocated, reserved=reserved)


def who(observed: "Observed") -> str:
    """Which training it is, where there are several."""
    name = observed.program or _("process {pid}").format(pid=observed.pid)
    return name if observed.rank is None else _("{name}, rank {rank}").format(name=name, rank=observed.rank)


def processes(ended: "CommandEnded") -> str:
    """Which processes were followed."""
    count = max(1, ended.use.processes)  # one that was over at once was not looked at
    names: dict[str, int] = {}
    for process in ended.processes:
        names[process.name] = names.get(process.name, 0) + 1
    most = list(names.items())[:_SEVERAL]
    named = listed(name if times == 1 else f"{times} × {name}" for name, times in most)
    text = ngettext("{n} process followed", "{n} processes followed", count).format(n=count)
    return _("{what}: {of}").format(what=text, of=named) if named else text


def card_lines(ended: "CommandEnded") -> tuple[str, ...]:
    """What each card that the command used did meanwhile, a line each."""
    return tuple(_card_line(use) for use in ended.use.cards)


def left_running(count: int) -> str:
    """Processes of the command that live on after its end."""
    return ngettext("{n} process of it goes on", "{n} processes of it go on", count).format(n=count)


def cost(ended: "CommandEnded") -> str:
    """Processor time that watching took; its share of the time only where that was long enough for one."""
    took = value(ended.own_cpu_s, "s")
    if ended.use.duration_s < _SHARE_FROM_S:
        return took
    share = value(ended.own_cpu_s / ended.use.duration_s, "fraction")
    return listed((took, _("{share} of one core").format(share=share)))


def now_line(event: "CommandSampled") -> str:
    """The command as it is now, in one line."""
    tree = event.tree
    parts = [
        ngettext("{n} process", "{n} processes", tree.processes).format(n=tree.processes),
        _("{n} cores busy").format(n=number(round(tree.cpu_cores, 1))),
        value(tree.memory_bytes, "bytes"),
    ]
    parts += [
        _("{bytes} on the card").format(bytes=value(card.own_bytes, "bytes")) for card in event.cards if card.own_bytes
    ]
    parts += [training_line(training) for training in (event.trainings or ())[:1]]
    return listed(parts)


def training_line(training: "TrainingNow") -> str:
    """A training's newest figures in one line."""
    parts = [_("step {n}").format(n=training.steps)]
    if training.step_s is not None:
        parts.append(_("{time} a step").format(time=value(training.step_s, "s")))
    if training.rate_per_s is not None:
        parts.append(value(training.rate_per_s, "samples/s"))
    if training.waiting is not None:
        parts.append(_("{share} waiting for data").format(share=value(training.waiting, "fraction")))
    return listed(parts)


def ending(exit_code: int | None, number_of_signal: int | None) -> str:
    """How the command ended."""
    if number_of_signal is not None:
        return _("The command was ended by signal {n} (exit code {code}).").format(n=number_of_signal, code=exit_code)
    if exit_code is None:
        return _("The command goes on.")
    return _("The command ended with exit code {code}.").format(code=exit_code)


def _card_line(use: "CardUse") -> str:
    known = use.conditions
    parts: list[str] = []
    if known is not None:
        busy = known.gpu_utilisation
        parts += [
            "" if busy is None else _("{share} busy").format(share=value(busy, "fraction")),
            "" if known.power_w is None else value(known.power_w, "W"),
            "" if known.sm_clock_mhz is None else value(known.sm_clock_mhz, "MHz"),
            "" if known.core_temperature_end_c is None else value(known.core_temperature_end_c, "degC"),
        ]
    if use.tree_memory_peak_bytes is not None:
        parts.append(_("{bytes} of its own at the peak").format(bytes=value(use.tree_memory_peak_bytes, "bytes")))
    elif use.memory_used_peak_bytes is not None:
        whole = _("{bytes} in use at the peak, whose is not told").format(
            bytes=value(use.memory_used_peak_bytes, "bytes")
        )
        parts.append(whole)
    if use.others_memory_bytes:
        parts.append(_("{bytes} of others").format(bytes=value(use.others_memory_bytes, "bytes")))
    if use.others_computed:
        parts.append(_("others computed on it"))
    return listed(part for part in parts if part)


def _steps(observed: "Observed") -> str:
    if not observed.steps:
        return ""
    parts = [str(observed.steps) if observed.ended else _("at least {n}").format(n=observed.steps)]
    if observed.by_batches:
        parts.append(_("batches, for no optimizer step was seen"))
    if observed.step_s is not None:
        parts.append(_("median {time}").format(time=value(observed.step_s.median, "s")))
    if observed.rate_per_s is not None:
        parts.append(value(observed.rate_per_s, "samples/s"))
    if not observed.ended:
        parts.append(_("its end was not seen: the last ones are missing"))
    if observed.skipped_steps:
        parts.append(ngettext("{n} skipped", "{n} skipped", observed.skipped_steps).format(n=observed.skipped_steps))
    return listed(parts)


def _batch(observed: "Observed") -> str:
    if observed.batch_size is None:
        return ""
    forwards = round(observed.accumulated or 1)
    if forwards > 1:
        return _("{batch}, {n} accumulated for a step").format(batch=observed.batch_size, n=forwards)
    return str(observed.batch_size)


def _optimizer(observed: "Observed") -> str:
    if not observed.optimizer:
        return ""
    kinds = [name for name, on in (("fused", observed.fused), ("foreach", observed.foreach)) if on]
    return listed((observed.optimizer, *kinds))


def _switch(on: bool | None) -> str:
    return "" if on is None else _("yes") if on else _("no")
