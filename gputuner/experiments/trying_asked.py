"""What trying one advice of a stored session asks: the advice by its name, on which card, and the experiment."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from gputuner.advice.naming import names
from gputuner.advice.untried import instead, why_not
from gputuner.experiments.trying import Try
from gputuner.experiments.trying_conditions import card_of, conditions_of, recipe_digest
from gputuner.model.advice import Advice
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.errors import UsageError
from gputuner.model.events import RunStarted
from gputuner.model.fingerprint import HostFingerprint, TorchFingerprint
from gputuner.model.points import Point

MINUTES = 2.0
"""To try an advice in."""
QUESTIONS = {"batch": "", "switches": " --switches", "loading": " --loader", "numerics": " --numerics"}
"""Experiments that the command ``batch`` starts, with the option that asks for them."""
BUILT_IN = "resnet50"
"""The training of a session whose spec names none (``tune``)."""


class Stored(Protocol):
    """A stored session, read back."""

    @property
    def started(self) -> RunStarted:
        """The start of its run."""
        ...

    def torch(self) -> TorchFingerprint | None:
        """The torch that was measured."""
        ...

    def points(self) -> Sequence[Point]:
        """All figures."""
        ...


def found(advice: Sequence[Advice], name: str, started: RunStarted, title: Callable[[Advice], str]) -> Advice:
    """The advice of that name, with what it changes.

    Args:
        advice: all that the session gave.
        name: the rule, with a number where it gave several.
        started: the start of its run.
        title: what a reader calls an advice.

    Raises:
        UsageError: there is none, or it changes nothing that a training could try.
    """
    named = dict(zip(names(advice), advice, strict=True))
    entry = named.get(name)
    if entry is None:
        known = ", ".join(each for each, told in named.items() if told.change is not None)
        raise UsageError("advice_unknown", f"no advice {name}", advice=name, session=started.run_id, known=known)
    if entry.change is None:
        command = instead(entry, own_card(started, entry), again(started))
        told = title(entry)
        raise UsageError(why_not(entry), "it cannot be tried", title=told, command=command, session=started.run_id)
    return entry


def own_card(started: RunStarted, entry: Advice) -> CardInfo:
    """The card of the session that an advice is about."""
    return next((each for each in started.cards if each.uuid == entry.card), started.cards[0])


def again(started: RunStarted) -> str:
    """The command that made a session, without options of its card and time."""
    spec, name = started.spec, started.experiment
    if name not in QUESTIONS:
        return "tune"
    which = f"--recipe {spec['recipe']}" if spec.get("recipe") else str(spec.get("workload", BUILT_IN))
    return f"batch {which}{QUESTIONS[name]}"


def check_origin(started: RunStarted, origin: Origin) -> None:
    """Refuse to try on a real card what was measured on a model, and the other way round.

    Raises:
        UsageError: they do not go together.
    """
    if started.origin is Origin.REPLAYED:
        raise UsageError("try_replayed", "a recording cannot be put under load", session=started.run_id)
    if started.origin is origin:
        return
    if started.origin is Origin.SIMULATED:
        match = started.cards[0].catalog
        card = match.catalog_id if match and match.catalog_id else started.cards[0].name
        raise UsageError("try_simulated", "made on a simulated card", session=started.run_id, card=card)
    raise UsageError("try_measured", "made on a real card", session=started.run_id)


def is_here(started: RunStarted, entry: Advice, cards: Sequence[CardInfo], host: HostFingerprint) -> bool:
    """Whether the card that an advice is about is among ``cards``; a processor is known by its name and cores."""
    card = own_card(started, entry)
    if card.is_cpu:
        return card_of(card.uuid, started.fingerprint.host) == card_of(card.uuid, host)
    return any(each.uuid == card.uuid for each in cards)


def missing(started: RunStarted, entry: Advice, here: str) -> UsageError:
    """That the session's card is not among those that are ``here``."""
    title = own_card(started, entry).title
    return UsageError("try_card_missing", "another card", session=started.run_id, card=title, here=here)


def try_of(
    stored: Stored, name: str, entry: Advice, *, recipe: str = "", folder: str = "", minutes: float | None = None
) -> Try:
    """The experiment that tries an advice.

    Args:
        stored: the session that gave it.
        name: the advice's name.
        entry: the advice; it has a change.
        recipe: where the recipe lies now; empty: where the session says.
        folder: that the recipe is looked for in; empty: the current one.
        minutes: time budget; None: the usual one.

    Raises:
        UsageError: the recipe is not here, or the advice changes what no trial can.
    """
    change, told = entry.change, stored.started.spec
    assert change is not None
    where = folder or str(Path.cwd())
    own = recipe or str(told.get("recipe") or "")
    _check_recipe(own, where)
    return Try(
        session=stored.started.run_id,
        advice=name,
        workload=change.workload,
        recipe=own,
        folder=where,
        images=told.get("images") is True,
        base=change.base,
        advised=change.advised,
        aim=change.aim,
        predicted=entry.gain if entry.gain is not None and entry.gain.unit == "fraction" else None,
        confidence=entry.confidence,
        measured_on=conditions_of(own_card(stored.started, entry), stored.started.fingerprint, stored.torch()),
        recipe_sha256=recipe_digest(tuple(stored.points()), change.workload),
        minutes=MINUTES if minutes is None else minutes,
    )


def _check_recipe(recipe: str, folder: str) -> None:
    """Refuse a recipe's file that is not where it is looked for; a module is found by the worker alone.

    Raises:
        UsageError: there is no such file.
    """
    source = recipe.rpartition(":")[0]
    if source.endswith(".py") and not (Path(folder) / Path(source).expanduser()).is_file():
        raise UsageError("try_recipe_missing", f"no file {source}", path=source)
