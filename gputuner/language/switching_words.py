"""The words of advice on number formats and switches."""

from gputuner.language.advice_form import AdviceWords
from gputuner.language.words import N_

_RATES = N_("At batch {batch}: {rate:samples/s} with {setting}, {base_rate:samples/s} with {base_setting}.")
_MEMORY = N_("Peak memory changes by {memory_change:change}.")
_EMULATED = N_(
    "BF16 is emulated on this chip and gives {emulated_rate:samples/s}; what PyTorch calls supported counts emulation."
)
_NO_TENSOR = N_("{chip} has no tensor cores: half precision saves memory there, not time.")
_COMPILE = N_("Compiling took {compile_s:s}, once for each shape of the input.")
_SCALER_FREE = N_("{free_setting} needs no loss scaling and is {free_loss:fraction} slower.")
_ROOM = N_("By the line through two batches, memory would hold up to about {room} samples instead of {chosen_room}.")

ADVICE: dict[str, AdviceWords] = {
    "switches.best": AdviceWords(
        title=N_("Train with {setting}"),
        action=N_("Train {workload} with {setting} instead of {base_setting}."),
        why=(_RATES, _MEMORY, _EMULATED, _SCALER_FREE, _COMPILE),
    ),
    "switches.best:keep": AdviceWords(
        title=N_("Stay with {setting}"),
        action=N_("Keep training {workload} with {setting}; nothing that was compared gains beyond the noise."),
        why=(
            N_("At batch {batch}: {rate:samples/s} with {setting}."),
            N_("Next comes {next_setting} with {next_rate:samples/s}."),
            _NO_TENSOR,
            _EMULATED,
        ),
    ),
    "switches.accumulate": AdviceWords(
        title=N_("Does FP16 accumulation train as well?"),
        action=N_(
            "Worth a question, not advised: compare the loss of {workload} with {setting} over a whole training first."
        ),
        why=(
            _RATES,
            N_(
                "Products that add up in FP16 round more, and whether the training comes out as before was not checked."
            ),
        ),
    ),
    "switches.memory": AdviceWords(
        title=N_("{setting} saves memory, not time"),
        action=N_(
            "Use {setting} for {workload} only where memory is short: it takes about {cost:change} of time per sample, "
            "by single trials."
        ),
        why=(
            N_(
                "At batch {batch} its peak is {peak_bytes:bytes} instead of {chosen_peak_bytes:bytes} "
                "({memory_change:change}), as measured."
            ),
            _ROOM,
            _NO_TENSOR,
        ),
    ),
    "switches.memory:free": AdviceWords(
        title=N_("{setting} saves memory, at no cost that showed"),
        action=N_("Where memory is short, add it to {workload}: {setting}."),
        why=(
            N_(
                "At batch {batch} its peak is {peak_bytes:bytes} instead of {chosen_peak_bytes:bytes} "
                "({memory_change:change}), as measured; the rate differs by {cost:change}, "
                "which is within what single trials differ by."
            ),
            _ROOM,
        ),
    ),
    "switches.memory:reserved": AdviceWords(
        title=N_("{setting} holds less memory for the same tensors"),
        action=N_("Where memory is short, add it to {workload}: {setting}."),
        why=(
            N_(
                "At batch {batch} the allocator held {peak_bytes:bytes} instead of {chosen_peak_bytes:bytes} "
                "({memory_change:change}), as measured; the rate differs by {cost:change}."
            ),
        ),
    ),
    "switches.by_chip": AdviceWords(
        title=N_("{precision}, by the chip"),
        action=N_("Try {precision} for {workload} first; it was not measured here."),
        why=(N_("That rests on the generation of the chip alone ({chip}), not on a measurement."),),
    ),
    "switches.module": AdviceWords(
        title=N_("{module} is slower in {precision}"),
        action=N_("Let {module} of {workload} compute in FP32, or try the channels-last layout, and measure again."),
        why=(
            N_("Forward and backward of it take {time_s:s} in {precision}, {base_s:s} in FP32."),
            N_("The whole step decides: {step_s:s} in {precision}, {base_step_s:s} in FP32."),
        ),
    ),
    "switches.pad": AdviceWords(
        title=N_("{size} is no multiple of 8"),
        action=N_("Worth a test: pad {size} of {module} to {padded}."),
        why=(
            N_("In {precision} that layer alone takes {time_s:s} with {size} and {padded_s:s} with {padded}."),
            N_("Newer libraries often do without; older tensor cores do not."),
        ),
    ),
}
"""A sentence is left out where a value it needs was not measured."""
