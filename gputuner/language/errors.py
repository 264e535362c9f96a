"""One sentence for each error: what happened, what it means, what to do."""

from collections.abc import Mapping

from gputuner.language.alerts import ERRORS as ALERTS
from gputuner.language.benchmarks import unavailable
from gputuner.language.contention_commands import ERRORS as COMMANDS
from gputuner.language.contention_words import ERRORS as CONTENTION
from gputuner.language.control import ERRORS as CONTROL
from gputuner.language.control import named as set_named
from gputuner.language.cooling import ERRORS as COOLING
from gputuner.language.driver import DRIVER, TELEMETRY
from gputuner.language.filling import fill
from gputuner.language.health import ERRORS as HEALTH
from gputuner.language.jobs import ERRORS as JOBS
from gputuner.language.power import ERRORS as POWER
from gputuner.language.supply import ERRORS as SUPPLY
from gputuner.language.wear import ERRORS as WEAR
from gputuner.language.words import N_
from gputuner.model.errors import GputunerError

_ENDINGS: dict[str, str] = {
    "cancelled": N_("Interrupted; what was measured is kept."),
    "cancelled_kept": N_("Interrupted; what was measured is kept: {path}"),
    "interrupted": N_("Interrupted; stored sessions are kept."),
    "cancelled_empty": N_("Interrupted before anything was measured; nothing is kept."),
    "timed_out": N_("The run took far longer than planned and was ended; what was measured is kept."),
    "bug": N_("This is a bug in gputuner; its details are in {path}."),
}

_USAGE: dict[str, str] = {
    "option_out_of_range": N_("{option} is {value}, but must lie between {low} and {high}{unit}."),
    "option_value": N_("{option} cannot be {value}; it takes {expected}."),
    "option_needs_value": N_("{option} needs a value after it."),
    "option_empty": N_("What stands after {option} is empty; give a value, or leave the option out."),
    "argument_empty": N_("One of the arguments is empty; give a value, or leave it out."),
    "option_repeated": N_("{option} was given more than once; give it once."),
    "option_unknown": N_("There is no option {option} here; see {help}."),
    "option_unknown_like": N_("There is no option {option} here; did you mean {like}?"),
    "option_before_command": N_("{option} comes before the command; options stand after the command's name."),
    "command_unknown": N_("There is no command {command}; there are {known}."),
    "argument_missing": N_("{argument} is missing; see {help}."),
    "argument_unexpected": N_("{argument} is one argument too many; see {help}."),
    "usage": N_("This command line cannot be understood: {message}"),
    "minutes_out_of_range": N_("The time budget is {value} minutes, but must lie between {low} and {high}."),
    "minutes_too_few": N_("--minutes {value} is too short; {least} is the least that measures something of these."),
    "no_benchmark_chosen": N_("No benchmark is chosen; tick at least one."),
    "duration_out_of_range": N_("The duration is {value} s, but must be above 0 and at most ten years."),
    "effective_batch_out_of_range": N_("The effective batch is {value}, but must lie between {low} and {high}."),
    "switch_unknown": N_("{name} cannot be {value}; it takes {known}."),
    "simulate_or_replay": N_("--simulate and --replay exclude each other; leave one out."),
    "numerics_fp32": N_("The other number formats are compared with FP32; name one of these: tf32, fp16 or bf16."),
    "options_exclude": N_("{first} and {second} exclude each other; leave one out."),
    "option_needs": N_("{option} goes with {other}; add that, or leave it out."),
    "option_needs_one": N_("{option} goes with one of these: {others}; add one, or leave it out."),
    "loading_no_loader": N_(
        "{workload} has no loader of its own: only {known} makes its samples from photographs. For any other training "
        "give a recipe with a loader or a data set (docs/recipes.md)."
    ),
    "selection_empty": N_("--gpu names no card; name one, or leave the option out."),
    "selection_ambiguous": N_("--gpu {selector} fits several cards ({matches}); give more of the UUID."),
    "selection_unknown": N_("--gpu {selector} names no card; there are: {known}."),
    "no_processor_simulated": N_(
        "There is no processor among the simulated cards, so --gpu cpu names none; leave it out."
    ),
    "no_processor_replayed": N_("There is no processor in what is replayed, so --gpu cpu names none; leave it out."),
    "visible_ambiguous": N_("CUDA_VISIBLE_DEVICES: {entry} fits several cards ({matches}); give more of the UUID."),
    "unknown_card": N_(
        "The catalogue has no card {card}; close to it are: {nearest} (resources/gpus.toml lists all {count})."
    ),
    "unknown_card:alone": N_(
        "The catalogue has no card {card}; its ids look like rtx-4090-48g (resources/gpus.toml lists all {count})."
    ),
    "unknown_benchmark": N_("There is no benchmark {benchmark}; close to it are: {nearest} (see bench --list)."),
    "unknown_benchmark:alone": N_("There is no benchmark {benchmark}; see gputuner --cli bench --list."),
    "against_other_card": N_(
        "Session {session} is of {other}, not of {card}; only the same card can have become worse."
    ),
    "against_not_measured": N_(
        "Session {session} has figures of {measured}, none of {names}; choose benchmarks that it has."
    ),
    "unknown_fault": N_("There is no fault {fault}; there are {known}."),
    "unknown_argument": N_("There is no argument {argument} here."),
    "rate_out_of_range": N_("The sampling rate must lie above 0 and at most at {most} Hz."),
    "value_out_of_range": N_("{name} is {value}, but must lie between {low} and {high}."),
    "replay_speed": N_("The speed of a replay must be above zero."),
    "replay_no_experiment": N_(
        "An experiment cannot run on a replay, which cannot be put under load; leave --replay out."
    ),
    "no_display": N_(
        "There is no display to open the window on; `gputuner --cli` works without one, and over ssh `ssh -X` brings "
        "one."
    ),
    "display_silent": N_(
        "The display {display} does not answer, so the window cannot open; `gputuner --cli` works without one, and "
        "over ssh `ssh -X` brings one."
    ),
    "home_unknown": N_(
        "Your home folder is not known (HOME is not set), so there is no place for sessions; name one with --data-dir."
    ),
    "export_form_differs": N_(
        "--format is {form}, but --out ends in {ending}; leave --format out, or give the file another ending."
    ),
    "dry_run_no_experiment": N_("--dry-run is for experiments such as tune; this command measures nothing."),
}

