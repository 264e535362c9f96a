"""What a run says of the ways in which jobs share a card, and doctor of MPS."""

from collections.abc import Mapping

from gputuner.language.words import N_, NN_

_UNAVAILABLE: dict[str, str] = {
    "processor": N_("MPS is of NVIDIA cards; the jobs run as processes."),
    "not_linux": N_("MPS is of Linux alone; the jobs run as processes, whose contexts alternate."),
    "wsl": N_("WSL has no MPS; the jobs run as processes, whose contexts alternate."),
    "before_volta": N_(
        "On cards before Volta clients of MPS have no memory of their own, so it is not used; the jobs run as "
        "processes, whose contexts alternate."
    ),
    "program_missing": N_(
        "nvidia-cuda-mps-control is not installed (it comes with the driver's compute utilities); the jobs run as "
        "processes, whose contexts alternate."
    ),
    "program_missing_in_container": N_(
        "This container has no nvidia-cuda-mps-control; start it with NVIDIA_DRIVER_CAPABILITIES that include compute "
        "and utility. The jobs run as processes, whose contexts alternate."
    ),
    "no_users_daemon": N_(
        "No MPS daemon of yours runs where CUDA_MPS_PIPE_DIRECTORY points; the jobs run as processes, whose contexts "
        "alternate."
    ),
}
_NO_STREAMS: dict[str, str] = {
    "not_torch": N_("Only trainings of torch can be streams of one process; the jobs run as processes."),
    "other_environment": N_(
        "The jobs need different environment variables, so they cannot be one process; they run as processes."
    ),
    "several_cards": N_("Jobs that use several cards are no streams of one process; they run as processes."),
}
WARNINGS: dict[str, str] = {
    **{f"mps_unavailable:{reason}": words for reason, words in _UNAVAILABLE.items()},
    "mps_unavailable": N_("MPS cannot be had here ({reason}); the jobs run as processes, whose contexts alternate."),
    "mps_not_started": N_(
        "The MPS daemon does not start ({message}); the jobs run as processes, whose contexts alternate."
    ),
    "mps_refused": N_("The MPS daemon refuses ({message}); the jobs run as processes, whose contexts alternate."),
    "mps_cannot_connect": N_(
        "An MPS client cannot connect to its daemon ({message}); it was run again without MPS. A daemon of yours was "
        "neither started, stopped nor changed."
    ),
    "mps_not_clients": N_(
        "CUDA ran past the MPS daemon, so the jobs were no clients of it; they run as processes, whose contexts "
        "alternate."
    ),
    "mps_wedged": N_(
        "The MPS server no longer answers ({message}). Its clients and itself were ended; the jobs run as processes "
        "from here on."
    ),
    "mps_killed": N_("The MPS daemon did not quit and was killed."),
    "mps_stale": NN_(
        "An earlier run was killed and had left {daemons} MPS daemon, which was ended now.",
        "An earlier run was killed and had left {daemons} MPS daemons, which were ended now.",
        "daemons",
    ),
    "mps_users_daemon": N_(
        "An MPS daemon of yours runs. It was left alone: what is measured here runs past it, as without MPS."
    ),
    **{f"streams_unavailable:{reason}": words for reason, words in _NO_STREAMS.items()},
    "streams_unavailable": N_("The jobs cannot be streams of one process ({reason}); they run as processes."),
}


def particular(code: str, params: Mapping[str, object]) -> str:
    """The code with its reason where that has a sentence of its own."""
    with_reason = f"{code}:{params.get('reason', '')}"
    return with_reason if with_reason in WARNINGS else code
