"""Where the time of a training goes, in words."""

from gputuner.language.words import N_

CAUSES: dict[str, str] = {
    "data": N_("waiting for data"),
    "host_launch": N_("the host, launching work"),
    "host_other": N_("other work of the host"),
    "idle": N_("waiting for something else"),
    "compute": N_("computing"),
    "memory_capacity": N_("too little memory"),
    "memory_bandwidth": N_("reading and writing memory"),
    "card_busy": N_("the card at work"),
    "power": N_("the power limit"),
    "heat": N_("heat"),
    "shared": N_("others at the same time"),
    "unknown": N_("not known"),
}
"""Where the time of a training goes, for a table."""
