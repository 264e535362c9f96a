"""Words about loading data: what was not measured and why, and the advice."""

from collections.abc import Mapping

from gputuner.language.advice_form import AdviceWords
from gputuner.language.filling import fill
from gputuner.language.words import N_, _, listed
from gputuner.model.readings import Scalar

WARNINGS: dict[str, str] = {
    "loading_gap": N_("Not measured: {loader}, because {reason}."),
    "loading_decode": N_("Decoding on the card by {decoder} was not compared: {reason}."),
    "loading_host_simulated": N_(
        "A simulated card has no host: a stand-in with 16 cores and 3.6 ms for a photograph loads for it. That says "
        "nothing about this machine's processor or disks; without --simulate they are measured."
    ),
    "loading_unsure": N_(
        "{loader}: {gain:fraction} faster over {trials} trials, which differ too much, or are too few, to know it; not "
        "taken."
    ),
    "loading_files_cached": N_(
        "With {loader} the training ran at {before:samples/s} at the beginning and at {after:samples/s} at the end: "
        "what is read lies in memory by now. Where the data set is larger than the memory, the disk sets the rate."
    ),
}

REASONS: dict[str, str] = {
    "cores": N_("more than the {cores} cores that this process may use"),
    "shared_memory": N_(
        "they need {needs_bytes:bytes} of shared memory, and /dev/shm has {free_bytes:bytes} free (containers: "
        "--shm-size or --ipc=host)"
    ),
    "shared_memory:failed": N_(
        "shared memory ran out (/dev/shm; containers: --shm-size or --ipc=host); torch says: {message}"
    ),
    "host_memory": N_("they need {needs_bytes:bytes} of memory, and {free_bytes:bytes} are available"),
    "host_memory:failed": N_("memory ran out; torch says: {message}"),
    "open_files": N_(
        'too many open files (raise `ulimit -n`, or torch.multiprocessing.set_sharing_strategy("file_system"))'
    ),
    "worker_died": N_("a process of the loader died: {message}"),
    "worker_failed": N_("a process of the loader failed: {message}"),
    "card_in_worker": N_(
        "the data set uses the card inside of a loader process; leave that to the training, or start processes by spawn"
    ),
    "not_sent": N_("data set or collate function cannot be sent to a process: {message}"),
    "out_of_memory": N_("it does not fit in the card's memory"),
    "unsupported": N_("this torch or chip cannot"),
    "hung": N_("no batch came in time; the process was ended"),
    "time": N_("the time is short, see --minutes"),
    "out_of_time": N_("a batch takes longer than the time left"),
    "nothing_measured": N_("nothing could be timed"),
    "own_decoding": N_("the data set is your own, and decodes as you wrote it"),
    "needs_card": N_("it needs a GPU"),
    "not_installed": N_("it is not installed in the measured Python"),
    "needs_torchvision": N_("the photographs are JPEG files only where torchvision is installed"),
}
"""Why a setting, or a decoder, was not measured. ``:failed``: it was tried, so there is no figure of what it needs."""
TRIED = ("shared_memory", "host_memory")


def setting(params: Mapping[str, object]) -> str:
    """How a loader is run, in words."""
    workers = params.get("workers")
    if not workers:
        parts = [_("no processes of its own")]
    else:
        parts = [_("one process") if workers == 1 else fill(N_("{workers} processes"), params)]
        one = params.get("prefetch") == 1
        parts.append(_("one batch ready in each") if one else fill(N_("{prefetch} batches ready in each"), params))
        if params.get("persistent") is True:
            parts.append(_("kept from epoch to epoch"))
    if params.get("pin") is True:
        parts.append(_("pinned memory"))
    return listed(parts)


