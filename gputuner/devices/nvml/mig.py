# pyright: standard
"""The MIG instances of a card: identity and memory of each."""

import re

from gputuner.devices.nvml.binding import text
from gputuner.devices.nvml.card import Asker
from gputuner.devices.nvml.errors import Failed
from gputuner.model.cards import MigInstance

_PROFILE = re.compile(r"\d+(?:c\.\d+)?g\.\d+gb\S*")


def instances(asker: Asker) -> tuple[MigInstance, ...]:
    """The MIG instances that can be seen now, in NVML's order."""
    at_most = asker.ask("nvmlDeviceGetMaxMigDeviceCount")
    if type(at_most) is Failed:
        return ()
    ask = asker.binding.ask
    found: list[MigInstance] = []
    for index in range(min(int(at_most), 64)):
        handle = ask("nvmlDeviceGetMigDeviceHandleByIndex", asker.handle, index)
        if type(handle) is Failed:
            continue
        uuid = ask("nvmlDeviceGetUUID", handle)
        if type(uuid) is Failed:
            continue
        name = ask("nvmlDeviceGetName", handle)
        memory = asker.binding.first(("nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetMemoryInfo"), handle)
        known = type(memory) is not Failed
        profile = None if type(name) is Failed else _PROFILE.search(text(name))
        found.append(
            MigInstance(
                uuid=text(uuid),
                profile=profile.group() if profile else None,
                memory_total_bytes=int(memory.total) if known else None,
                memory_used_bytes=int(memory.used) if known else None,
            )
        )
    return tuple(found)
