# pyright: standard
"""Collects one tick of one card: values in gputuner's units, and reasons for what is missing."""

from typing import Any

from gputuner.devices.nvml.card import Asker
from gputuner.devices.nvml.errors import Failed, reason_of
from gputuner.devices.nvml.plausible import Kind
from gputuner.model.quantities import Quantity
from gputuner.model.readings import Reason


class Tick:
    """What was read of a card so far in this tick."""

    __slots__ = ("asker", "missing", "values")

    def __init__(
        self, asker: Asker, values: dict[Quantity, float] | None = None, missing: dict[Quantity, Reason] | None = None
    ) -> None:
        """Begin with what was read already, or nothing."""
        self.asker = asker
        self.values: dict[Quantity, float] = {} if values is None else values
        self.missing: dict[Quantity, Reason] = {} if missing is None else missing

    def put(self, quantity: Quantity, answer: Any, kind: Kind) -> None:
        """Keep an answer: a raw number, checked and converted, or ``Failed``."""
        if type(answer) is Failed:
            self.missing[quantity] = reason_of(answer.code)
            return
        value = kind.accept(answer)
        if value is None:
            self.asker.rejected += 1
            self.missing[quantity] = Reason.IMPLAUSIBLE
        else:
            self.values[quantity] = value

    def lack(self, reason: Reason, *quantities: Quantity) -> None:
        """Say why ``quantities`` are missing."""
        for quantity in quantities:
            self.missing[quantity] = reason

    def attribute(self, quantity: Quantity, answer: Any, member: str, kind: Kind) -> None:
        """Keep one member of a structure."""
        self.put(quantity, answer if type(answer) is Failed else getattr(answer, member), kind)
