"""Sentences for what the NVIDIA driver, its library and the telemetry can run into."""

from gputuner.language.words import N_

DRIVER: dict[str, str] = {
    "nvml_binding_missing": N_("The Python package nvidia-ml-py is missing; `pip install nvidia-ml-py` brings it."),
    "nvml_impostor": N_(
        "The module pynvml at {path} is not NVIDIA's; uninstall the package it came from, then install nvidia-ml-py."
    ),
    "nvml_library_missing": N_(
        "The NVIDIA driver is not installed (no libnvidia-ml.so.1); install it, or use the processor with --gpu cpu."
    ),
    "nvml_driver_not_loaded": N_(
        "The NVIDIA kernel module is not loaded; load it with `sudo modprobe nvidia`, or restart the machine."
    ),
    "nvml_driver_mismatch": N_(
        "The driver's files and the loaded kernel module differ in version, as after an update; restart the machine."
    ),
    "nvml_no_permission": N_(
        "Your user may not ask the NVIDIA driver; `gputuner --cli doctor` names the device files and the remedy."
    ),
    "nvml_gpu_lost": N_("The card {card} has fallen off the bus; restart the machine before it is used again."),
    "nvml_reset_required": N_("The card {card} must be reset: end all programs on it, then `sudo nvidia-smi -r`."),
    "nvml_not_supported": N_("The card or its driver does not offer this."),
    "nvml_driver_too_old": N_("The driver is too old for this; update it."),
    "nvml_insufficient_power": N_("A power cable of the card is missing or loose; switch off and plug all of them in."),
    "nvml_irq": N_("The kernel found a problem with the card's interrupts; restart, or seat the card anew."),
    "nvml_system_blocked": N_(
        "The system or the container blocks access to the card; start the container with access to GPUs."
    ),
    "nvml_timeout": N_("The NVIDIA driver did not answer in time; restart the machine if it happens again."),
    "nvml_host_memory": N_("The NVIDIA driver ran out of the machine's memory; end other programs."),
    "nvml_uninitialised": N_("The connection to the NVIDIA driver was lost; start again."),
    "nvml_inforom": N_("The card's infoROM is damaged; it works, but some settings and counters may be wrong."),
    "nvml_in_use": N_("Something else uses the card in a way that excludes this; end it first."),
    "nvml_unknown": N_("The NVIDIA driver gave the error {nvml_code}; restart the machine if it happens again."),
}

TELEMETRY: dict[str, str] = {
    "nvml_memory_includes_reserved": N_("With this driver, used memory includes what the driver reserves for itself."),
    "telemetry_call_hung": N_("A question to the card {card} has not come back; it is not asked again meanwhile."),
    "telemetry_call_hung_driver": N_("A question to the driver has not come back; it is not asked again meanwhile."),
    "telemetry_call_hung_named": N_(
        "A question to the card {card} ({function}) has not come back; it is not asked again meanwhile."
    ),
    "telemetry_call_hung_slow": N_(
        "A question about fans, links, limits and processes of the card {card} has not come back; its fast readings "
        "are asked for on their own."
    ),
    "telemetry_call_hung_slow_named": N_(
        "A question about fans, links, limits and processes of the card {card} ({function}) has not come back; its "
        "fast readings are asked for on their own."
    ),
    "telemetry_card_failing": N_("The card {card} answers with errors ({error}); it is asked less often."),
    "telemetry_card_found": N_("The card {card} is there again."),
    "telemetry_card_lost": N_("The card {card} has fallen off the bus."),
    "telemetry_card_recovered": N_("The card {card} answers again after {silent_s:s}."),
    "telemetry_collector_crashed": N_("The telemetry process died ({signal}) and is started again; the gap is kept."),
    "telemetry_collector_hung": N_("The driver did not answer; the telemetry process is started again."),
    "telemetry_collector_not_started": N_("The telemetry process could not be started: {error}."),
    "telemetry_collector_stuck_in_driver": N_(
        "The telemetry process is stuck in the driver and cannot be ended; restart the machine when you can."
    ),
    "telemetry_failing": N_("All cards answer with errors ({error}); they are asked again with growing pauses."),
    "telemetry_no_cards": N_("The driver works, but it knows no card."),
    "telemetry_values_rejected": N_("The driver gives impossible values of {card} ({quantities}); they are left out."),
    "telemetry_suspended": N_("The machine slept for {slept_s:s}; nothing was read meanwhile."),
}
