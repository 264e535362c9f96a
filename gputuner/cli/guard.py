"""The regression guard of ``bench --against``: compare, run once more what looks worse, say which figures are."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gputuner.analysis.likeness import Unlike, Weight, unlike
from gputuner.analysis.regression import (
    Difference,
    Key,
    benchmarks_of,
    by_key,
    compare,
    confirmed,
    stored_spread,
    worse,
)
from gputuner.cli import comparison, document
from gputuner.cli.experiment import Finished
from gputuner.cli.output import Output
from gputuner.cli.ports import Setup, Summary
from gputuner.cli.sessions import find
from gputuner.experiments.bench import Bench
from gputuner.experiments.benchmarks.catalogue import BENCHMARKS
from gputuner.language.words import _, listed
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.errors import ExitCode, GputunerError, StoreError, UsageError
from gputuner.model.events import Outcome, RunStarted
from gputuner.model.fingerprint import TorchFingerprint
from gputuner.model.points import Point

EARLIER_MOST = 20
"""So many of the newest sessions tell a metric's run-to-run spread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """What a comparison with the guard's session showed on one card. ``again``: what the re-run showed (None: none)."""

    session: str
    first: tuple[Difference, ...]
    again: tuple[Difference, ...] | None
    confirmed: tuple[Difference, ...]
    unlike: tuple[Unlike, ...]
    missing: tuple[str, ...]
    name: str

    @property
    def exit_code(self) -> int:
        """9 if a figure is worse and was so again, else 0."""
        return int(ExitCode.CHECK_FAILED) if self.confirmed else 0

    def document(self) -> document.Json:
        """For ``--json``."""
        body = comparison.comparison_document(self.first, self.unlike)
        return {
            "session_id": self.session,
            **body,
            "again": None if self.again is None else [comparison.difference(each) for each in self.again],
            "worse": [comparison.difference(each) for each in self.confirmed],
            "missing": list(self.missing),
        }

    def show(self, output: Output) -> None:
        """For people."""
        output.heading(_("Against {session}").format(session=self.session))
        comparison.show_comparison(output, self.first, self.unlike, self.session, self.name)
        if self.missing:
            output.line(_("Measured there but not now: {names}").format(names=listed(self.missing)))
        if self.again is not None and not self.confirmed:
            output.line(_("Measured once more, nothing is worse."))
        for each in self.confirmed:
            output.line(_("Worse, and worse again: {what}").format(what=comparison.in_words(each)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """A stored session to hold figures against."""

    session: str
    started: RunStarted
    torch: TorchFingerprint | None
    points: tuple[Point, ...]
    spreads: dict[Key, float]

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
        finally:
            stored.close()
        for card in cards:
            _same_card(started, card, which)
        if not by_key(points):
            raise StoreError("against_nothing", f"{which} holds no figures to compare", session=which)
        return cls(
            session=path.stem, started=started, torch=torch, points=points, spreads=_spreads(setup, cards[0], path.stem)
        )

    def names(self) -> tuple[str, ...]:
        """The benchmarks that the session measured; none where it is no session of ``bench``."""
        measured = {str(point.extra.get("benchmark")) for point in self.points}
        return tuple(each.name for each in BENCHMARKS if each.name in measured)

    def check(self, output: Output, ended: Finished, spec: Bench, again: Callable[[Bench], Finished]) -> Guarded:
        """Compare a run that completed; ``again`` runs a spec once more on the same card.

        Raises:
            StoreError: nothing can be compared.
        """
        found = compare(self.points, ended.found.points, self.spreads)
        if not found:
            raise StoreError("against_nothing", f"nothing in common with {self.session}", session=self.session)
        differs = self._unlike(ended)
        suspects = () if any(each.weight is Weight.VOIDS for each in differs) else worse(found)
        second: tuple[Difference, ...] | None = None
        sure: tuple[Difference, ...] = ()
        if suspects:
            names = tuple(each.name for each in BENCHMARKS if each.name in benchmarks_of(suspects))
            output.note(_("Worse at first sight: {names}; measuring once more").format(names=listed(names)))
            rerun = again(replace(spec, names=names or spec.names))
            if rerun.found.outcome is Outcome.COMPLETED:
                second = compare(self.points, rerun.found.points, self.spreads)
                sure = confirmed(found, second)
        return Guarded(
            session=self.session,
            name=ended.found.run_id,
            first=found,
            again=second,
            confirmed=sure,
            unlike=differs,
            missing=self._missing(ended, spec),
        )

    def _unlike(self, ended: Finished) -> tuple[Unlike, ...]:
        if ended.found.started is None:
            return ()
        return unlike(self.started, ended.found.started, (self.torch, ended.found.torch))

    def _missing(self, ended: Finished, spec: Bench) -> tuple[str, ...]:
        """Benchmarks that were chosen and gave figures then, but none now."""
        wanted = {each.name for each in spec.benchmarks()}
        then = {str(point.extra.get("benchmark")) for point in self.points} & wanted
        now = {str(point.extra.get("benchmark")) for point in ended.found.points}
        return tuple(sorted(then - now))


def _same_card(started: RunStarted, card: CardInfo, which: str) -> None:
    theirs = started.cards[0] if started.cards else None
    same = theirs is not None and theirs.uuid == card.uuid and started.origin is card.origin
    if theirs is not None and card.origin is Origin.SIMULATED and started.origin is Origin.SIMULATED:
        same = theirs.title == card.title
    if not same:
        title = theirs.title if theirs else "?"
        raise UsageError("against_other_card", f"{which} is of {title}", session=which, card=card.title, other=title)


def _spreads(setup: Setup, card: CardInfo, session: str) -> dict[Key, float]:
    """Run-to-run spread of each metric, from the newest other sessions of the card (sessions that cannot be read and
    those that did not complete tell nothing).
    """
    fits = [
        summary
        for entry in setup.sessions.entries()
        if (summary := entry.summary) is not None and _tells(summary, card) and summary.run_id != session
    ]
    read: list[Sequence[Point]] = []
    for summary in fits[:EARLIER_MOST]:
        try:
            stored = setup.sessions.open(summary.path)
        except GputunerError:
            continue
        try:
            read.append(stored.points())
        finally:
            stored.close()
    return stored_spread(read)


def _tells(summary: Summary, card: CardInfo) -> bool:
    same = any(each.uuid == card.uuid for each in summary.cards)
    return same and summary.outcome is Outcome.COMPLETED and summary.origin is card.origin
