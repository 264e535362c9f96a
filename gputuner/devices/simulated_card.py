"""One simulated card: its physics on a clock, its memory, its processes and the faults that befall it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gputuner.catalog import Catalog
from gputuner.devices.simulated_faults import EXCLUSIVE, GLITCH_W, Fault
from gputuner.devices.simulated_identity import card_info
from gputuner.devices.simulated_load import Load, iteration_s
from gputuner.devices.simulated_models import derive
from gputuner.devices.simulated_physics import CardPhysics
from gputuner.devices.simulated_sensors import Sensors
from gputuner.devices.simulated_sharing import Mode
from gputuner.model.cards import CardInfo, CardState
from gputuner.model.errors import DeviceLost
from gputuner.model.quantities import QUANTITIES, Quantity, Tier
from gputuner.model.readings import Reading, Reason
from gputuner.model.samples import CardProcesses, ProcessOnCard, Sample, XidSeen

_FALLS_OFF = 79
"""XID 79: the card has fallen off the bus."""
_POWER = (Quantity.POWER_AVERAGE_W, Quantity.POWER_INSTANT_W)


class SimulatedCard:
    """A card of the catalogue that lives on a clock from ``start_ns`` on; moved by ``advance_to``."""

    def __init__(
        self, catalog: Catalog, card_id: str, index: int, start_ns: int, seed: int, faults: Sequence[Fault] = ()
    ) -> None:
        """A cold, idle card."""
        self.facts = catalog.card(card_id)
        self.model = derive(self.facts)
        self.index = index
        self.physics = CardPhysics(self.facts, self.model)
        mode = next((str(f.params.get("mode", EXCLUSIVE)) for f in faults if f.kind == "compute_mode"), "default")
        self.info = card_info(catalog, self.facts, self.model, index, self.physics.power_limit_w, mode)
        self.uuid = self.info.uuid
        self.lost_since_ns: int | None = None
        self.xids: list[XidSeen] = []
        self.rejected = 0
        """Impossible values that were not passed on."""
        self._sensors = Sensors(self.facts, self.physics, seed + 1000 * index)
        self._start_ns = self._now_ns = start_ns
        self._faults = tuple(faults)
        self._shut_down = False
        self._hung: list[Fault] = []
        self._told_xids: list[Fault] = []
        self._stuck: dict[Quantity, float] = {}
        self._processes: dict[str, ProcessOnCard] = {}
        self._apply_faults()

    # --- time -----------------------------------------------------------------------------------------------------

    @property
    def now_ns(self) -> int:
        """How far the card has been integrated."""
        return self._now_ns

    def advance_to(self, t_ns: int) -> None:
        """Integrate to ``t_ns``, stopping where a fault begins or ends; the past is ignored."""
        while self._now_ns < t_ns:
            until = min([t_ns, *(edge for edge in self._edges() if edge > self._now_ns)])
            self.physics.advance((until - self._now_ns) / 1e9)
            self._now_ns = until
            self._apply_faults()

    def _edges(self) -> list[int]:
        edges = [self._ns(f.t_s) for f in self._faults]
        return edges + [self._ns(f.t_s + f.duration_s) for f in self._faults if f.duration_s is not None]

    def _ns(self, t_s: float) -> int:
        return self._start_ns + int(t_s * 1e9)

    def _active(self, kind: str) -> list[Fault]:
        t_s = (self._now_ns - self._start_ns) / 1e9 + 1e-9
        return [f for f in self._faults if f.kind == kind and f.active(t_s)]

    def _apply_faults(self) -> None:
        self.physics.fan_stopped = bool(self._active("fan_stopped"))
        hot = self._active("overheat")
        self.physics.air_target_c = hot[0].number("air_c", 95) if hot else self.model.air_c
        self._shut_down = self._shut_down or self.physics.core_c >= self.model.shutdown_c
        lost = bool(self._active("lost")) or self._shut_down
        for fault in self._active("xid"):
            number = int(fault.number("xid", _FALLS_OFF))
            lost = lost or number == _FALLS_OFF
            if fault not in self._told_xids:
                self._told_xids.append(fault)
                self.xids.append(XidSeen(card=self.uuid, t_ns=self._now_ns, xid=number))
        if lost and self.lost_since_ns is None:
            self.lost_since_ns = self._now_ns
            self.physics.loads.clear()
        elif not lost:
            self.lost_since_ns = None

    def hang(self) -> float | None:
        """Seconds for which the next call hangs (each scripted hang is told once), or None."""
        for fault in self._active("hung"):
            if fault not in self._hung:
                self._hung.append(fault)
                return fault.duration_s or 30.0
        return None

    def faults_now(self, kind: str) -> tuple[Fault, ...]:
        """Faults of a kind that last now."""
        return tuple(self._active(kind))

    # --- load and memory ------------------------------------------------------------------------------------------

    def set_load(self, worker_id: str, load: Load | None) -> None:
        """Run (or stop running) a load from now on; iterations are counted in ``iterations``."""
        if load is None or self.lost_since_ns is not None:
            self.physics.loads.pop(worker_id, None)
        else:
            self.physics.loads[worker_id] = load
        self.physics.disturbed()

    def share_by(
        self, mode: Mode, thread_shares: Mapping[str, float] | None = None, priorities: Mapping[str, int] | None = None
    ) -> None:
        """Let the loads share the card in this way from now on; shares of the SMs and priorities by worker."""
        self.physics.sharing = replace(
            self.physics.sharing, mode=mode, thread_shares=thread_shares or {}, priorities=priorities or {}
        )
        self.physics.disturbed()

    def iterations(self, worker_id: str) -> float:
        """Iterations that a worker has done so far (fractions count)."""
        return self.physics.iterations.get(worker_id, 0.0)

    def iteration_s(self, load: Load) -> float:
        """Seconds that one iteration takes at the present clocks, alone on the card."""
        return iteration_s(load, self.sm_clock_hz(), self.physics.bandwidth * self.physics.memory_rate)

    def sm_clock_hz(self) -> float:
        """Effective SM clock now; while the card sleeps, the clock it would wake to."""
        awake = self.physics.settings.sm_clock_mhz(self.model.clock_max_mhz)
        return (awake if self.physics.asleep else self.physics.clock_mhz) * 1e6

    def set_process(self, worker_id: str, process: ProcessOnCard | None) -> None:
        """Show a process on the card and count its memory (None: it ended)."""
        if process is None:
            self._processes.pop(worker_id, None)
            self.physics.close_context(worker_id)
            return
        self._processes[worker_id] = process
        if process.compute and worker_id not in self.physics.contexts:
            self.physics.open_context(worker_id)

    def process(self, worker_id: str) -> ProcessOnCard | None:
        """The process that a worker shows on the card."""
        return self._processes.get(worker_id)

    def memory_bytes(self) -> tuple[int, int, int]:
        """Used by processes, reserved by the driver, free."""
        used = sum(p.memory_bytes or 0 for p in self._processes.values())
        reserved = self.model.reserved_bytes
        return used, reserved, max(0, self.facts.memory_total_mib * 2**20 - reserved - used)

    @property
    def free_bytes(self) -> int:
        """Memory that can still be allocated."""
        return self.memory_bytes()[2]

    def set_power_limit(self, watts: float) -> float:
        """Set the power cap within the card's own range; returns what was set."""
        limit = min(max(watts, self.model.power_limit_min_w), self.model.power_limit_max_w)
        self.physics.power_limit_w = limit
        self.physics.disturbed()
        readings = dict(self.info.readings)
        readings["power_limit_requested_w"] = readings["power_limit_enforced_w"] = Reading(value=limit, unit="W")
        self.info = replace(self.info, readings=readings)
        return limit

    # --- what is asked --------------------------------------------------------------------------------------------

    def present_info(self) -> CardInfo:
        """Identity with the present state and link."""
        if self.lost_since_ns is not None:
            return replace(self.info, state=CardState.LOST, lost_since_ns=self.lost_since_ns)
        generation = Reading(value=int(self._sensors.pcie_generation))
        return replace(self.info, readings=self.info.readings | {"pcie_generation": generation})

    def sample(self, tier: Tier, t_ns: int) -> Sample:
        """Read one tier at ``t_ns``.

        Raises:
            DeviceLost: the card is gone.
        """
        self.advance_to(t_ns)
        self._require()
        used, reserved, free = self.memory_bytes()
        counted: dict[Quantity, float] = {
            Quantity.MEMORY_USED_BYTES: used,
            Quantity.MEMORY_RESERVED_BYTES: reserved,
            Quantity.MEMORY_FREE_BYTES: free,
            Quantity.BAR1_USED_BYTES: min(used, 35 * 2**20) if used else 2**20,
        }
        values = self._sensors.read(tier, counted)
        missing = {q: r for q, r in self._sensors.absent.items() if QUANTITIES[q].tier is tier}
        self._falsify(values, missing)
        return Sample(card=self.uuid, t_ns=t_ns, values=values, missing=missing)

    def processes(self, t_ns: int) -> CardProcesses:
        """The process table at ``t_ns``.

        Raises:
            DeviceLost: the card is gone.
        """
        self.advance_to(t_ns)
        self._require()
        if self._active("no_permission"):
            return CardProcesses(card=self.uuid, t_ns=t_ns, processes=(), reason=Reason.NO_PERMISSION)
        return CardProcesses(card=self.uuid, t_ns=t_ns, processes=tuple(self._processes.values()), unowned_bytes=0)

    def _require(self) -> None:
        if self.lost_since_ns is not None:
            raise DeviceLost("card_lost", f"card {self.index} is lost", card=self.info.title, index=self.index)

    def _falsify(self, values: dict[Quantity, float], missing: dict[Quantity, Reason]) -> None:
        """Let the active faults touch the readings."""
        stuck = {q for fault in self._active("stuck_sensor") for q in fault.quantities}
        self._stuck = {q: v for q, v in self._stuck.items() if q in stuck}
        for quantity in stuck & values.keys():
            values[quantity] = self._stuck.setdefault(quantity, values[quantity])
        for fault in self._active("power_glitch"):
            told = fault.number("power_w", GLITCH_W)
            for quantity in values.keys() & set(_POWER):
                if told > 3 * self.model.power_limit_max_w:
                    del values[quantity]
                    missing[quantity] = Reason.IMPLAUSIBLE
                    self.rejected += 1
                else:
                    values[quantity] = told
        if self._active("fan_stopped"):
            values.update(dict.fromkeys(values.keys() & {Quantity.FAN_FRACTION, Quantity.FAN_RPM}, 0.0))
        for fault in self._active("narrow_link"):
            for quantity, name, most in (
                (Quantity.PCIE_WIDTH, "width", 8),
                (Quantity.PCIE_GENERATION, "generation", 9),
            ):
                if quantity in values:
                    values[quantity] = min(values[quantity], fault.number(name, most))
        for fault in self._active("no_permission"):
            for quantity in fault.quantities & values.keys():
                del values[quantity]
                missing[quantity] = Reason.NO_PERMISSION
