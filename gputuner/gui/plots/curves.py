# pyright: standard
"""What a picture of curves shows: series of dots, areas, named stretches of the axis, upright marks."""

from dataclasses import dataclass

from gputuner.gui.plots.labelling import Spot

BARE = "━"
"""A line without symbols as a character."""
DASH = "╌"
"""Beside the symbol of a dashed line."""
GLYPHS = {"o": "●", "s": "■", "t1": "▲", "d": "◆", "star": "★"}
"""Symbols of series as characters, for their shared label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """One figure with its interval; ``hollow`` dots are of another kind than the filled ones."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    hollow: bool = False
    point_id: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Dots of one colour, joined or not; ``path`` is a line without dots (a ceiling).

    The name stands at the line's end, or at ``named_at``; where ends of several lie together, they share a label.
    """

    name: str
    colour: str
    dots: tuple[Dot, ...] = ()
    joined: bool = True
    path: tuple[Spot, ...] = ()
    dashed: bool = False
    symbol: str = "o"
    size: float = 7.0
    open: bool = False
    """Symbols without filling, so that those of other series show through."""
    named_at: Spot | None = None
    parts: tuple[tuple[str, str], ...] = ()
    """The words of the name, each with a colour of its own."""
    bare: bool = False
    """A line without symbols: its dots are too many to tell, and show their words under the mouse alone."""

    @property
    def glyph(self) -> str:
        """Its symbol as a character, for a label that several share."""
        found = BARE if self.bare else GLYPHS.get(self.symbol, "")
        return f"{DASH}{found}{DASH}" if self.dashed and self.dots else found


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """A tinted area between two curves over the same places."""

    xs: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    colour: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A named part of the horizontal axis."""

    x0: float
    x1: float
    name: str
    hatched: bool = False
    """Without figures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upright:
    """A dashed upright line with its words; a line break in ``name`` begins a line of words."""

    x: float
    name: str
    bands: tuple[tuple[float, float], ...] = ()
    """Intervals around it, tinted."""
