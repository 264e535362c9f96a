"""Which mixes are run: one mix, or one job 2, 3, … times until it no longer pays; then again in further rounds."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass

from gputuner.experiments.contention_jobs import mix_label
from gputuner.experiments.contention_measure import ALIKE, Lab, Runnable
from gputuner.experiments.contention_points import Round, Shared, way_of
from gputuner.experiments.tune_training import skipped
from gputuner.model.steps import Mode, Step, StepResult

GAIN_STOPS = 0.02
"""One job more must bring this share more gain, else the way up ends."""
CONTEXT_BYTES = 512 << 20
"""What a process takes on a card beside what its training allocates."""
FRAGMENTED, NEARLY = 1.1, 0.95
"""Allocated memory needs this much more, and the card is not filled further than that."""
END_S = 3.0
"""Left at the end for what takes longer than expected."""
FURTHER = 2
"""Rounds of the best mix for which the way up leaves time."""
WANTED = 3
"""Rounds of the mix that an advice may rest on, before others get more than one."""

Steps = Generator[Step, StepResult, None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A mix that runs, and will run again."""

    jobs: tuple[Runnable, ...]
    mode: Mode
    shared: Shared = ALIKE

    @property
    def key(self) -> tuple[str, str]:
        """Of its rounds."""
        return mix_label(self.jobs), way_of(self.mode, self.shared)


class Sweep:
    """The mixes of one run in all modes."""

    def __init__(self, lab: Lab, modes: Sequence[Mode], shared: Shared) -> None:
        """``modes``: those that can be had; ``shared``: shares of the jobs, which are tried beside none."""
        self._lab, self._modes, self._shared = lab, tuple(modes), shared
        self.planned: list[Planned] = []
        """Mixes that ran at least once."""

    def mix(self, jobs: Sequence[Runnable]) -> Steps:
        """One round of this mix in each mode."""
        for mode in self._modes:
            found = yield from self._first(tuple(jobs), mode, ahead=0)
            if found is not None and not found.broken:
                yield from self._in_shares(found.jobs, mode)

    def up(self, job: Runnable, most: int, keep_s: float) -> Steps:
        """2, 3, … of one job in each mode, until one more brings little, memory ends, or ``most`` is reached.

        ``keep_s`` of the time, and two further rounds of the best, stay for what comes after.
        """
        for mode in self._modes:
            before = 1.0
            for count in range(2, most + 1):
                if not (yield from self._has_room(job, mode, count)):
                    break
                found = yield from self._first((job,) * count, mode, ahead=min(count + 1, most), keep_s=keep_s)
                if found is None or found.broken or len(found.jobs) < count or found.found is None:
                    break
                if found.found.gain < before * (1.0 + GAIN_STOPS):
                    break
                before = found.found.gain
            for best in [each for each in self.best() if each.mode == mode]:
                yield from self._in_shares(best.jobs, mode)

    def _in_shares(self, jobs: tuple[Runnable, ...], mode: Mode) -> Steps:
        """The same mix with shares, where some are to be tried in this mode."""
        shared = self._shared.of(mode, len(jobs))
        if shared.told:
            yield from self._first(jobs, mode, ahead=0, shared=shared)

    def again(self) -> Steps:
        """Further rounds in new processes while the time allows: first of the best mix of each mode, then of all."""
        lab = self._lab
        while (chosen := self._next()) is not None:
            cost_s = lab.round_s(chosen.jobs, fresh=True)
            if not lab.course.fits(cost_s, END_S):
                return
            last = not lab.course.fits(2.0 * cost_s, END_S) or self._left() == 1
            found = yield from lab.round(chosen.jobs, chosen.mode, shared=chosen.shared, fresh=True, last=last)
            if found is None or found.broken or found.jobs != chosen.jobs:
                return

    def rounds(self, of: Planned) -> int:
        """How often a mix ran."""
        return len(self._lab.known.rounds.get(of.key, ()))

    def best(self) -> list[Planned]:
        """The mix with the largest gain of each way of sharing."""
        ways: dict[tuple[Mode, str], list[Planned]] = {}
        for each in self.planned:
            ways.setdefault((each.mode, each.shared.told), []).append(each)
        return [max(own, key=self._gain) for own in ways.values()]

    def left_s(self) -> float:
        """Expected seconds of all further rounds."""
        most = self._lab.pace.rounds
        costs = (self._lab.round_s(each.jobs, fresh=True) * (most - self.rounds(each)) for each in self.planned)
        return sum(costs)

    def steps_left(self) -> int:
        """Expected steps of these."""
        most = self._lab.pace.rounds
        return sum((len({job.label for job in each.jobs}) + 1) * (most - self.rounds(each)) for each in self.planned)

    def _left(self) -> int:
        return sum(max(0, self._lab.pace.rounds - self.rounds(each)) for each in self.planned)

    def _next(self) -> Planned | None:
        best = [each for each in self.best() if self.rounds(each) < min(WANTED, self._lab.pace.rounds)]
        others = [each for each in self.planned if self.rounds(each) < self._lab.pace.rounds]
        return min(best or others, key=self.rounds, default=None)

    def _gain(self, of: Planned) -> float:
        rounds = self._lab.known.rounds.get(of.key, ())
        gains = [each.found.gain for each in rounds if each.found is not None]
        return max(gains, default=0.0)

    def _first(
        self, jobs: tuple[Runnable, ...], mode: Mode, *, ahead: int, keep_s: float = 0.0, shared: Shared = ALIKE
    ) -> Generator[Step, StepResult, Round | None]:
        lab = self._lab
        needed_s = lab.round_s(jobs, fresh=not self.planned)
        keep_s += sum(FURTHER * lab.round_s(each.jobs, fresh=True) for each in self.best()) if ahead else 0.0
        if self.planned and not lab.course.fits(needed_s, keep_s + END_S):
            yield from skipped(lab.course, "contend_mix", needed_s, keep_s + END_S)
            return None
        found = yield from lab.round(jobs, mode, shared=shared, ahead=ahead)
        if found is not None and not found.broken:
            planned = Planned(jobs=found.jobs, mode=mode, shared=found.shared)
            if planned not in self.planned:
                self.planned.append(planned)
        return found

    def _has_room(self, job: Runnable, mode: Mode, count: int) -> Generator[Step, StepResult, bool]:
        """Whether so many fit into memory by what one was seen to take; tells where not."""
        alone = [trial.memory for told in self._lab.known.alone_of(job.label).values() for trial, _ in told]
        peak = max((memory.get("allocated_peak_bytes", 0) for memory in alone), default=0)
        context = self._lab.course.context
        capacity = context.free_bytes or max((memory.get("capacity_bytes", 0) for memory in alone), default=0)
        if not peak or not capacity:
            return True
        own = FRAGMENTED * peak + (0 if context.card.is_cpu or mode == "streams" else CONTEXT_BYTES)
        if count * own <= NEARLY * capacity:
            return True
        yield from self._lab.course.warn(
            "contend_memory_ends", jobs=count, needed_bytes=int(count * own), free_bytes=capacity
        )
        return False