def settings_named(params: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """The loaders among the values of an advice, in words: the advised one and the present one."""
    words: dict[str, Scalar] = {}
    if "persistent" in params and "workers" in params:
        words["loader"] = setting(params)
    if "usual_workers" in params and "usual_persistent" in params:
        usual = {name.removeprefix("usual_"): value for name, value in params.items() if name.startswith("usual_")}
        words["usual_loader"] = setting(usual)
    return words


def named(params: Mapping[str, object]) -> dict[str, object]:
    """The values of a warning with its setting and its reason in words."""
    words = dict(params)
    if "workers" in params:
        words["loader"] = setting(params)
    if "reason" in params:
        words["reason"] = reason(str(params["reason"]), params)
    return words


def reason(which: str, params: Mapping[str, object]) -> str:
    """Why a setting of a loader was not measured."""
    key = f"{which}:failed" if which in TRIED and "needs_bytes" not in params else which
    params = {**params, "message": params.get("cause") or params.get("message")}
    return fill(REASONS[key], params) if key in REASONS else which.replace("_", " ")


_RATES = (
    N_("With it the training runs at {rate:samples/s}."),
    N_("With the loader as it is ({usual_loader}) the training runs at {usual_rate:samples/s}."),
    N_("Of batches that lie ready it could eat {demand:samples/s}; {lost:fraction} of that is lost."),
    N_("The loader alone delivers {supply:samples/s}."),
    N_("Today's alone delivers {usual_supply:samples/s}."),
    N_("Its first batch came {start_s:s} after the loader was begun: its processes had to start."),
    N_("Today's {usual_workers} processes are more than the {cores_exceeded} cores that it may use."),
)

ADVICE: dict[str, AdviceWords] = {
    "loading.setting": AdviceWords(
        title=N_("Loader: {loader}"),
        action=N_("Load the data of {workload} with {loader}."),
        why=_RATES,
    ),
    "loading.decode_on_card": AdviceWords(
        title=N_("Decode on the card"),
        action=N_("Hand the files of {workload} to the card and decode them there ({decode})."),
        why=_RATES,
    ),
    "loading.keep": AdviceWords(
        title=N_("Keep the loader as it is"),
        action=N_("Keep loading the data of {workload} with {loader}; nothing that was tried feeds it clearly faster."),
        why=(
            *_RATES[2:4],
            N_(
                "Another setting ran at {single_rate:samples/s}. Whether that is faster is not known: it takes more "
                "than one trial of each."
            ),
        ),
    ),
    "loading.persistent": AdviceWords(
        title=N_("Keep the loader's processes from epoch to epoch"),
        action=N_("Set persistent_workers=True for {workload}."),
        why=(
            N_(
                "A new epoch begins with its first batch after {restart_s:s}, with processes that live on after "
                "{kept_s:s}; an epoch takes {epoch_s:s}."
            ),
        ),
    ),
    "loading.starved": AdviceWords(
        title=N_("The loader is slower than the training"),
        action=N_(
            "Make samples of {workload} cheaper (smaller files, decoding once and keeping the result, transforms on "
            "the card) or give the machine more cores; no setting of the loader makes up for it."
        ),
        why=(
            N_("The training waits for {lost:fraction} of its own rate, {demand:samples/s}."),
            N_("The best setting alone delivers {supply:samples/s}, with {workers} processes."),
        ),
    ),
    "loading.waits": AdviceWords(
        title=N_("The loader waits for its files"),
        action=N_(
            "Let the files of {workload} be read faster: from a local or faster disk, in larger pieces, or from memory."
        ),
        why=(
            N_("The training waits for {lost:fraction} of its own rate, {demand:samples/s}."),
            N_("{workers} processes deliver {supply:samples/s} and keep {busy} cores busy: for the rest they wait."),
        ),
    ),
    "loading.contended": AdviceWords(
        title=N_("Loader and training get in each other's way"),
        action=N_(
            "Split the processor between the training of {workload} and its loader: fewer threads, fewer processes, "
            "and nothing else on the machine."
        ),
        why=(
            N_(
                "The loader alone delivers {supply:samples/s}, more than the {demand:samples/s} that the training "
                "could eat, but together they reach {rate:samples/s}: the processor's cores are shared, not the card."
            ),
            N_(
                "The training computes with {threads} threads beside {threads_workers} processes, on {threads_cores} "
                "cores."
            ),
        ),
    ),
    "loading.shared_memory": AdviceWords(
        title=N_("Too little shared memory for the loader"),
        action=N_("Give the container more shared memory (--shm-size, or --ipc=host)."),
        why=(
            N_("{needs_bytes:bytes} of it are needed by {loader}; {free_bytes:bytes} are free."),
            N_("Processes that find no room die of a bus error."),
            N_("As many processes as there are cores need {wanted_bytes:bytes}."),
        ),
    ),
    "loading.host_memory": AdviceWords(
        title=N_("Too little memory for more loader processes"),
        action=N_(
            "Make the data set's own memory smaller (arrays instead of lists of objects), or use fewer processes."
        ),
        why=(N_("{needs_bytes:bytes} are needed by {loader}; {free_bytes:bytes} are available."),),
    ),
    "loading.one_core": AdviceWords(
        title=N_("The loader's processes are confined to one core"),
        action=N_("Let them run on all {cores} cores: a library, a container or the job's start pinned them."),
        why=(
            N_("Each may run on 1 of {cores} cores, so that it is not the loader that does not scale."),
            N_("{few} processes deliver {few_rate:samples/s}, {many} deliver {many_rate:samples/s}."),
        ),
    ),
    "loading.threads": AdviceWords(
        title=N_("Loader processes with several threads each"),
        action=N_("Let each process of the loader compute with one thread."),
        why=(
            N_("{workers} processes kept {busy} of {cores} cores busy."),
            N_("For {waits:fraction} of the time in which they could run they waited for a core."),
        ),
    ),
}
