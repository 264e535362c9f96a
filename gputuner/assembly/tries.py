"""What the window needs to try an advice: start it, and what came of those that were tried."""

from collections.abc import Mapping
from pathlib import Path

from gputuner.advice.tried import stored_tries
from gputuner.assembly.setup import Setup
from gputuner.engine.run import Run
from gputuner.experiments import trying_asked
from gputuner.language import sentences
from gputuner.model.cards import CPU_CARD
from gputuner.model.points import Point


def start_try(setup: Setup, session: str, name: str, folder: str, *, share: bool) -> Run:
    """Try an advice of a stored session on the card that it is for.

    Args:
        setup: the program.
        session: that gave it: its id or file.
        name: the advice's name.
        folder: where its recipe lies, if it is of one.
        share: although others compute on the card.

    Raises:
        GputunerError: there is no such advice or session, it cannot be tried here, or it cannot start.
    """
    stored = setup.sessions.open(setup.sessions.find(session))
    try:
        started = stored.started
        entry = trying_asked.found(stored.advice()[0], name, started, sentences.advice_title)
        trying_asked.check_origin(started, setup.origin)
        known = () if entry.card == CPU_CARD else setup.cards()
        if not trying_asked.is_here(started, entry, known, setup.host()):
            raise trying_asked.missing(started, entry, ", ".join(each.title for each in setup.cards()))
        spec = trying_asked.try_of(stored, name, entry, folder=folder)
    finally:
        stored.close()
    return setup.start(spec, setup.select(entry.card, for_experiment=True), share=share)


def tries_of(setup: Setup, session: str) -> Mapping[str, tuple[Point, Path]]:
    """What came of the advice of a session that was tried, by name: the last figure of each, and its session's file."""
    told = [each for each in stored_tries(setup.sessions) if each.point.params.get("session") == session]
    return {str(each.point.params["advice"]): (each.point, each.path) for each in told}
