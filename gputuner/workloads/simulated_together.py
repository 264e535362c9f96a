"""A simulated worker that sees further cards: what it does to its own card it does to each of them.

Copies between cards and all-reduce load the cards alike, so the further cards carry the load of the first.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from gputuner.devices.simulated_card import SimulatedCard
from gputuner.devices.simulated_load import Load
from gputuner.model.samples import ProcessOnCard
from gputuner.workloads.simulated import SimulatedWorker
from gputuner.workloads.simulated_build import Message


class SimulatedTogether:
    """Speaks as the worker of the first card; the others follow that card whenever the worker has done something."""

    def __init__(
        self, worker: SimulatedWorker, worker_id: str, own: SimulatedCard, peers: Sequence[SimulatedCard]
    ) -> None:
        """``worker`` is one of ``own``."""
        self._worker = worker
        self._id = worker_id
        self._own = own
        self._peers = tuple(peers)
        self._shown: tuple[Load | None, ProcessOnCard | None] = (None, None)

    def request(self, message: Mapping[str, Any]) -> None:
        """Take one request at the card's present time."""
        self._worker.request(message)
        self._follow()

    def next_event_ns(self) -> int | None:
        """When something will happen next; None: not before it is asked."""
        return self._worker.next_event_ns()

    def step(self, until_ns: int) -> list[tuple[int, Message]]:
        """Live until ``until_ns``; the messages sent up to then, with their times."""
        told = self._worker.step(until_ns)
        self._follow()
        return told

    def _follow(self) -> None:
        present = (self._own.physics.loads.get(self._id), self._own.process(self._id))
        if present == self._shown:
            return
        self._shown = present
        for peer in self._peers:
            peer.advance_to(self._own.now_ns)
            peer.set_load(self._id, present[0])
            peer.set_process(self._id, present[1])