_COMMANDS: dict[str, str] = {
    "watch_no_command": N_("There is nothing to watch; write the command after --, as in: watch -- python train.py"),
    "watch_no_dashes": N_(
        "Write -- before the command, so that its options are told from ours: gputuner --cli watch -- python train.py"
    ),
    "watch_before_dashes": N_("{what} stood before --: only options of watch may stand there."),
    "watch_real_only": N_("A command runs on real cards, so {option} has no place here; leave it out."),
    "watch_line": N_("This command line cannot be read: a quotation mark is not closed."),
    "command_not_found": N_("The command {program} was not found; see its spelling and PATH."),
    "command_interpreter": N_("{program} cannot be run: the program that its first line names is not there."),
    "command_forbidden": N_("{program} cannot be run: it is no program, or your user may not run it (chmod +x)."),
    "command_no_program": N_("{program} cannot be run: it is no program, and has no first line that names one (#!)."),
    "command_failed": N_("{program} could not be started: {message}."),
    "command_folder": N_("There is no folder {path}, so the command was not started."),
    "command_output": N_("{path} cannot be written, so the command was not started."),
}

_CARDS: dict[str, str] = {
    "no_such_card": N_("There is no card {card} here; see what `gputuner --cli devices` lists."),
    "interpreter_forbidden": N_(
        "Your user may not run {path}, the Python that gputuner itself runs with, so its own processes cannot start; "
        "install gputuner where your user may run it."
    ),
    "no_cards": N_("No card was found; `gputuner --cli doctor` says why, and `--gpu cpu` measures the processor."),
    "no_nvidia_card": N_("There is no NVIDIA card here, so --gpu {selector} names none; --gpu cpu is the processor."),
    "benchmarks_unavailable": N_(
        "None of these benchmarks can run on this card ({benchmark} {why}); see bench --list."
    ),
    "benchmarks_failed": N_("No benchmark gave a figure ({benchmark}: {why})."),
    "benchmarks_lost": N_(
        "The measuring process was lost again and again, so the run was ended; what was measured is kept. The log of "
        "the system may say why."
    ),
    "card_busy": N_("{card} is in use by {processes}; wait until it is free, or add --share to measure beside it."),
    "running_elsewhere": N_("Another gputuner (process {pid}) uses this card now; wait until it has ended."),
    "card_asleep": N_("{card} sleeps and is not woken by watching; start something on it first, then try again."),
    "card_hidden": N_(
        "CUDA_VISIBLE_DEVICES is {value} and hides {card}; measure a card that it names, or unset it first."
    ),
    "visible_none": N_(
        "CUDA_VISIBLE_DEVICES is {value}, which hides every card; unset it first, or measure the processor with "
        "--gpu cpu."
    ),
    "visible_repeated": N_("CUDA_VISIBLE_DEVICES names {entry} twice, which hides every card; correct it first."),
    "visible_stops_at": N_(
        "CUDA_VISIBLE_DEVICES: {entry} is no card, so it and what follows ({ignored}) is hidden; correct it first."
    ),
    "card_lost": N_("{card} has fallen off the bus; the machine must be restarted before it can be used again."),
}

