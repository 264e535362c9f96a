"""How the columns of a table share its width, so that as few words as can be are cut off."""

from collections.abc import Sequence
from dataclasses import dataclass

OPEN_SHARE = 0.4
"""Part of the room that columns without a width of their own have before others may keep more than their words need."""


@dataclass(frozen=True, slots=True)
class Need:
    """One shown column. All in pixels."""

    usual: int
    """Its usual width; 0: it gets what is left."""
    words: int
    """Width in which none of its words is cut."""
    head: int
    """The same of its heading."""
    firm: bool = False
    """It never becomes narrower than usual: figures that follow each other do not jump."""


def shared(needs: Sequence[Need], room: int) -> list[int]:
    """Width of each column, pixels; together ``room``, unless the firm ones alone are wider.

    What a column does not need goes to those whose words would be cut: to firm ones, to those without a width of their
    own, then to the others, from the left.
    """
    widths = [need.usual for need in needs]
    open_ = [number for number, need in enumerate(needs) if not need.usual]
    wanted = sum(needs[number].words for number in open_)
    guaranteed = min(wanted, int(OPEN_SHARE * room))
    firm = sum(max(0, need.words - need.usual) for need in needs if need.firm and need.usual)
    left = room - sum(widths)
    left += _give_up(widths, [_least(need) for need in needs], wanted + firm - left)
    if open_:
        left += _give_up(
            widths, [need.usual if need.firm else min(need.usual, need.head) for need in needs], guaranteed - left
        )
    _grow(widths, needs, left - guaranteed, firm=True)
    _grow(widths, needs, room - sum(widths) - wanted, firm=False)
    _divide(widths, open_, needs, max(0, room - sum(widths)))
    return widths


def _grow(widths: list[int], needs: Sequence[Need], spare: int, *, firm: bool) -> None:
    """Give columns of their own width what their words need, from the left, while there is some to spare."""
    for number, need in enumerate(needs):
        if need.usual and need.firm is firm and spare > 0 and need.words > widths[number]:
            more = min(spare, need.words - widths[number])
            widths[number] += more
            spare -= more


def _least(need: Need) -> int:
    """What a column keeps while another's words are cut: room for its own, up to the usual width."""
    return need.usual if need.firm else min(need.usual, max(need.words, need.head))


def _give_up(widths: list[int], least: Sequence[int], wanted: int) -> int:
    """Narrow columns by ``wanted`` in all, the one with most to give first; what was had."""
    had = 0
    while had < wanted:
        gives, number = max((width - least[number], number) for number, width in enumerate(widths))
        if gives <= 0:
            break
        taken = min(gives, wanted - had)
        widths[number] -= taken
        had += taken
    return had


def _divide(widths: list[int], open_: Sequence[int], needs: Sequence[Need], left: int) -> None:
    """Give what is left to the open columns by what their words need."""
    wanted = max(1, sum(needs[number].words for number in open_))
    for number in open_[:-1]:
        widths[number] = left * needs[number].words // wanted
    if open_:
        widths[open_[-1]] = left - sum(widths[number] for number in open_[:-1])
