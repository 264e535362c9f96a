"""The words of contention experiments: names, steps, warnings, errors, advice and questions."""

from gputuner.language.advice_form import AdviceWords
from gputuner.language.words import N_
from gputuner.model.cards import CPU_CARD

MODES: dict[str, str] = {
    "processes": N_("time slicing between processes"),
    "mps": "MPS",
    "streams": N_("streams of one process"),
    "processes:cpu": N_("processes side by side"),
}
"""Of a card; with ``:cpu`` of the processor, whose cores work for several at once."""


def mode_on(mode: str, card: str) -> str:
    """The entry of ``MODES`` for a way of sharing a card, by its UUID."""
    named = f"{mode}:cpu"
    return named if card == CPU_CARD and named in MODES else mode


PROBES: dict[str, str] = {
    "slices": N_("short bursts"),
    "sm": N_("SM arithmetic"),
    "tensor": N_("tensor cores"),
    "dram": N_("memory bandwidth"),
    "l2": N_("L2 cache"),
    "pcie": "PCIe",
    "host": N_("processor threads"),
}
CAUSES: dict[str, str] = {
    "time_slicing": N_("time slices"),
    "sm": N_("SM arithmetic"),
    "tensor": N_("tensor cores"),
    "dram": N_("memory bandwidth"),
    "l2": N_("L2 cache"),
    "pcie": "PCIe",
    "host": N_("the host's processor"),
    "host_serialised": N_("one Python for all jobs"),
    "clock": N_("power and clock"),
    "memory_capacity": N_("memory capacity"),
    "mixed": N_("several causes"),
    "unknown": N_("not known"),
}
STEPS: dict[str, str] = {
    "contend_alone": N_("one job alone"),
    "contend_together": N_("{jobs} jobs at once"),
    "contend_together:plain": N_("jobs at once"),
    "contend_probe": N_("a job beside a pressure probe"),
}
PHASES: dict[str, str] = {
    "alone_between": N_("alone, in between"),
    "alone_after": N_("alone, afterwards"),
    "together": N_("at once"),
}
STAGES: dict[str, str] = {
    "contend_mix": N_("more jobs at once"),
    "contend_pairs": N_("the other pairs"),
    "contend_tuned": N_("the best batch of a job alone"),
}
WARNINGS: dict[str, str] = {
    "contend_memory_ends": N_("{jobs} jobs at once do not fit into the memory."),
    "contend_memory_ends:needed": N_(
        "{jobs} jobs at once would not fit into the memory: they would need about {needed_bytes:bytes}, and "
        "{free_bytes:bytes} are free."
    ),
    "contend_exclusive": N_(
        "The card is in exclusive compute mode ({mode}): at most {jobs} process gets a context, so nothing was run "
        "beside another. The mode was not changed; nvidia-smi -c 0 (as administrator) lets several in."
    ),
    "contend_probe_missing": N_("The probe {probe} cannot run here: {message}"),
    "contend_probe_apart": N_("{first} and {second} hardly ran at the same time: this pair is left out."),
    "contend_probe_weak": N_(
        "Alone the probe {probe} reaches {share:fraction} of the card's peak: it presses less than it could, so jobs "
        "may suffer more from others than beside it."
    ),
    "contend_probes_cut": N_("The time was short: {jobs} of {of} jobs ran beside the probes. More time takes in all."),
    "contend_no_overlap": N_(
        "No step of a job lay wholly in the time in which all {jobs} ran, so nothing is said of them. More time "
        "makes trials longer; a machine that is busy with other things slows them."
    ),
    "contend_too_slow": N_("{workload} takes too long here at batch {batch} to be measured; choose a smaller batch."),
}
ERRORS: dict[str, str] = {
    "job_malformed": N_(
        "{job} names no job. One is written name, name:key=value,key=value, or FILE.py:function:key=value."
    ),
    "job_setting_unknown": N_("{job}: there is no setting {name}; there are {known}."),
    "job_setting_value": N_("{job}: {name} cannot be {value}."),
    "batch_does_not_fit": N_(
        "Nothing was measured: {workload} does not fit into the memory at batch {batch}; choose a smaller one "
        "(NAME:batch=N)."
    ),
    "batch_does_not_fit:needed": N_(
        "Nothing was measured: {workload} does not fit into the memory at batch {batch}. It needs at least "
        "{needed_bytes:bytes}, and {free_bytes:bytes} were free; choose a smaller one (NAME:batch=N)."
    ),
    "contend_no_job": N_("Name a training, a recipe or a command to run."),
    "contend_count_of_mix": N_(
        "--jobs says how many of one job run at once; with several jobs leave it out and name each as often as it runs."
    ),
    "contend_mode_unknown": N_("There is no mode {mode}; there are {known}."),
    "contend_mode_unknown:alone": N_("Name a mode; there are {known}."),
    "contend_matrix_of_one": N_("A matrix of pairs needs two or more different jobs."),
    "contend_shares": N_("{name} has {value} values for {jobs} jobs; give one for each, or one for all."),
    "contend_shares_mode": N_("{name} goes with mode {mode}; add that to --mode, or leave it out."),
    "contend_null_streams": N_(
        "--null needs a partner in a process of its own: name processes or mps with --mode, not streams."
    ),
    "contend_priority": N_("A priority is high or normal, not {value}."),
    "contend_percentage": N_("A thread percentage is a whole number from 1 to 100, not {value}."),
    "contend_recipe_missing": N_("There is no file {path}; go to its folder, or write the path to it."),
}