_WORKER: dict[str, str] = {
    "torch_missing": N_(
        "The Python that is to be measured has no torch; install it there, or name another Python with --python."
    ),
    "python_too_old": N_("Python {python} is older than {least}; name a newer one with --python."),
    "torch_broken": N_("torch does not load: {error}. Install it anew, or name another Python with --python."),
    "torch_too_old": N_("torch {torch} is older than {least}; update it, or name another Python with --python."),
    "no_kernels_for_card": N_(
        "This torch has no kernels for {card} (compute capability {capability}; it has {arch_list}); name a Python "
        "with another build of torch with --python."
    ),
    "driver_too_old_for_kernels": N_(
        "Our own kernels are compiled for CUDA {nvrtc_cuda}, but the driver offers {driver_cuda}; update the driver."
    ),
    "extra_missing": N_("The extra {extra} is missing; install it with: pip install 'gputuner[{extra}]'."),
    "driver_too_old_for_torch": N_(
        "This torch needs CUDA {torch_cuda}, but the driver offers {driver_cuda}; update the driver, or name a Python "
        "with a build for an older CUDA with --python."
    ),
    "cuda_unavailable": N_(
        "torch cannot use a card here: {message}. `gputuner --cli doctor` says what stands in the way."
    ),
    "worker_start_failed": N_("The measuring process could not start: {message}. Check --python."),
    "python_missing": N_("There is no {interpreter}; --python takes the path of a Python interpreter."),
    "python_not_executable": N_("{interpreter} cannot be run; --python takes the path of a Python interpreter."),
    "worker_start_timeout": N_("The measuring process did not start within {seconds:s}; is the machine overloaded?"),
    "operation_unknown": N_("There is no memory operation {operation}; there are read, write, copy, scale and triad."),
    "workload_unknown": N_("There is no built-in training {workload}; there are {known}."),
    "recipe_malformed": N_("A recipe is named FILE.py:function or module:function, not {recipe}."),
    "recipe_missing": N_("Choose the file of your training, or name it as FILE.py:function or module:function."),
    "recipe_or_workload": N_("Name a built-in training or a recipe, not both."),
    "loading_does_not_fit": N_(
        "Nothing was measured: {workload} does not fit into the memory at batch {batch}; choose a smaller --batch-size."
    ),
    "nothing_fits": N_("Nothing was measured: not even one sample of {workload} fits into the memory."),
    "nothing_fits:needed": N_(
        "Nothing was measured: not even one sample of {workload} fits into the memory. It needs at least "
        "{needed_bytes:bytes}, and {free_bytes:bytes} were free."
    ),
    "training_failed": N_("Nothing was measured: {workload} ended with an error of its own.\n{where}"),
    "training_lost": N_("Nothing was measured: the process of the training was lost ({message})."),
    "recipe_simulated": N_(
        "Your own training runs on a real card or on the processor (--gpu cpu), not on a simulated card."
    ),
    "advice_unknown": N_("Session {session} has no advice {advice} to try; it has: {known}."),
    "advice_unknown:alone": N_("Session {session} has no advice {advice}, and none that could be tried."),
    "untried_keeps": N_(
        "“{title}” changes nothing, so there is nothing to try. What it rests on is measured again by: {command}"
    ),
    "untried_size": N_("“{title}” is about what fits, not about speed; this tries it out again: {command}"),
    "untried_card": N_(
        "“{title}” is about the card or something that you do yourself, which no training can try. Do it, then measure "
        "again and compare: {command}, then gputuner --cli sessions compare {session} NEW"
    ),
    "try_unknown": N_("This advice cannot be tried: it changes {what}, which this version cannot set."),
    "try_replayed": N_("Session {session} is a recording that was played back; it cannot be put under load."),
    "try_simulated": N_("Session {session} was made on a simulated card: add --simulate {card}."),
    "try_measured": N_("Session {session} was measured on a real card; leave --simulate out."),
    "try_card_missing": N_(
        "The advice of session {session} is for {card}, which is not here (here: {here}). To try it on another card "
        "all the same, name that with --gpu."
    ),
    "try_recipe_missing": N_(
        "There is no file {path} here. Go to the folder that the session was made in, or name it: --recipe "
        "FILE.py:function."
    ),
    "try_recipe_alone": N_("--recipe goes with --try."),
    "try_base_does_not_fit": N_(
        "{workload} at batch {batch}, where the advice starts from, does not fit in memory now; end what else holds it."
    ),
    "try_advised_does_not_fit": N_(
        "{workload} at batch {batch}, as advised, does not fit in memory now; end what else holds it, or measure again."
    ),
    "precision_unknown": N_("There is no precision {precision}; there are fp32, tf32, fp16 and bf16."),
}

