"""Words of settings that can be changed: their names and values, what is refused, and what happened by itself."""

from collections.abc import Mapping

from gputuner.language import numbers
from gputuner.language.filling import fill
from gputuner.language.words import N_, NN_, _
from gputuner.model.control import LOCKS, UNITS, Setting, Told, Value

NAMES: dict[Setting, str] = {
    Setting.POWER_LIMIT: N_("power limit"),
    Setting.SM_CLOCK_LOCK: N_("lock of the core clock"),
    Setting.MEMORY_CLOCK_LOCK: N_("lock of the memory clock"),
    Setting.CORE_OFFSET: N_("offset of the core clock"),
    Setting.MEMORY_OFFSET: N_("offset of the memory clock"),
    Setting.FAN: N_("fan speed"),
}
ERRORS: dict[str, str] = {
    "control_out_of_range": N_(
        "{setting}: {value} is outside of what this card takes, {low} to {high}. Nothing was set."
    ),
    "control_lock_order": N_("{setting}: the lowest clock comes first, as in 300,1500. Nothing was set."),
    "control_value": N_("{setting} cannot take this value. Nothing was set."),
    "control_value_words": N_("{value} is no value for {what}; it takes {expected}."),
    "control_setting_unknown": N_("There is no setting {what}; there are {known}."),
    "control_range_unknown": N_("This card does not tell the range of its {setting}, so it is not touched."),
    "control_unreadable": N_("The {setting} cannot be read now, so it could not be put back; it is not touched."),
    "control_not_supported": N_("This card or its driver does not let the {setting} be set."),
    "control_not_supported:power_limit": N_(
        "This card does not let its power limit be set (usual for laptops). What else lowers heat and draw: "
        "`control set lock-clocks MIN,MAX`, better airflow, a smaller batch."
    ),
    "control_driver_too_old": N_("The driver is too old to set the {setting}; update it."),
    "control_no_permission": N_(
        "Your user may not set the {setting}; nothing was changed. Run the same command with --with sudo (also over "
        "SSH) or --with pkexec, or install the service (docs/control.md)."
    ),
    "control_reset_rights": N_(
        "What gputuner changed was noted by a helper with more rights than this one; run the same command with --with "
        "sudo or --with pkexec."
    ),
    "control_not_let": N_("{program} did not let the helper start, so nothing was changed: {message}"),
    "control_no_helper": N_("The helper that sets could not start ({program}): {message}"),
    "control_helper_gone": N_(
        "The helper that sets has died ({message}). What it had set and not kept is put back by the next "
        "`gputuner --cli control show` with the same rights."
    ),
    "control_helper_silent": N_(
        "The helper has not answered for {seconds:s}; the driver may hang. It puts back what it holds once it can."
    ),
    "control_busy": N_("Process {pid} changes settings of this card now; wait until it has ended."),
    "control_folder_foreign": N_(
        "Nothing was set: others than root can change {part}, so the journal for putting things back is not safe in "
        "{path}. Leave STATE_DIRECTORY out, or name a folder that only root can write."
    ),
    "control_journal": N_("Nothing was set, because the journal for putting it back cannot be written: {message}"),
    "control_mismatch": N_(
        "The {setting} was set to {wanted}, but the card shows {shows}. It does not follow; what was found is back."
    ),
    "control_left_changed": N_(
        "The {setting} could neither be set nor put back to {value}: {message}. It is tried again until gputuner ends, "
        "and at the next start of the helper; look at `control show`."
    ),
    "control_journal_late": N_(
        "The {setting} was set, but the journal could not be written afterwards ({message}). What was found is back."
    ),
    "control_not_held": N_(
        "The {setting} is no longer held: its time was over, or another program changed it. Nothing is kept; set it "
        "again."
    ),
    "control_refused": N_("The driver refused to set the {setting} (NVML error {nvml_code}); nothing was changed."),
    "control_lock_unread": N_(
        "No driver tells what the clocks are locked to. If another program has locked them, that would be lost: say "
        "--yes to go on."
    ),
    "control_default_takes": N_(
        "Setting the card's own values also ends what other programs have set by hand (locks of clocks, which no "
        "driver tells, and fans): say --yes to go on."
    ),
    "control_fan_taken": N_(
        "Another program has set the fans by hand, and they would be automatic afterwards: say --yes to go on."
    ),
    "control_fan_unsafe": N_(
        "The temperature cannot be read, or is close to where the card slows itself down; the fans stay automatic."
    ),
    "control_fan_kept": N_("A fan is never left at a fixed speed without anyone watching the temperature."),
    "control_no_card": N_("The helper does not see this card."),
    "control_total_low": NN_(
        "{total} W are too little for {n} card: its lowest limit is {low} W, its default {high} W. Nothing was set.",
        "{total} W are too little for {n} cards: their lowest limits add up to {low} W, their defaults to {high} W. "
        "Nothing was set.",
        "n",
    ),
    "control_which_card": N_("There are several cards; name one with --gpu: {known}."),
    "control_needs_yes": N_(
        "Without a terminal nobody can confirm: add --yes to keep the setting, or --for SECONDS to have it put back."
    ),
    "control_malformed": N_("The helper did not understand the request; are both of the same version?"),
    "control_bug": N_("The helper has a bug; nothing was changed that it does not put back."),
    "control_not_offered": N_("Settings belong to NVIDIA cards; neither the processor nor a replay has any."),
    "control_nothing_ours": N_(
        "gputuner has changed nothing here that stands. --default sets the card's own values instead."
    ),
}
TOLD: dict[str, str] = {
    "control_restored": N_("{card}: {setting} put back to {value}."),
    "control_time_over": N_("{card}: {setting} put back to {value}, its time was over."),
    "control_recovered": N_("{card}: {setting} put back to {value}; a gputuner that died had left it changed."),
    "control_recovered_lock": N_(
        "{card}: {setting} taken away; a gputuner that died had left it. If another program has locked the clocks "
        "since, that lock is gone too: no driver tells it."
    ),
    "control_recovery_busy": N_(
        "{card}: process {pid} changes settings of this card now, so it was not looked whether anything was left "
        "changed."
    ),
    "control_recovery_locked_out": N_(
        "{card}: what a gputuner that died had left changed could not be looked at: {message}."
    ),
    "control_helper_gone": N_(
        "{card}: the helper that sets died before it said that all is put back; the next one does what is left."
    ),
    "control_helper_silent": N_(
        "{card}: the helper has not ended for {seconds:s}, so it is not known whether all is put back; the driver may "
        "hang."
    ),
    "control_already_back": N_("{card}: {setting} had been left changed, but stands as it was found."),
    "control_dropped_boot": N_(
        "{card}: {setting} was set to {wrote} before the machine was started anew; that is gone, nothing is put back."
    ),
    "control_dropped_driver": N_(
        "{card}: {setting} was set to {wrote} before the driver was loaded anew; that is gone, nothing is put back."
    ),
    "control_dropped_changed": N_(
        "{card}: {setting} was set to {wrote} here, but is {shows} now. Somebody else changed it, so it is left alone."
    ),
    "control_drift": N_(
        "{card}: {setting} was set to {wrote} and is {shows} now: another program or the driver changed it. Left so."
    ),
    "control_fan_blind": N_("{card}: the temperature cannot be read, so the fans are automatic again."),
    "control_fan_hot": N_("{card}: close to its slowdown temperature, so the fans are automatic again."),
    "control_suspended": N_("{card}: the machine has slept; the driver may have forgotten the {setting}."),
    "control_restore_failed": N_(
        "{card}: {setting} could not be put back to {value}: {message}. The next start of the helper tries again."
    ),
    "control_journal_damaged": N_(
        "The journal {path} is damaged and was set aside; look at `control show` whether all is as it should be."
    ),
}


