"""Whatever is done in whatever order: what gputuner found is what stands in the end, and the journal is empty."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from gputuner.devices.control import Guard
from gputuner.devices.control_journal import Journal, Moment
from gputuner.devices.simulated import SimulatedCards, SimulatedClock
from gputuner.devices.simulated_control import SimulatedControl
from gputuner.model.control import Setting, Value
from gputuner.model.errors import GputunerError

VALUES: dict[Setting, tuple[Value, ...]] = {
    Setting.POWER_LIMIT: ((300.0,), (250.0,), (50.0,), (450.0,), ()),
    Setting.SM_CLOCK_LOCK: ((300.0, 1500.0), (1500.0, 300.0), (600.0, 900.0), ()),
    Setting.MEMORY_CLOCK_LOCK: ((405.0, 5000.0), (1.0, 5000.0), ()),
    Setting.CORE_OFFSET: ((100.0,), (-100.0,), (0.0,), (5000.0,)),
    Setting.MEMORY_OFFSET: ((500.0,), (0.0,)),
    Setting.FAN: ((0.7,), (0.1,), ()),
}
CHANGE = st.sampled_from(list(VALUES)).flatmap(
    lambda setting: st.tuples(
        st.just("set"), st.just(setting), st.sampled_from(VALUES[setting]), st.booleans(), st.sampled_from((None, 5.0))
    )
)
OTHER = st.tuples(st.sampled_from(("keep", "restore")), st.sampled_from(list(VALUES)))
PLAIN = st.tuples(st.sampled_from(("end", "crash", "wait", "restore all")))
STEPS = st.lists(CHANGE | OTHER | PLAIN, max_size=14)


class World:
    """A simulated card whose settings were changed by its owner before, and processes of gputuner that come and go."""

    def __init__(self, folder: Path) -> None:
        self.cards = SimulatedCards(["rtx-4090-48g"], SimulatedClock())
        self.card = self.cards.models[0]
        self.actuator = SimulatedControl(self.cards)
        self.actuator.write(self.card.uuid, Setting.POWER_LIMIT, (400.0,))
        self.actuator.write(self.card.uuid, Setting.CORE_OFFSET, (30.0,))
        self.journal = Journal(folder)
        self.now_s = 0.0
        self.begin()

    def begin(self) -> None:
        self.guard = Guard(
            self.actuator,
            self.journal,
            moment=lambda: Moment(boot="boot", driver=1),
            now_s=lambda: self.now_s,
            pause=lambda _s: None,
        )
        self.guard.recover()

    def stands(self) -> tuple[object, ...]:
        kept = self.card.physics.settings
        return self.card.physics.power_limit_w, kept.sm_lock_mhz, kept.memory_lock_mhz, kept.core_offset_mhz, kept.fan

    def crash(self) -> None:
        for release in self.guard._locks.values():
            release()

    def do(self, step: tuple[object, ...]) -> None:
        try:
            match step:
                case "set", Setting() as setting, tuple() as value, bool() as forget, for_s:
                    self.guard.set(self.card.uuid, setting, value, may_forget=forget, for_s=for_s)
                case "keep", Setting() as setting:
                    self.guard.keep(self.card.uuid, setting)
                case "restore", Setting() as setting:
                    self.guard.restore(self.card.uuid, setting)
                case ("restore all",):
                    self.guard.restore(self.card.uuid)
                case ("wait",):
                    self.now_s += 6.0
                    self.guard.tick()
                case ("end",):
                    self.guard.close()
                    self.begin()
                case _:
                    self.crash()
                    self.begin()
        except GputunerError:
            pass


@settings(max_examples=40, deadline=None)
@given(STEPS)
def test_in_the_end_all_is_as_it_was_found(steps: list[tuple[object, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        before = world.stands()
        for step in steps:
            world.do(step)
        held = any(not entry.kept for entry in world.journal.entries(world.card.uuid))
        kept = [e for e in world.journal.entries(world.card.uuid) if e.kept]
        if not held and not kept:
            assert world.stands() == before
        world.guard.restore(world.card.uuid)
        world.guard.close()
        assert world.stands() == before
        assert world.journal.pages() == ()


@settings(max_examples=20, deadline=None)
@given(STEPS)
def test_an_end_leaves_only_what_was_kept(steps: list[tuple[object, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        for step in steps:
            world.do(step)
        world.guard.close()
        entries = world.journal.entries(world.card.uuid)
        assert all(entry.kept for entry in entries)
        assert Setting.FAN not in {entry.setting for entry in entries}
        assert world.card.physics.settings.fan is None
