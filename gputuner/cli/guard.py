"""The regression guard of ``bench --against``: compare, run once more what looks worse, judge.

It passes only what it could hold against the session: a figure that is worse and is not measured again, and a benchmark
that went wrong where the session has figures, end with 9 as well.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from gputuner.analysis.likeness import Unlike, Weight, unlike
from gputuner.analysis.regression import (
    Difference,
    Key,
    Verdict,
    benchmarks_of,
    by_key,
    compare,
    confirmed,
    key_of,
    stored_spread,
    suspects,
)
from gputuner.analysis.session_spread import SessionSpread
from gputuner.cli.experiment import Finished
from gputuner.cli.output import Output
from gputuner.cli.ports import Setup
from gputuner.cli.running import Interrupted
from gputuner.cli.sessions import find
from gputuner.experiments.bench import Bench
from gputuner.experiments.benchmarks.catalogue import BENCHMARKS
from gputuner.experiments.benchmarks.outcome import FAILED, Failure, failure_of, gravest
from gputuner.language import sentences
from gputuner.language.words import _, listed
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.errors import ExitCode, GputunerError, StoreError, UsageError
from gputuner.model.events import Outcome, RunStarted, Warned
from gputuner.model.fingerprint import TorchFingerprint
from gputuner.model.points import Point
from gputuner.sessions.earlier import telling_spread


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """What the second measurement of suspects showed. ``ended``: None where it could not even start."""

    ended: Finished | None
    differences: tuple[Difference, ...] = ()

    @property
    def exit_code(self) -> int:
        """Of the run itself; a run none of whose benchmarks gave a figure confirms nothing, and that is all."""
        if self.ended is None or _none_gave_a_figure(self.ended):
            return 0
        return self.ended.found.exit_code


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """What a comparison with the guard's session showed on one card."""

    session: str
    name: str
    """Of the run that was compared."""
    card: CardInfo
    sessions: int
    """How many tell the spread between sessions: the guard's and earlier ones."""
    first: tuple[Difference, ...]
    unlike: tuple[Unlike, ...]
    gone: tuple[Failure, ...]
    """Benchmarks that went wrong where the session has figures."""
    missing: tuple[str, ...]
    """Benchmarks that gave no figure to compare, for lack of time or since they cannot run here."""
    again: Again | None = None
    """None: nothing looked worse."""
    confirmed: tuple[Difference, ...] = ()
    """Worse by both measurements: as the second found them."""
    cleared: tuple[Difference, ...] = ()
    """Looked worse at first only: as the second measurement found them."""
    unconfirmed: tuple[Difference, ...] = ()
    """Look worse, and were not measured again."""

    @property
    def interrupted(self) -> bool:
        """The user would not wait for the second measurement."""
        return self.again is not None and self.again.exit_code == ExitCode.INTERRUPTED

    @property
    def decided(self) -> int:
        """How many figures could be held against the session's."""
        return sum(_decided(each) for each in self.first)

    @property
    def exit_code(self) -> int:
        """What the command ends with: 130, 9, 8 where nothing can be compared, else what the second run ended with."""
        if self.interrupted:
            return int(ExitCode.INTERRUPTED)
        if self.confirmed or self.unconfirmed or self.gone:
            return int(ExitCode.CHECK_FAILED)
        if not self.decided:
            return int(ExitCode.BAD_INPUT)
        return self.again.exit_code if self.again else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """A stored session to hold figures against."""

    session: str
    started: RunStarted
    torch: TorchFingerprint | None
    points: tuple[Point, ...]
    warnings: tuple[Warned, ...]
    spreads: Mapping[Key, SessionSpread]
    sessions: int

    @classmethod
    def of(cls, setup: Setup, which: str, cards: Sequence[CardInfo]) -> "Guard":
        """Read the session named.

        Raises:
            StoreError: there is none such, or it holds nothing to compare.
            UsageError: it is of another card.
        """
        path = find(setup, which)
        stored = setup.sessions.open(path)
        try:
            started, torch, points = stored.started, stored.torch(), tuple(stored.points())
            warnings = tuple(stored.warnings())
        finally:
            stored.close()
        for card in cards:
            _same_card(started, card, which)
        told = telling_spread(setup.sessions, cards[0], started, points)
        guard = cls(
            session=path.stem,
            started=started,
            torch=torch,
            points=points,
            warnings=warnings,
            spreads=stored_spread(told),
            sessions=len(told),
        )
        if not guard.names():
            raise StoreError("against_nothing", f"{which} holds no figures of benchmarks", session=path.stem)
        return guard

    def names(self) -> tuple[str, ...]:
        """The benchmarks that the session has figures of; none where it is no session of ``bench``."""
        measured = {key[1] for key, point in by_key(self.points).items() if "benchmark" in point.extra}
        return tuple(each.name for each in BENCHMARKS if each.name in measured)

    def fitted(self, spec: Bench) -> Bench:
        """``spec`` as the guard's run: without a choice of its own the session's benchmarks.

        Raises:
            UsageError: the session has figures of none of those that were chosen.
        """
        if not spec.names and not spec.full:
            spec = replace(spec, names=self.names())
        if not self._wanted(spec) & set(self.names()):
            chosen, measured = listed(spec.names), listed(self.names())
            raise UsageError(
                "against_not_measured",
                f"{self.session} has no figure of {chosen}",
                session=self.session,
                names=chosen,
                measured=measured,
            )
        return replace(spec, against=self.session)

    def judges(self, ended: Finished) -> bool:
        """Whether a run can be judged: it was completed, or failed because no benchmark gave a figure."""
        return ended.found.outcome is Outcome.COMPLETED or _none_gave_a_figure(ended)

    def check(self, output: Output, ended: Finished, spec: Bench, again: Callable[[Bench], Finished]) -> Guarded:
        """Compare a run; ``again`` runs a spec once more on the same card. Raises nothing for what it finds."""
        found = compare(self.points, ended.found.points, self.spreads)
        differs = self._unlike(ended)
        gone, missing = self._without(ended, spec)
        first = Guarded(
            session=self.session,
            name=ended.found.run_id,
            card=ended.cards[0],
            sessions=self.sessions,
            first=found,
            unlike=differs,
            gone=gone,
            missing=missing,
        )
        looked_worse = () if any(each.weight is Weight.VOIDS for each in differs) else suspects(found)
        return self._confirm(output, first, looked_worse, spec, again) if looked_worse else first

    def _confirm(
        self,
        output: Output,
        first: Guarded,
        looked_worse: Sequence[Difference],
        spec: Bench,
        again: Callable[[Bench], Finished],
    ) -> Guarded:
        chosen = benchmarks_of(looked_worse)
        names = tuple(each.name for each in BENCHMARKS if each.name in chosen)
        output.note(_("Worse at first sight: {names}; measuring once more").format(names=listed(names)))
        second = self._second(output, replace(spec, names=names or spec.names), again)
        sure = confirmed(first.first, second.differences)
        seen = {key_of(each.before): each for each in second.differences if _decided(each)}
        worse_again = {key_of(each.before) for each in sure}
        keys = [key_of(each.before) for each in looked_worse]
        return replace(
            first,
            again=second,
            confirmed=sure,
            cleared=tuple(seen[key] for key in keys if key in seen and key not in worse_again),
            unconfirmed=tuple(
                each
                for key, each in zip(keys, looked_worse, strict=True)
                if each.verdict is Verdict.WORSE and key not in seen and key not in worse_again
            ),
        )

    def _second(self, output: Output, spec: Bench, again: Callable[[Bench], Finished]) -> Again:
        """The second measurement; one that cannot start is told and confirms nothing.

        Raises:
            Interrupted: the user will wait for no more.
        """
        try:
            ended = again(spec)
        except Interrupted:
            raise
        except GputunerError as error:
            output.warn(sentences.error(error))
            return Again(ended=None)
        return Again(ended=ended, differences=compare(self.points, ended.found.points, self.spreads))

    def _unlike(self, ended: Finished) -> tuple[Unlike, ...]:
        if ended.found.started is None:
            return ()
        return unlike(self.started, ended.found.started, (self.torch, ended.found.torch))

    def _wanted(self, spec: Bench) -> set[str]:
        return {each.name for each in spec.benchmarks()}

    def _without(self, ended: Finished, spec: Bench) -> tuple[tuple[Failure, ...], tuple[str, ...]]:
        """Chosen benchmarks that lack figures of the session: those that went wrong, and the names of the others.

        What went wrong then too is nothing new, and a setting that was not asked for (another effort) is not missed.
        """
        then, now = by_key(self.points), by_key(ended.found.points)
        usual = {_sign(failure) for failure in _failures(self.warnings)}
        failures = [each for each in _failures(ended.found.warnings) if _sign(each) not in usual]
        gone: list[Failure] = []
        missing: list[str] = []
        for name in (each for each in self.names() if each in self._wanted(spec)):
            keys = {key for key in then if key[1] == name}
            own = [each for each in failures if each.benchmark == name]
            wrong = gravest(each for each in own if each.grave)
            if keys <= set(now):
                continue
            if wrong is not None:
                gone.append(wrong)
            elif not keys & set(now):
                told = own or [key for key in now if key[1] == name]
                if told:
                    missing.append(name)
                else:
                    gone.append(Failure(benchmark=name, reason="nothing_measured"))
        return tuple(gone), tuple(missing)


def _decided(each: Difference) -> bool:
    return each.verdict is not Verdict.VOID and each.p is not None


def _none_gave_a_figure(ended: Finished) -> bool:
    return ended.found.finished is not None and ended.found.finished.error_code == FAILED


def _failures(warnings: Iterable[Warned]) -> list[Failure]:
    return [failure for each in warnings if (failure := failure_of(each.code, each.params)) is not None]


def _sign(failure: Failure) -> tuple[object, ...]:
    return failure.benchmark, failure.reason, failure.params.get("setting")


def _same_card(started: RunStarted, card: CardInfo, which: str) -> None:
    theirs = started.cards[0] if started.cards else None
    same = theirs is not None and theirs.uuid == card.uuid and started.origin is card.origin
    if theirs is not None and card.origin is Origin.SIMULATED and started.origin is Origin.SIMULATED:
        same = theirs.title == card.title
    if not same:
        title = theirs.title if theirs else "?"
        raise UsageError("against_other_card", f"{which} is of {title}", session=which, card=card.title, other=title)
