"""What a run stands on, made anew for each: real cards, simulated ones, or a recording."""

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from gputuner.assembly.children import child_command
from gputuner.assembly.control import How, open_control, simulated_control
from gputuner.catalog import Catalog
from gputuner.devices.host_facts import host_fingerprint
from gputuner.engine.mps import Mps, OwnMps
from gputuner.engine.mps_ground import obstacle
from gputuner.engine.replayed import ReplayedStage
from gputuner.engine.simulated import SimulatedStage, SimulatedTrials
from gputuner.engine.stage import Stage, WallStage
from gputuner.model.cards import CardInfo
from gputuner.model.fingerprint import HostFingerprint
from gputuner.telemetry.feed import Feed
from gputuner.telemetry.rates import Rates
from gputuner.telemetry.replayed import ReplayFeed
from gputuner.workloads.launch import command_environment, kernels_command, worker_command, worker_environment

Host = Callable[[], HostFingerprint]


def host_of(data_dir: Path) -> Host:
    """The host's facts, read when asked."""
    return lambda: host_fingerprint(data_dir)


def wall_stage(
    feed: Feed,
    python: str | None,
    rates: Rates,
    host: Host,
    device_uuid: Callable[[CardInfo], str],
    rights: How = "auto",
) -> Stage:
    """Real cards, watched by ``feed``, worked by child processes of the interpreter ``python``.

    ``device_uuid`` names what a worker is to see of a card: the card itself, or one of its MIG instances.
    ``rights``: whose a plan has that changes settings.
    """
    interpreter = python or sys.executable

    def command(card: CardInfo, cap_bytes: int | None) -> list[str]:
        return worker_command(interpreter, "cpu" if card.is_cpu else "cuda", cap_bytes)

    def mps(card: CardInfo, data_dir: Path | None) -> Mps | str:
        return obstacle(card, host()) or OwnMps(device_uuid(card), data_dir, child_command())

    stage = WallStage(
        feed,
        host=host,
        command=command,
        environment=lambda card, probe: worker_environment(device_uuid(card), os.environ, memory_probe=probe),
        sampling_hz=rates.fast_hz,
        mps=mps,
        kernels_command=lambda card, cap_bytes: kernels_command(child_command(), cap_bytes),
        commanded=(
            [*child_command(), "--commanded"],
            lambda card: command_environment(device_uuid(card), os.environ),
        ),
    )
    stage.open_control = lambda: open_control(how=rights)
    return stage


def simulated_stage(
    ids: Sequence[str], rates: Rates, seed: int, host: Host, catalog: Catalog | None = None
) -> SimulatedStage:
    """Cards of the catalogue (default: the one shipped) on a clock of their own."""
    from gputuner.devices.simulated import SimulatedCards, SimulatedClock
    from gputuner.workloads.simulated import SimulatedWorker
    from gputuner.workloads.simulated_streams import SimulatedStreams
    from gputuner.workloads.simulated_together import SimulatedTogether

    clock = SimulatedClock()
    cards = SimulatedCards(ids, clock, seed=seed, catalog=catalog)

    def worker(worker_id: str, uuid: str, cap_bytes: int | None, peers: tuple[str, ...]) -> SimulatedTrials:
        own = cards.card(uuid)
        alone = SimulatedWorker(own, seed=seed, worker_id=worker_id, memory_cap_bytes=cap_bytes)
        if peers:
            return SimulatedTogether(alone, worker_id, own, [cards.card(peer) for peer in peers])
        return SimulatedStreams(alone, worker_id, own, seed)

    stage = SimulatedStage(clock, cards, worker, host, rates.fast_hz)
    stage.open_control = lambda: simulated_control(cards)
    return stage


def replayed_stage(feed: ReplayFeed) -> Stage:
    """A recording that plays once."""
    return ReplayedStage(feed)
