"""What ``doctor`` finds, in words: how it stands, and the remedy where there is something to do."""

from dataclasses import dataclass

from gputuner.language.filling import fill
from gputuner.language.warnings import warning
from gputuner.language.words import N_, NN_
from gputuner.model.findings import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingWords:
    """How a thing stands, and what to do (empty: nothing)."""

    what: str
    remedy: str = ""


FINDINGS: dict[str, FindingWords] = {
    "settings_left": FindingWords(
        what=N_("A gputuner that died has left settings of a card changed ({settings})."),
        remedy=N_("Put them back: gputuner --cli control show --with sudo"),
    ),
    "mps_fine": FindingWords(what=N_("Jobs can share a card side by side: MPS can be started when asked for.")),
    "mps_absent_not_linux": FindingWords(
        what=N_("Jobs that share a card alternate in time slices: MPS is of Linux alone.")
    ),
    "mps_absent_wsl": FindingWords(what=N_("Jobs that share a card alternate in time slices: WSL has no MPS.")),
    "mps_absent_before_volta": FindingWords(
        what=N_("Jobs that share a card alternate in time slices: MPS is not used on cards before Volta.")
    ),
    "mps_absent_program_missing": FindingWords(
        what=N_("Jobs that share a card alternate in time slices: there is no nvidia-cuda-mps-control for MPS."),
        remedy=N_("It comes with the driver's compute utilities (Debian, Ubuntu: nvidia-compute-utils-VERSION)."),
    ),
    "mps_absent_program_missing_in_container": FindingWords(
        what=N_("Jobs that share a card alternate in time slices: this container has no nvidia-cuda-mps-control."),
        remedy=N_("Start it with NVIDIA_DRIVER_CAPABILITIES that include compute and utility."),
    ),
    "mps_users": FindingWords(
        what=N_("An MPS daemon of yours seems to run ({path}); what is measured runs past it unless you say otherwise.")
    ),
    "compute_mode_exclusive": FindingWords(
        what=N_("{card} is in compute mode {mode}: no second process gets a context there."),
        remedy=N_("`nvidia-smi -c 0` (as administrator) lets several in."),
    ),
    "driver_fine": FindingWords(
        what=NN_(
            "Driver {driver} (CUDA {cuda}) answers for {cards} card.",
            "Driver {driver} (CUDA {cuda}) answers for {cards} cards.",
            "cards",
        )
    ),
    "driver_missing": FindingWords(
        what=N_("The NVIDIA driver is not installed; only the processor can be measured."),
        remedy=N_("Install the NVIDIA driver if this machine has a card of theirs."),
    ),
    "driver_mismatch": FindingWords(
        what=N_("The driver's library and its kernel module have different versions."),
        remedy=N_("Restart the machine, so that both come from the same driver."),
    ),
    "nvml_impostor": FindingWords(
        what=N_("The module pynvml at {path} is not NVIDIA's."),
        remedy=N_("Uninstall the package it came from, then `pip install --force-reinstall nvidia-ml-py`."),
    ),
    "interpreter_forbidden": FindingWords(
        what=N_("Your user may not run {path}, the Python that gputuner itself runs with."),
        remedy=N_("Install gputuner where your user may run it."),
    ),
    "nvml_no_permission": FindingWords(
        what=N_("Your user may not open the card's device files ({path})."),
        remedy=N_("Add the user to the group that owns them (often `video` or `render`), then log in anew."),
    ),
    "torch_fine": FindingWords(what=N_("torch {torch} (CUDA {cuda}) in {interpreter} suits driver and card.")),
    "torch_cpu_build": FindingWords(
        what=N_("torch {torch} in {interpreter} is a build without CUDA; it cannot use the card."),
        remedy=N_("Install a CUDA build of torch there, or name another Python with --python."),
    ),
    "torch_processor": FindingWords(what=N_("torch {torch} in {interpreter} can measure the processor.")),
    "torch_missing": FindingWords(
        what=N_("{interpreter} has no torch; nothing can be measured with it."),
        remedy=N_("Install torch there, or name a Python that has it with --python."),
    ),
    "python_missing": FindingWords(
        what=N_("There is no interpreter {interpreter}; nothing can be measured with it."),
        remedy=N_("Check the path after --python."),
    ),
    "python_not_executable": FindingWords(
        what=N_("{interpreter} cannot be run."),
        remedy=N_("Name a Python after --python, and give your user the right to run it."),
    ),
    "python_silent": FindingWords(
        what=N_("{interpreter} does not answer as a Python does; nothing can be measured with it."),
        remedy=N_("Name a Python after --python."),
    ),
    "torch_too_old": FindingWords(
        what=N_("torch {torch} is older than 2.4."),
        remedy=N_("Update torch, or name another Python with --python."),
    ),
    "driver_too_old_for_torch": FindingWords(
        what=N_("torch was built for CUDA {torch_cuda}, but the driver offers CUDA {driver_cuda}."),
        remedy=N_("Update the driver, or name a Python with a build of torch for an older CUDA with --python."),
    ),
    "no_kernels_for_card": FindingWords(
        what=N_("torch {torch} has no kernels for {card} (compute capability {capability})."),
        remedy=N_(
            "Name a Python whose torch was built for this card with --python; builds for CUDA 12 know older cards."
        ),
    ),
    "qt_fine": FindingWords(what=N_("The window can open.")),
    "no_display": FindingWords(
        what=N_("There is no display to open the window on."),
        remedy=N_("Over ssh, `ssh -X` brings one; `gputuner --cli` works without."),
    ),
    "display_silent": FindingWords(
        what=N_("The display {display} does not answer, so the window cannot open."),
        remedy=N_("Over ssh, `ssh -X` brings one; `gputuner --cli` works without."),
    ),
    "qt_missing": FindingWords(
        what=N_("PySide6 is not installed; there is no window, only this command line."),
        remedy=N_("Install PySide6-Essentials for the window."),
    ),
    "qt_libraries_missing": FindingWords(
        what=N_("System libraries of the window are missing: {libraries}."),
        remedy=N_("Install them: {command}"),
    ),
    "data_dir_fine": FindingWords(what=N_("Sessions are kept in {path}; {free:bytes} are free there.")),
    "data_dir_unwritable": FindingWords(
        what=N_("Nothing can be written to {path}."),
        remedy=N_("Choose another folder with --data-dir, or give your user the right to write there."),
    ),
    "disk_nearly_full": FindingWords(
        what=N_("Only {free:bytes} are free at {path}."),
        remedy=N_("Make room, or choose another folder with --data-dir."),
    ),
    "governor_slow": FindingWords(
        what=N_("The processor's frequency governor is {governor}; short steps wait for the processor."),
        remedy=N_("While you measure: `sudo cpupower frequency-set -g performance`."),
    ),
    "cgroup_quota": FindingWords(
        what=N_("This process may use {cores} processor cores only; data loading and short steps suffer."),
        remedy=N_("Raise the container's processor quota if the figures should be those of the whole machine."),
    ),
    "host_fine": FindingWords(what=N_("The processor is not held back by a governor or a quota.")),
    "host_loaded": FindingWords(
        what=N_("The machine is busy (load {load}); figures will scatter."),
        remedy=N_("Measure when it is quiet."),
    ),
    "virtual": FindingWords(
        what=N_("This is a virtual machine or WSL; some readings are missing and short steps are slower."),
    ),
    "cjk_font_missing": FindingWords(
        what=N_("No font for Chinese was found; the window would show boxes in Chinese."),
        remedy=N_("Install one, for example the package fonts-wqy-microhei."),
    ),
}


def finding(entry: Finding) -> str:
    """How it stands."""
    words = FINDINGS.get(entry.code)
    return fill(words.what, entry.params) if words else warning(entry.code, entry.params)


def remedy(entry: Finding) -> str:
    """What to do; empty where nothing is to be done."""
    words = FINDINGS.get(entry.code)
    return fill(words.remedy, entry.params) if words else ""