def setting_name(setting: Setting) -> str:
    """The setting in words."""
    return _(NAMES[setting])


def value_text(setting: Setting, value: Value) -> str:
    """A value with its unit: “300 W”, “300 to 1500 MHz”, “70 %”, “automatic”, “unlocked”."""
    if not value:
        return _("automatic") if setting is Setting.FAN else _("unlocked")
    if setting is Setting.FAN:
        return f"{100 * value[0]:.0f} %"
    unit = UNITS[setting]
    if len(value) == 2:
        return _("{low} to {high}").format(low=f"{value[0]:g}", high=f"{value[1]:g} {unit}")
    sign = "+" if value[0] and setting in (Setting.CORE_OFFSET, Setting.MEMORY_OFFSET) else ""
    return f"{value[0]:{sign}g} {unit}"


def range_text(setting: Setting, low: float | None, high: float | None) -> str:
    """What a card takes; a dash where it is not told."""
    if low is None or high is None:
        return numbers.MISSING
    if setting in LOCKS:
        return value_text(setting, (low, high))
    return _("{low} to {high}").format(low=value_text(setting, (low,)), high=value_text(setting, (high,)))


def named(params: Mapping[str, object]) -> dict[str, object]:
    """The params of a sentence with names and values in words."""
    setting = params.get("setting")
    if setting not in {s.value for s in Setting}:
        return dict(params)
    which = Setting(str(setting))
    words: dict[str, object] = {**params, "setting": setting_name(which)}
    for name in ("value", "wanted", "shows", "wrote", "found", "low", "high"):
        if name in params:
            words[name] = value_text(which, _parsed(params[name]))
    return words


def _parsed(told: object) -> Value:
    if isinstance(told, (int, float)):
        return (float(told),)
    return tuple(float(part) for part in str(told).split(",") if part)


def told(entry: Told, cards: Mapping[str, str]) -> str:
    """What happened by itself; ``cards``: their names by UUID."""
    params = {**entry.params, "setting": entry.setting.value if entry.setting else "", "card": cards.get(entry.card)}
    return fill(TOLD.get(entry.code, entry.code), named(params))
