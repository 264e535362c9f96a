"""Whether settings of cards were left changed by a helper that was killed. Looks, changes nothing."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from gputuner.devices.control_journal import Journal, moment_now
from gputuner.devices.helper import ROOT_FOLDER, state_folder
from gputuner.language.control import setting_name
from gputuner.model.errors import UsageError
from gputuner.model.findings import Finding, Level


def examine_control() -> Iterator[Finding]:
    """A finding if something waits for the next helper to put it back."""
    folders: set[Path] = {ROOT_FOLDER}
    with suppress(UsageError):  # no home folder: only root's can be there
        folders.add(state_folder())
    boot = moment_now().boot
    left = [entry for folder in folders for page in Journal(folder).abandoned(boot) for entry in page.entries]
    if left:
        names = ", ".join(dict.fromkeys(setting_name(entry.setting) for entry in left))
        yield Finding(code="settings_left", level=Level.NOTE, params={"settings": names})
