"""The words of each rule and each open question; a key after a colon is a variant of its rule.

Longer than other modules because it is one table of sentences; experiments with rules of their own keep theirs apart.
"""

from gputuner.language.advice_form import AdviceWords
from gputuner.language.advice_words_watching import ADVICE as WATCHING
from gputuner.language.advice_words_watching import QUESTIONS as WATCHING_QUESTIONS
from gputuner.language.contention_words import ADVICE as CONTENTION
from gputuner.language.contention_words import QUESTIONS as CONTENTION_QUESTIONS
from gputuner.language.cooling import ADVICE as COOLING
from gputuner.language.cooling import QUESTIONS as COOLING_QUESTIONS
from gputuner.language.health import ADVICE as HEALTH
from gputuner.language.health import QUESTIONS as HEALTH_QUESTIONS
from gputuner.language.loading import ADVICE as LOADING
from gputuner.language.numerics_words import ADVICE as NUMERICS
from gputuner.language.numerics_words import QUESTIONS as NUMERICS_QUESTIONS
from gputuner.language.power import ADVICE as POWER
from gputuner.language.power import QUESTIONS as POWER_QUESTIONS
from gputuner.language.supply import ADVICE as SUPPLY
from gputuner.language.supply import QUESTIONS as SUPPLY_QUESTIONS
from gputuner.language.switching_words import ADVICE as SWITCHES
from gputuner.language.wear import ADVICE as WEAR
from gputuner.language.wear import QUESTIONS as WEAR_QUESTIONS
from gputuner.language.words import N_

_CLOCK = N_("The SM clock was {sm_clock_mhz:MHz} of {sm_clock_max_mhz:MHz}, {clock_lost:fraction} below its maximum.")
_POWER = (
    N_("The power limit held the clock back {share:fraction} of the time ({workload})."),
    N_("The card drew {power_w:W} of {limit_w:W}."),
    _CLOCK,
    N_("The limit can be set up to {limit_max_w:W}."),
    N_("{free_workload} as recommended here was not held back."),
    N_("{spared_workload} as recommended here was held back {spared_share:fraction} of the time only."),
)
_BATCH_NORM = N_(
    "Batch norm sees {micro} samples at a time, so a model with it is not trained exactly as with {effective} at once."
)
_EPOCH = (
    N_(
        "An epoch of {data_set} samples is {micro_batches} micro batches, the last of {last_micro}: {full_windows} "
        "full windows of {steps} and a rest of {rest}, which takes a step of its own, weighed by its own samples: "
        "{epoch_steps} optimizer steps."
    ),
    N_(
        "An epoch of {data_set} samples is {micro_batches} micro batches: {even_windows} full windows of {steps}, and "
        "as many optimizer steps."
    ),
)
_ONCE = N_("Clipping, optimizer, scaler and scheduler act once per {steps} micro batches, in the order of the code.")
_REMAINDER = N_(
    "Of {data_set} samples the last batch of {remainder_one} holds one, which batch norm cannot train on: drop it "
    "(drop_last=True) or take another size."
)
_AT_SIZE = (
    N_("With {data_set} samples an epoch is {epoch_steps} optimizer steps at this size: set schedules by that."),
    _REMAINDER,
)
_AGAINST = (
    N_("{reference_batch} gives {reference_rate:samples/s}."),
    N_("The gain is against a batch of {gain_over}, not against the batch that you train with now."),
    N_("How much that gains over {gain_unclear} cannot be told from these figures."),
    N_("{largest_measured}, the largest measured long enough, gives {largest_rate:samples/s}."),
)
_LOOKED = N_(
    "Larger batches look faster: {looked} ran at {looked_rate:samples/s} in a check of memory, too short to go by. "
    "Measure with more time."
)
_BEYOND = (
    N_("Beyond {beyond} samples per optimizer step the learning rate must be tuned anew."),
    N_("{within} stays within that and gives {within_rate:samples/s}, {within_loss:fraction} less."),
)
_CORE_SOURCE = N_("The core temperature is from {core_source}; {core_other} differs by {core_difference:degC}.")
_MEMORY_SOURCE = N_(
    "The memory temperature is from {memory_source}; {memory_other} differs by {memory_difference:degC}."
)
_SIZES = (
    N_("{ran} ran."),
    N_("{asked_most} is the largest that you asked for; memory would hold more."),
    N_("{data_set_limit} is the whole data set: it limits the batch, not memory."),
    N_("{size_most} is the largest size that is tried; memory would hold more."),
    N_("{memory_fails} did not fit."),
    N_("{size_fails} fails with an error that does not name memory."),
    N_("Nothing between {untried_from} and {untried_to} was tried."),
    N_("Peak memory grows in a line with the batch and reaches the card's memory at {predicted_limit}; not tried out."),
    N_("Peak memory does not grow in a line; that it reaches the card's memory near {rough_limit} is a rough guess."),
    N_("{safe} leaves a margin of {margin:fraction} for evaluation, longer samples and others on the card."),
    N_("{untried} itself was not tried."),
    N_("Tried with samples of {sample_shape}; longer ones need more."),
    N_(
        "The first step of {peak_batch} takes {first_peak_bytes:bytes}, later ones {later_peak_bytes:bytes}: it leaves "
        "{headroom_bytes:bytes}. Without cuDNN's autotuner the first takes less, and all may be slower."
    ),
    _REMAINDER,
    N_("At {safe} the rate is {safe_rate:samples/s}."),
    N_(
        "The rate at {rate_unknown} was not measured; at {largest_measured}, the largest measured, it is "
        "{largest_rate:samples/s}."
    ),
)

