"""Which cards there are, who reads them, and which of them an option means. Nothing starts before its first use."""

import os
import sys
import time
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from gputuner.assembly import feeds
from gputuner.assembly.visibility import Seen
from gputuner.devices.selection import ALL, select
from gputuner.engine.locks import CardMark
from gputuner.model.cards import CPU_CARD, CardInfo, CardState, Origin
from gputuner.model.errors import DeviceError, GputunerError, NoCard, NoPermission, UsageError
from gputuner.model.holders import WATCH
from gputuner.model.quantities import Quantity
from gputuner.sessions.library import SessionLibrary
from gputuner.telemetry.feed import Feed, FeedState, Notice
from gputuner.telemetry.joined import JoinedFeed
from gputuner.telemetry.rates import Rates

FIRST_SAMPLE_S = 10.0
NO_CARD_CODES = ("nvml_library_missing", "nvml_driver_not_loaded", "telemetry_no_cards")
"""There is no NVIDIA card that could be asked; any other trouble of the driver is told, never passed over."""


class Cards:
    """The cards of one program, with the feed that reads them. Close it."""

    def __init__(
        self, *, simulate: tuple[str, ...], replay: Path | None, data_dir: Path, rates: Rates, preferred: str | None
    ) -> None:
        """Keep the choice; nothing starts.

        Args:
            simulate: simulated cards of the catalogue, instead of real ones.
            replay: a stored session to play back instead.
            data_dir: where sessions and locks lie.
            rates: how often cards are read.
            preferred: UUID of the card that its owner likes best for experiments.
        """
        self._simulate, self._replay, self._data_dir, self._rates = simulate, replay, data_dir, rates
        self._preferred = preferred
        self._host_beside: Feed | None = None
        self._mark: CardMark | None = None

    @property
    def origin(self) -> Origin:
        """Measured, simulated or replayed."""
        if self._simulate:
            return Origin.SIMULATED
        return Origin.REPLAYED if self._replay else Origin.MEASURED

    @cached_property
    def main(self) -> Feed:
        """Telemetry of the cards without a processor that was named beside them."""
        if self._simulate:
            return feeds.simulated_feed(self._simulate, self._rates)
        if self._replay is not None:
            return feeds.replay_feed(SessionLibrary(self._data_dir).find(str(self._replay)))
        nvidia = feeds.nvidia_feed(self._rates)
        if nvidia.cards() or nvidia.status().code not in NO_CARD_CODES:
            self._mark = CardMark(self._data_dir, "", WATCH)
            return nvidia
        nvidia.close()
        return feeds.host_feed(self._rates)

    @property
    def feed(self) -> Feed:
        """Telemetry of all cards; starts with its first use."""
        return self.main if self._host_beside is None else JoinedFeed((self.main, self._host_beside))

    @property
    def _started(self) -> bool:
        return "main" in self.__dict__

    def all(self) -> tuple[CardInfo, ...]:
        """Every card as it stands; ``cpu`` only where there is no other, or it was named."""
        return self.feed.cards()

    def notices(self) -> tuple[Notice, ...]:
        """What the telemetry met that a reader must know, each once; starts nothing."""
        return self.main.status().notices if self._started else ()

    def own_cpu_s(self) -> float:
        """Processor time that the telemetry has used so far, in a process of its own."""
        return (self.main.status().own_cpu_s or 0.0) if self._started else 0.0

    def close(self) -> None:
        """Stop telemetry and its child; idempotent."""
        if self._started:
            self.main.close()
        if self._mark is not None:
            self._mark.release()
        if self._host_beside is not None:
            self._host_beside.close()

    def select(self, selection: str | None, *, for_experiment: bool) -> tuple[CardInfo, ...]:
        """The cards of ``--gpu``; without it all for viewing, and for an experiment the one that suits best.

        Experiments keep to ``CUDA_VISIBLE_DEVICES``; viewing shows every card.

        Raises:
            NoCard: there is none, or it is hidden.
            DeviceError: the driver does not answer.
            UsageError: the selection is empty, unknown or ambiguous.
        """
        entries = {entry.strip().lower() for entry in (selection or "").split(",")}
        if CPU_CARD in entries:
            self._with_host()
        cards = self.all()
        if not cards:
            raise self._no_cards()
        if selection is None:
            return (self._best(self._visible(cards, all_of_them=True)),) if for_experiment else cards
        if CPU_CARD in entries and not any(c.is_cpu for c in cards):
            code = "no_processor_simulated" if self._simulate else "no_processor_replayed"
            raise UsageError(code, f"there is no processor among the {self.origin.value} cards")
        if all(c.is_cpu for c in cards) and (named := entries - {CPU_CARD, ALL, ""}):
            raise NoCard("no_nvidia_card", "there is no NVIDIA card here", selector=", ".join(sorted(named)))
        uuids = select(selection, cards)
        chosen = tuple(c for uuid in uuids for c in cards if c.uuid == uuid)
        return self._visible(chosen, all_of_them=entries == {ALL}) if for_experiment else chosen

    def seen(self) -> Seen:
        """What ``CUDA_VISIBLE_DEVICES`` leaves to experiments; nothing is hidden on simulated and replayed cards.

        Raises:
            UsageError: an entry is the beginning of several UUIDs.
        """
        return Seen(os.environ if self.origin is Origin.MEASURED else {}, self.all())

    def beside(self, cards: Sequence[CardInfo]) -> tuple[CardInfo, ...]:
        """The other cards that programs may see."""
        chosen = {card.uuid for card in cards}
        others = tuple(card for card in self.all() if card.uuid not in chosen and not card.is_cpu)
        return self.seen().shown(others)

    def _visible(self, cards: tuple[CardInfo, ...], *, all_of_them: bool) -> tuple[CardInfo, ...]:
        """``cards``, without hidden ones where just all were meant and one is left."""
        seen = self.seen()
        shown = seen.shown(cards) if all_of_them else ()
        if not shown:
            seen.require(cards)
        return shown or cards

    def _with_host(self) -> None:
        wanted = self._host_beside is None and self.origin is Origin.MEASURED
        if wanted and not any(card.is_cpu for card in self.main.cards()):
            self._host_beside = feeds.host_feed(self._rates)

    def _no_cards(self) -> GputunerError:
        status = self.feed.status()
        if feeds.interpreter_forbidden(status):
            return NoPermission("interpreter_forbidden", f"{sys.executable} may not be run", path=sys.executable)
        if status.code and status.state is not FeedState.OK:
            params = {name: value for name, value in status.params.items() if name not in ("code", "text")}
            kind = NoPermission if status.code == "nvml_no_permission" else DeviceError
            return kind(status.code, str(status.params.get("text", status.code)), **params)
        if status.state is FeedState.STARTING:
            return DeviceError("telemetry_collector_hung", "the collector has not answered")
        return NoCard("no_cards", "no card was found")

    def _best(self, cards: Sequence[CardInfo]) -> CardInfo:
        """The user's preferred card, else the only one, else the idle one with most memory."""
        ready = [card for card in cards if card.state is CardState.READY] or list(cards)
        preferred = next((card for card in ready if card.uuid == self._preferred), None)
        if preferred is not None:
            return preferred
        if len(ready) > 1:
            self._await_samples()
        return max(ready, key=lambda card: (not self._busy(card), card.memory_total_bytes or 0, -card.index))

    def _busy(self, card: CardInfo) -> bool:
        processes = self.feed.processes(card.uuid)
        if processes is not None and any(p.compute for p in processes.processes):
            return True
        tick = self.feed.latest()
        sample = next((s for s in tick.samples if s.card == card.uuid), None) if tick else None
        return bool(sample and sample.values.get(Quantity.GPU_UTILISATION, 0.0) > 0.2)

    def _await_samples(self) -> None:
        until_s = time.monotonic() + FIRST_SAMPLE_S
        while self.feed.latest() is None and time.monotonic() < until_s:
            time.sleep(0.02)
