"""The words of the rules, questions and figures of a training that was watched."""

from gputuner.language.advice_form import AdviceWords
from gputuner.language.words import N_

_WAITING = N_("Waiting for data took {waiting:fraction} of the time; a step took {step_s:s}.")
_LOADER_WAITS = N_(
    "Loading mostly waited itself and left the processor idle, so more processes than cores ({cores}) are of use."
)
_LAUNCHES = N_(
    "A step's forward pass is {operations} operations of {operation_s:s} each: the host launches, "
    "and little is computed in between."
)
_HOST = N_("Waiting for the host took {share:fraction} of the time.")

ADVICE: dict[str, AdviceWords] = {
    "watch.workers": AdviceWords(
        title=N_("num_workers={workers} for the DataLoader"),
        action=N_("Give the DataLoader num_workers={workers} instead of {now}."),
        why=(_WAITING, N_("So many keep up with the step if disk and network do; {cores} cores are there.")),
    ),
    "watch.workers_short": AdviceWords(
        title=N_("num_workers={workers} for the DataLoader"),
        action=N_("Give the DataLoader num_workers={workers} instead of {now}; samples must get cheaper as well."),
        why=(_WAITING, N_("More would be needed to keep up with the step; cores: {cores}.")),
    ),
    "watch.workers:waits": AdviceWords(
        title=N_("num_workers={workers} for the DataLoader"),
        action=N_("Give the DataLoader num_workers={workers} instead of {now}."),
        why=(_WAITING, _LOADER_WAITS),
    ),
    "watch.workers_short:waits": AdviceWords(
        title=N_("num_workers={workers} for the DataLoader"),
        action=N_("Give the DataLoader num_workers={workers} instead of {now}, and try more if that helps."),
        why=(_WAITING, _LOADER_WAITS),
    ),
    "watch.loading_slow": AdviceWords(
        title=N_("Make samples cheaper to load"),
        action=N_(
            "Store them decoded or smaller, decode on the card, or keep them in memory. More processes help only where "
            "loading waits for storage or network."
        ),
        why=(_WAITING, N_("Loader processes: {now}; cores: {cores}.")),
    ),
    "watch.persistent_workers": AdviceWords(
        title=N_("Keep the loader's processes"),
        action=N_("Set persistent_workers=True: they then start once, not at each epoch."),
        why=(N_("Starting epochs took {first:fraction} of the time."),),
    ),
    "watch.cores_taken": AdviceWords(
        title=N_("Too few cores"),
        action=N_("Stop what else uses the cores, or give the training more of them."),
        why=(
            N_("The training was ready to run and had no core {queued:fraction} of the time."),
            N_("Its threads: {threads}; its loader processes: {workers}; cores: {cores}."),
        ),
    ),
    "watch.cores_taken:own": AdviceWords(
        title=N_("Too few cores"),
        action=N_("Run fewer threads or processes at once, or stop what else uses the cores."),
        why=(
            N_("The training was ready to run and had no core {queued:fraction} of the time."),
            N_("Its threads: {threads}; its loader processes: {workers}; cores: {cores}."),
        ),
    ),
    "watch.idle": AdviceWords(
        title=N_("Find what the program waits for"),
        action=N_(
            "Look at what it does beside its steps (checkpoints, uploads, pauses, other programs), and do it in the "
            "background."
        ),
        why=(
            N_(
                "For {share:fraction} of the time it neither computed, nor waited for its loader, nor for a core: "
                "it waited for something that was not seen."
            ),
        ),
    ),
    "watch.compile": AdviceWords(
        title=N_("Launch fewer operations"),
        action=N_("Compile the model, so that many short operations become few."),
        why=(_HOST, _LAUNCHES),
    ),
    "watch.larger_batch": AdviceWords(
        title=N_("Larger batch"),
        action=N_("Double the batch: what the host takes of a step does not grow with it."),
        why=(
            _HOST,
            N_("Batches held {batch} samples; with {doubled} the learning rate may need tuning."),
            N_("The peak took {taken:fraction} of the memory."),
        ),
    ),
    "watch.fused": AdviceWords(
        title=N_("Fused optimizer"),
        action=N_("Let {optimizer} update all parameters in one operation: fused=True."),
        why=(_HOST, N_("It was set to foreach=False, so each parameter takes operations of its own.")),
    ),
    "watch.precision": AdviceWords(
        title=N_("Compute in {precision}"),
        action=N_("Run forward and loss under autocast in {precision}; measure what it gains before you keep it."),
        why=(N_("Parameters are FP32, autocast was off, and computing took {worked:fraction} of the time."),),
    ),
    "watch.tf32": AdviceWords(
        title=N_("Allow TF32"),
        action=N_("Let matrix products in FP32 use TF32; measure what it gains before you keep it."),
        why=(N_("TF32 was off for matrix products, and computing took {worked:fraction} of the time."),),
    ),
    "watch.tf32:convolutions": AdviceWords(
        title=N_("Allow TF32 for matrix products"),
        action=N_("Let matrix products in FP32 use TF32; measure what it gains before you keep it."),
        why=(
            N_("TF32 was off for matrix products, and computing took {worked:fraction} of the time."),
            N_("Convolutions had it already: a network of these gains next to nothing."),
        ),
    ),
    "watch.memory_full": AdviceWords(
        title=N_("Memory is nearly full"),
        action=N_("Take a smaller batch: longer samples may not fit."),
        why=(N_("The peak took {taken:fraction} of the memory."),),
    ),
    "watch.memory_retried": AdviceWords(
        title=N_("Memory is full"),
        action=N_("Take a smaller batch, or let blocks grow in place: making room again and again costs time."),
        why=(
            N_("The allocator gave its blocks back {retries} times in {steps} steps; each time the card stands still."),
            N_("The peak took {taken:fraction} of the memory."),
            N_("{split_bytes:bytes} lay in pieces between others."),
        ),
    ),
    "watch.page_faults": AdviceWords(
        title=N_("Keep memory from step to step"),
        action=N_("Let the C library keep freed memory; the program then holds more of it."),
        why=(
            N_("Each step took {bytes:bytes} of memory from the system anew."),
            N_("The system used {system:fraction} of the processor time for it."),
        ),
    ),
    "watch.skipped_steps": AdviceWords(
        title=N_("Gradients overflow"),
        action=N_("Look at the loss; use BF16 where the chip has it, else lower the learning rate."),
        why=(N_("The gradient scaler skipped {skipped} steps, {share:fraction} of all; nothing is learned in them."),),
    ),
}

QUESTIONS: dict[str, str] = {
    "watch_unseen": N_("No training step was seen; a recipe of it can be measured: see docs/recipes.md."),
    "watch_formats": N_("What other number formats gain was not measured; a recipe tells: see docs/recipes.md."),
    "watch_batch": N_("What a larger batch gains was not measured; a recipe tells: see docs/recipes.md."),
    "watch_loader": N_("How many loader processes are best was not measured; a recipe tells: see docs/recipes.md."),
}

METRICS: dict[str, str] = {
    "watch_step_time": N_("time per step"),
    "watch_rate": N_("rate of the watched training"),
    "watch_waiting": N_("waiting for data"),
    "watch_overhead": N_("cost of watching"),
    "watch_behind": N_("steps that the card was behind in"),
    "watch_memory_peak": N_("peak memory of the watched training"),
    "watch_skipped": N_("steps skipped by the scaler"),
    "watch_part": N_("share of the time"),
    "watch_host_memory": N_("peak memory on the host"),
}