ADVICE: dict[str, AdviceWords] = {
    **SWITCHES,
    "batch.fastest": AdviceWords(
        title=N_("Batch size {batch}"),
        action=N_("Train {workload} with a batch of {batch} in {precision}."),
        why=(
            N_("{batch} gives {rate:samples/s}, within 1.5 % of the best rate measured."),
            _LOOKED,
            *_AGAINST,
            *_BEYOND,
            *_AT_SIZE,
        ),
    ),
    "batch.fastest:rising": AdviceWords(
        title=N_("Batch size {batch} or more"),
        action=N_("Train {workload} with a batch of {batch} in {precision}, or more where it fits."),
        why=(
            N_("The rate still rose at {batch}, the largest measured long enough: {rate:samples/s}."),
            _LOOKED,
            *_AGAINST[:3],
            *_BEYOND,
            *_AT_SIZE,
        ),
    ),
    "batch.fastest:beyond": AdviceWords(
        title=N_("Batch size {batch}, or {within} without tuning anew"),
        action=N_(
            "Train {workload} with a batch of {batch} in {precision} and tune the learning rate anew, or stay at "
            "{within}."
        ),
        why=(
            N_("{batch} gives {rate:samples/s}, within 1.5 % of the best rate measured."),
            _LOOKED,
            *_BEYOND,
            *_AGAINST,
            *_AT_SIZE,
        ),
    ),
    "batch.safe_limit": AdviceWords(
        title=N_("Largest safe batch: {safe}"),
        action=N_("Keep the batch of {workload} in {precision} at {safe} or below."),
        why=_SIZES,
    ),
    "batch.safe_limit:slower": AdviceWords(
        title=N_("Fits up to {safe}, but slower there: stay at {fastest}"),
        action=N_("Keep the batch of {workload} in {precision} at {fastest}; up to {safe} fit, but run slower."),
        why=(
            N_("At {safe} the rate is {safe_rate:samples/s}, {safe_loss:fraction} below the best."),
            N_("At {fastest} it is {fastest_rate:samples/s}."),
            N_("{stay}, with {stay_rate:samples/s}, is the largest measured batch that is not slower."),
            *_SIZES[:-2],
        ),
    ),
    "batch.safe_limit:predicted": AdviceWords(
        title=N_("Largest safe batch: about {safe}"),
        action=N_("Keep the batch of {workload} in {precision} at {safe} or below."),
        why=_SIZES,
    ),
    "precision.best": AdviceWords(
        title=N_("Train in {precision}"),
        action=N_("Train {workload} in {precision} instead of {baseline}."),
        why=(
            N_("At batch {batch}: {rate:samples/s} in {precision}, {baseline_rate:samples/s} in {baseline}."),
            N_(
                "{faster} runs at {faster_rate:samples/s}, {faster_share:fraction} faster, but needs loss scaling, "
                "which {precision} does not."
            ),
            N_("Peak memory changes by {memory_change:change}."),
        ),
    ),
    "precision.best:keep": AdviceWords(
        title=N_("Stay with {precision}"),
        action=N_("Keep training {workload} in {precision}; no other number format gains here."),
        why=(N_("At batch {batch}: {rate:samples/s} in {precision}, {baseline_rate:samples/s} in {baseline}."),),
    ),
    "layout.channels_last": AdviceWords(
        title=N_("Channels-last layout"),
        action=N_("Put the model and the inputs of {workload} into the channels-last layout."),
        why=(N_("In {precision} at batch {batch}: {rate:samples/s} with it, {other_rate:samples/s} without."),),
    ),
    "layout.channels_last:leave": AdviceWords(
        title=N_("No channels-last layout"),
        action=N_("Leave {workload} in the ordinary layout; channels-last is slower here."),
        why=(N_("In {precision} at batch {batch}: {rate:samples/s} without it, {other_rate:samples/s} with it."),),
    ),
    "batch.accumulate": AdviceWords(
        title=N_("Gradient accumulation: {micro} × {steps}"),
        action=N_("Keep the effective batch of {effective} for {workload} as {steps} steps of {micro}."),
        why=(
            N_("{asked_most} samples at once are the most that you asked for."),
            N_("{does_not_fit} samples at once do not fit safely in {precision}; {safe} do."),
            N_("{slow_at_once} samples at once fit, but are slower than {largest}."),
            N_("At {micro} the rate is {rate:samples/s}."),
            N_(
                "At {fits}, which fits and is the fastest measured, it is {fits_rate:samples/s}: the split costs "
                "{cost:change}."
            ),
            N_("At {same_rate_as}, which fits as well, it is {fits_rate:samples/s}: the same within 2 %."),
            N_(
                "{other_micro} × {other_steps} would fill the memory better, but makes it {other_effective} "
                "({other_change:change})."
            ),
            *_EPOCH,
            _ONCE,
            _BATCH_NORM,
            _REMAINDER,
        ),
    ),
    "batch.accumulate:saves": AdviceWords(
        title=N_("Gradient accumulation saves memory: {micro} × {steps}"),
        action=N_(
            "Run an effective batch of {effective} for {workload} as {steps} steps of {micro} if memory is short, "
            "and only where that proves as fast."
        ),
        why=(
            N_("{micro} needs {memory_micro_bytes:bytes}, {effective} at once {memory_effective_bytes:bytes}."),
            N_("At {micro} the rate is {rate:samples/s}, within 1.5 % of the best measured."),
            *_EPOCH,
            _ONCE,
            _BATCH_NORM,
            _REMAINDER,
        ),
    ),
    "host.governor": AdviceWords(
        title=N_("Frequency governor of the processor"),
        action=N_("Set the governor to performance while you train."),
        why=(N_("It is {governor}: the clock rises only after load has come, and short training steps wait for it."),),
    ),
    "host.quota": AdviceWords(
        title=N_("Processor quota"),
        action=N_("Give the data loader {workers} workers, or raise the container's quota."),
        why=(
            N_(
                "The container may use {quota} of the {cores} cores it sees; loaders sized by what "
                "they see are throttled."
            ),
        ),
    ),
    "host.threads": AdviceWords(
        title=N_("Threads of torch: {cores}"),
        action=N_("Let torch use {cores} threads."),
        why=(N_("It uses {threads}; it may use {cores} cores."),),
    ),
    "host.launch_bound": AdviceWords(
        title=N_("Small batches leave the card waiting"),
        action=N_("Train {workload} with a batch of {up_to_batch} or more, or compile the model."),
        why=(
            N_(
                "Up to a batch of {up_to_batch} a step takes about the same {step_s:s}: the card "
                "waits to be given work."
            ),
        ),
    ),
    "limit.power": AdviceWords(
        title=N_("Limited by power"),
        action=N_(
            "Ordinary under full load. A higher power limit, where the card allows one, or less work would make it "
            "faster; better cooling gains little."
        ),
        why=_POWER,
    ),
    "limit.power:at_maximum": AdviceWords(
        title=N_("Limited by power"),
        action=N_(
            "Ordinary under full load. The limit is already the highest this card takes: only less work would make it "
            "faster; better cooling gains little."
        ),
        why=_POWER,
    ),
    "limit.power:little": AdviceWords(
        title=N_("The power limit costs little"),
        action=N_("Nothing to change: the clock stays within {clock_lost:fraction} of its maximum."),
        why=(
            N_("The power limit was touched {share:fraction} of the time ({workload})."),
            N_("The card drew {power_w:W} of {limit_w:W}."),
            _CLOCK,
        ),
    ),
    "limit.power_brake": AdviceWords(
        title=N_("Power brake"),
        action=N_("Check the power supply and every power cable of the card."),
        why=(N_("The board made the card slow down {share:fraction} of the time ({workload})."),),
    ),
    "limit.hardware": AdviceWords(
        title=N_("Slowed down by the card's hardware"),
        action=N_("Look at temperatures, power cables and supply; the driver does not tell which of them it was."),
        why=(
            N_("The hardware slowed the card down {share:fraction} of the time ({workload})."),
            N_("The core was at {core_c:degC}."),
            _CORE_SOURCE,
        ),
    ),
    "limit.thermal": AdviceWords(
        title=N_("Limited by heat"),
        action=N_("Improve the cooling: clean it, let the fan run faster, give the card air."),
        why=(
            N_("Heat held the clock back {share:fraction} of the time ({workload})."),
            N_("The core was at {core_c:degC}."),
            _CORE_SOURCE,
            N_("The target is {target_c:degC}."),
            N_("The fan ran at {fan_fraction:fraction}."),
        ),
    ),
    "limit.thermal:hardware": AdviceWords(
        title=N_("Too hot: the hardware slows the card down"),
        action=N_("Mend the cooling before you go on: cooler contact, fan, air flow."),
        why=(
            N_("The hardware slowed the card down {share:fraction} of the time ({workload})."),
            N_("The core was at {core_c:degC}."),
            _CORE_SOURCE,
            N_("Slowdown begins at {slowdown_c:degC}."),
            N_("The fan ran at {fan_fraction:fraction}."),
        ),
    ),
    "limit.thermal:fanless": AdviceWords(
        title=N_("Limited by heat"),
        action=N_("Give the card more and cooler air; it has no fan of its own that could be set."),
        why=(
            N_("Heat held the clock back {share:fraction} of the time ({workload})."),
            N_("The core was at {core_c:degC}."),
            _CORE_SOURCE,
            N_("The target is {target_c:degC}."),
        ),
    ),
    "limit.thermal:hardware:fanless": AdviceWords(
        title=N_("Too hot: the hardware slows the card down"),
        action=N_("Mend the cooling before you go on: cooler contact and the air through the card."),
        why=(
            N_("The hardware slowed the card down {share:fraction} of the time ({workload})."),
            N_("The core was at {core_c:degC}."),
            _CORE_SOURCE,
            N_("Slowdown begins at {slowdown_c:degC}."),
        ),
    ),
    "memory_heat.suspected": AdviceWords(
        title=N_("Memory or hotspot probably too hot"),
        action=N_("Check the thermal pads of the memory and the air over the back of the card."),
        why=(
            N_(
                "The card slowed down for heat {share:fraction} of the time although the core was at "
                "{core_c:degC} only."
            ),
            _CORE_SOURCE,
            N_("The target of the core is {target_c:degC}."),
            N_("The memory was at {memory_c:degC}."),
            _MEMORY_SOURCE,
        ),
    ),
    "link.narrow": AdviceWords(
        title=N_("PCIe link below its maximum"),
        action=N_("Put the card into a slot with {width_max} lanes; check riser, slot sharing and BIOS."),
        why=(
            N_(
                "Under load the link ran at PCIe {generation} × {width}; the card can do "
                "{generation_max} × {width_max}."
            ),
            N_("That is {bandwidth_share:fraction} of the bandwidth."),
        ),
    ),
    "card.busy": AdviceWords(
        title=N_("Others compute on the card"),
        action=N_("End or move them for the full rate and clean figures: {names}."),
        why=(N_("Other processes on the card: {count}; they hold {bytes:bytes}."),),
    ),
    "card.unowned_memory": AdviceWords(
        title=N_("Memory in use without an owner"),
        action=N_("Look for dead processes, other containers or MPS that hold it."),
        why=(N_("{bytes:bytes} are in use that no visible process owns."),),
    ),
    "jobs.one_or_two": AdviceWords(
        title=N_("Two trainings at once"),
        action=N_("Run {jobs} trainings of {workload} at batch {batch} at once."),
        why=(
            N_(
                "Together they do {together:x} times the work of one after the other; each takes "
                "{slowdown:x} times as long."
            ),
            N_("One alone at its best batch does {alone_tuned:x} times."),
        ),
    ),
    "jobs.fixed_batch": AdviceWords(
        title=N_("Two trainings at once where the batch is fixed"),
        action=N_("If the batch of {batch} cannot be changed, run {jobs} trainings of {workload} at once."),
        why=(
            N_(
                "Together they do {together:x} times the work of one after the other; "
                "each takes {slowdown:x} times as long."
            ),
            N_("One alone at its best batch does {alone_tuned:x} times."),
        ),
    ),
    "jobs.one_or_two:one": AdviceWords(
        title=N_("One training at a time"),
        action=N_("Run trainings one after the other."),
        why=(
            N_("{tried} at once at batch {batch} do {together:x} times the work of one after the other."),
            N_("One alone at its best batch does {alone_tuned:x} times."),
        ),
    ),
    **CONTENTION,
    **COOLING,
    **POWER,
    **HEALTH,
    **LOADING,
    **NUMERICS,
    **SUPPLY,
    **WEAR,
    **WATCHING,
}

QUESTIONS: dict[str, str] = {
    "nothing_measured": N_("Nothing has been measured on this card yet."),
    "training": N_("How fast this card trains has not been measured."),
    "own_training": N_("All this was measured with {workload}; your own training may differ: see docs/recipes.md."),
    "batch_limit": N_("How large a batch fits was not tried out."),
    "batch_limit:repeat": N_("The largest batch is only roughly known; more time settles it."),
    "sharing": N_("What two trainings at once gain has not been measured."),
    "sharing:repeat": N_("Two trainings at once were measured, but the figures do not hold; measure again."),
    "scattered": N_("Some figures scattered too much for advice; measure again when nothing else runs."),
    "steady_heat:unloaded": N_("How hot the card gets in a long run is not known; it was not loaded for long."),
    "steady_heat": N_("How hot the card gets in a long run is not known; the load lasted {measured_s:s}."),
    **CONTENTION_QUESTIONS,
    **COOLING_QUESTIONS,
    **POWER_QUESTIONS,
    **HEALTH_QUESTIONS,
    **WEAR_QUESTIONS,
    **NUMERICS_QUESTIONS,
    **SUPPLY_QUESTIONS,
    **WATCHING_QUESTIONS,
}