_TOGETHER = N_(
    "Together they do {together:x} times the work of one after the other; the slowest takes {slowdown:x} times as long."
)
_TUNED = N_("One after the other, each at its own best batch, they do {alone_tuned:x} times.")
_TUNED_ONE = N_("One alone at its best batch, {tuned_batch}, does {alone_tuned:x} times.")
_FROM = N_("What is best alone is known from session {tuned_session}.")
_PRIORITY = N_(
    "With high priority it takes {slowdown:x} times as long as alone, without {usual:x} times; the others take "
    "{others:x} times."
)
_WORST = N_("Worst together: {worst}, with {worst_gain:x} times the work of one after the other.")
_MPS = N_(
    "MPS is switched on by its daemon ({mps_daemon}); mind: under it a fatal fault in one job ends all jobs of the "
    "card."
)
_ENERGY = N_("The same work takes {energy_ratio:x} times the energy.")

ADVICE: dict[str, AdviceWords] = {
    "contend.how_many": AdviceWords(
        title=N_("{jobs} at once pay"),
        action=N_("Run {jobs} of {mix_one} at once ({mode})."),
        why=(_TOGETHER, _TUNED_ONE, _FROM, _ENERGY, _MPS),
    ),
    "contend.fixed_batch": AdviceWords(
        title=N_("{jobs} at once pay where the batch is fixed"),
        action=N_("If the batch cannot be changed, run {jobs} of {mix_one} at once ({mode})."),
        why=(_TOGETHER, _TUNED_ONE, _FROM, _ENERGY, _MPS),
    ),
    "contend.one": AdviceWords(
        title=N_("One training at a time"),
        action=N_("Run {mix_one} one after the other, at the batch that is best alone."),
        why=(_TOGETHER, _TUNED_ONE, _FROM, _ENERGY),
    ),
    "contend.together": AdviceWords(
        title=N_("These jobs go together"),
        action=N_("Run {mix} at once ({mode})."),
        why=(_TOGETHER, _TUNED, _FROM, _ENERGY, _MPS),
    ),
    "contend.apart": AdviceWords(
        title=N_("These jobs do not go together"),
        action=N_("Run {mix} one after the other."),
        why=(_TOGETHER, _TUNED, _FROM, _ENERGY),
    ),
    "contend.pairs": AdviceWords(
        title=N_("Which pairs go together"),
        action=N_("Best at once, of {pairs} pairs: {mix} ({mode})."),
        why=(
            _TOGETHER,
            _TUNED,
            N_("Worst together: {worst}, with {worst_gain:x} times the work of one after the other."),
            _MPS,
        ),
    ),
    "contend.no_pair": AdviceWords(
        title=N_("No pair goes together"),
        action=N_("Run these jobs one after the other."),
        why=(
            N_("None of {pairs} pairs does noticeably more than its jobs one after the other, each at its best batch."),
            N_(
                "Closest to it comes {mix}: {together:x} × at once, against {alone_tuned:x} × one after the other at "
                "the best batch."
            ),
        ),
    ),
    "contend.mode": AdviceWords(
        title=N_("Share the card by {mode}"),
        action=N_("Run {mix} by {mode} instead of time slicing between processes."),
        why=(N_("It does {together:x} times the work of one after the other; time slicing does {usual:x} times."),),
    ),
    "contend.mode:mps": AdviceWords(
        title=N_("Share the card by MPS"),
        action=N_("Run {mix} under MPS (nvidia-cuda-mps-control -d) instead of time slicing between processes."),
        why=(
            N_("It does {together:x} times the work of one after the other; time slicing does {usual:x} times."),
            N_("Mind: under MPS a fatal fault in one job ends all jobs of the card."),
        ),
    ),
    "contend.mode:host_serialised": AdviceWords(
        title=N_("Share the card by {mode}"),
        action=N_("Run {mix} by {mode} instead of time slicing between processes."),
        why=(
            N_("It does {together:x} times the work of one after the other; time slicing does {usual:x} times."),
            N_("The jobs shared one Python, which held them up: with captured CUDA graphs it may be more."),
        ),
    ),
    "contend.priority": AdviceWords(
        title=N_("Stream priority for the job that matters"),
        action=N_("Give {workload} a stream of high priority where others run beside it in one process."),
        why=(_PRIORITY,),
    ),
    "contend.priority_idle": AdviceWords(
        title=N_("Stream priority changes little here"),
        action=N_("Do not count on stream priority for {workload}; run it alone where it matters."),
        why=(
            _PRIORITY,
            N_("A priority acts only on blocks that have not started."),
        ),
    ),
    "contend.shares": AdviceWords(
        title=N_("Thread percentages under MPS"),
        action=N_(
            "Give the jobs of {mix} {shares} per cent of the card's threads (CUDA_MPS_ACTIVE_THREAD_PERCENTAGE)."
        ),
        why=(
            N_("So they do {together:x} times the work of one after the other; without shares {usual:x} times."),
            _MPS,
        ),
    ),
    "contend.shares_none": AdviceWords(
        title=N_("No thread percentages under MPS"),
        action=N_("Leave CUDA_MPS_ACTIVE_THREAD_PERCENTAGE alone for {mix}."),
        why=(
            N_(
                "With {shares} per cent they do {together:x} times the work of one after the other, without them "
                "{usual:x} times."
            ),
        ),
    ),
    "contend.host": AdviceWords(
        title=N_("The jobs wait for the processor, not for the card"),
        action=N_("Split processor threads and loader workers between the {jobs} jobs."),
        why=(
            N_("Together the slowest takes {slowdown:x} times as long, while the card is less busy than with one."),
            N_("There are {cores} cores: {threads} for each job."),
        ),
    ),
    "contend.exclusive": AdviceWords(
        title=N_("The compute mode lets one process in"),
        action=N_("Run at most {jobs} job at a time, or let several in with nvidia-smi -c 0 (as administrator)."),
        why=(N_("The card's compute mode is {mode}."),),
    ),
}

QUESTIONS: dict[str, str] = {
    "contend_again": N_("The figures do not hold (solo moved, or a job seemed faster than alone); measure again."),
    "contend_nothing": N_("What jobs at once do here has not been measured."),
    "contend_tuned": N_("What each job does alone at its own best batch is not known; more time tells."),
    "contend_modes": N_("Whether MPS or streams do more than time slicing has not been measured."),
    "contend_causes": N_("What the jobs lose time at is not known."),
    "contend_priority": N_("Whether a stream priority helps the job that matters has not been measured."),
}
