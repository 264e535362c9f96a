"""Keeping one change of several cards: all of them, or none."""

import signal
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from gputuner.cli.control_values import word_of
from gputuner.cli.output import Output
from gputuner.language import control as words
from gputuner.language import sentences
from gputuner.language.words import _
from gputuner.model.control import Applied, CardControl, Setting
from gputuner.model.errors import GputunerError

if TYPE_CHECKING:
    from gputuner.devices.control_client import Control

POWER = Setting.POWER_LIMIT
UNANSWERED = ("control_helper_silent", "control_helper_gone")
"""Where these are raised, what was asked for last may have been done."""
_ENDING = ("SIGINT", "SIGTERM", "SIGHUP")


def keep_all(output: Output, control: "Control", cards: Sequence[CardControl], changed: Sequence[Applied]) -> None:
    """Let all of them last; where one cannot, or on Ctrl-C, SIGTERM or SIGHUP, the kept ones get back what they had.

    What is not kept goes back by itself when the control is closed; a card that could not be put back is named.

    Raises:
        GputunerError: of the card that could not be kept.
        KeyboardInterrupt: of the user or a signal, after all were put back.
    """
    kept: list[Applied] = []
    try:
        with _signals(_interrupt):
            for each in changed:
                kept.append(each)  # noticed first: a signal may come between the change and its answer
                control.keep(each.card, POWER)
    except GputunerError as err:
        _put_back(output, control, cards, kept if err.code in UNANSWERED else kept[:-1])
        raise
    except KeyboardInterrupt:
        _put_back(output, control, cards, kept)
        raise


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


@contextmanager
def _signals(answer: Callable[[int, FrameType | None], None] | signal.Handlers) -> Generator[None]:
    """Answer the signals that would end the program so meanwhile; one that it was started to outlive stays ignored."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    known = [getattr(signal, name) for name in _ENDING if hasattr(signal, name)]
    minded = [number for number in known if signal.getsignal(number) is not signal.SIG_IGN]
    before = [(number, signal.signal(number, answer)) for number in minded]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def _put_back(output: Output, control: "Control", cards: Sequence[CardControl], kept: Sequence[Applied]) -> None:
    """Give cards what they had, the last first; none is left out because another refused, and those are named."""
    names = {card.uuid: f"[{card.index}] {card.name}" for card in cards}
    silent: GputunerError | None = None
    with _signals(signal.SIG_IGN):
        for done in reversed(kept):
            failed = silent or _given_back(control, done)
            if failed is None:
                continue
            if failed.code in UNANSWERED:  # nor will it answer for the next one
                silent = failed
            told = _("{card} may stay at {new}: it could not be put back to {old}. {why} Do it by hand: {command}")
            output.warn(
                told.format(
                    card=names.get(done.card, done.card),
                    new=words.value_text(POWER, done.written),
                    old=words.value_text(POWER, done.found),
                    why=sentences.error(failed),
                    command=f"gputuner --cli control set {word_of(POWER)} {done.found[0]:g} --gpu {done.card}",
                )
            )


def _given_back(control: "Control", done: Applied) -> GputunerError | None:
    """Let a card keep what it had; why it could not."""
    try:
        control.set(done.card, POWER, done.found, may_forget=True)
        control.keep(done.card, POWER)
    except GputunerError as err:
        return err
    return None