_FILES: dict[str, str] = {
    "file_not_found": N_("There is no file {path}; check the path."),
    "no_session_file": N_("{path} is no session file; see what `gputuner --cli sessions list` shows."),
    "output_full": N_("The output cannot be written: no space is left where it goes; stored sessions are kept."),
    "output_closed": N_("The output is closed; give the command one, such as `> FILE`."),
    "output_failed": N_("The output cannot be written: {message}; stored sessions are kept."),
    "screenshots_unwritable": N_("No pictures can be written to {path}: {message}; name another folder."),
    "data_dir_no_folder": N_("{path} is not a folder; name a folder with --data-dir."),
    "file_unreadable": N_("{path} cannot be read: {message}"),
    "data_dir_unwritable": N_("Nothing can be written to {path}; choose another folder with --data-dir."),
    "store_full": N_("The disk that holds {path} is full; what was stored is kept. Make room, or use --data-dir."),
    "store_readonly": N_("{path} cannot be written (read-only or no permission); choose another with --data-dir."),
    "store_busy": N_("{path} is in use by another program; try again when that has ended."),
    "store_failed": N_("{path} could not be written or read: {message}"),
    "store_closed": N_("{path} is closed; nothing more can be written to it."),
    "store_out_of_order": N_("The session received its events in the wrong order; this is a bug in gputuner."),
    "against_nothing": N_("Session {session} holds no figure of a benchmark; nothing can be compared with it."),
    "session_unknown": N_("There is no session {session}; see what `gputuner --cli sessions list` shows."),
    "session_ambiguous": N_("{session} fits {n} sessions, such as {sessions}; give more of its name."),
    "session_record": N_(
        "{path} holds a damaged record and cannot be read to its end; other sessions are not affected. To be rid of "
        "it: gputuner --cli sessions delete {session}"
    ),
    "session_newer": N_(
        "{path} was written by a newer gputuner (format {found}, this one reads up to {supported}); update gputuner."
    ),
    "session_too_old": N_("{path} has the format {found}, which this gputuner no longer reads."),
    "session_empty": N_("{path} holds no run."),
    "session_exists": N_("{path} exists already."),
    "replay_empty": N_("There is no telemetry in this recording; nothing can be played back."),
    "catalog_malformed": N_("The catalogue of cards is damaged ({card}: {field}); install gputuner anew."),
    "published_malformed": N_("The published results in {file} are damaged; install gputuner anew."),
    "session_malformed": N_("{path} is not a session of gputuner, or it is damaged: {message}"),
    "session_in_use": N_("{session} is being written now; wait until its run has ended."),
    "no_sessions": N_("There is no session yet; `gputuner --cli tune` makes one."),
    "event_malformed": N_("A record of the session is damaged and cannot be read."),
    "record_malformed": N_("A record of the session is damaged and cannot be read."),
    "export_extra_missing": N_("Parquet needs the package pyarrow; install it, or export as csv or json."),
    "export_exists": N_("{path} exists already; name another file with --out."),
    "export_failed": N_("{path} cannot be written: {message}"),
    "preferences_newer": N_("{path} was written by a newer gputuner; update this one."),
    "preference_unknown": N_("There is no preference {key}."),
    "preference_value": N_("The preference {key} cannot be {value}."),
    "export_form": N_("There is no form {form}; there are csv, json and parquet."),
}

_TELEMETRY: dict[str, str] = TELEMETRY | {
    "telemetry_collector_crashed": N_(
        "The telemetry process has died (exit code {exit_code}); `gputuner --cli doctor` says what stands in the way."
    ),
    "telemetry_collector_hung": N_(
        "The driver did not answer; restart the machine if it happens again, or measure the processor with --gpu cpu."
    ),
}
"""As the end of a command, which nothing is started again after."""

_SAFETY: dict[str, str] = {
    "safety_card_lost": N_(
        "Stopped: the card fell off the bus while it was measured. What was measured is kept; restart the machine, "
        "and look at the power supply and its cables if it happens again."
    ),
    "safety_telemetry_silent": N_(
        "Stopped for safety: the card told nothing for {limit:s}; what was measured is kept."
    ),
    "safety_xid": N_("Stopped for safety: the driver reported the error XID {value}; look for it in the kernel's log."),
    "safety_core_hot": N_(
        "Stopped for safety: the core was {value:degC} from its slowdown temperature; look at the cooling."
    ),
    "safety_core_user_limit": N_("Stopped for safety: the core reached {value:degC}, your limit is {limit:degC}."),
    "safety_memory_hot": N_(
        "Stopped for safety: the memory reached {value:degC}; look at its pads and at the air flow."
    ),
    "safety_power_above_limit": N_("Stopped for safety: the card drew {value:W} although its limit is {limit:W}."),
    "safety_fan_stopped": N_(
        "Stopped for safety: a fan stood still while the core was at {value:degC}; check the fan."
    ),
}

_FURTHER_CARD = N_("{sentence} It was the card [{card_index}] {card}, which worked together with the run's own.")
"""After a stop for safety that another card than the run's own called for."""

# A key ending in ``:alone`` is for a list that turned out empty.
ERRORS: dict[str, str] = (
    _ENDINGS
    | _USAGE
    | _COMMANDS
    | _CARDS
    | _WORKER
    | _FILES
    | _SAFETY
    | DRIVER
    | _TELEMETRY
    | CONTENTION
    | COOLING
    | POWER
    | HEALTH
    | WEAR
    | SUPPLY
    | COMMANDS
    | JOBS
    | CONTROL
    | ALERTS
)


def error(entry: GputunerError | str, params: Mapping[str, object] | None = None, text: str = "") -> str:
    """The sentence for an error, or for a code with its values; the English text given where the code is unknown."""
    if isinstance(entry, GputunerError):
        return error(entry.code, entry.params, str(entry))
    given = params or {}
    alone = f"{entry}:alone"
    if alone in ERRORS and any(value == "" for value in given.values()):
        entry = alone
    if f"{entry}:needed" in ERRORS and "needed_bytes" in given:
        entry = f"{entry}:needed"
    if entry in CONTROL:
        entry = next((c for c in (f"{entry}:{given.get('setting')}",) if c in CONTROL), entry)
        given = set_named(given)
    if entry not in ERRORS:
        return text or entry
    if "benchmark" in given and "reason" in given:
        given = {**given, "why": unavailable(str(given["reason"]), given)}
    sentence = fill(ERRORS[entry], {"message": text, **given})
    if entry in _SAFETY and "card_index" in given:
        return fill(_FURTHER_CARD, {"sentence": sentence, **given})
    return sentence


def bug(path: str) -> str:
    """What to say when the program itself failed."""
    return error("bug", {"path": path})


def interrupted() -> str:
    """What to say after the user's interruption."""
    return error("interrupted")
