# pyright: standard
"""Where words stand in a picture: beside what they name, off dots, lines and other words (pixels, y downwards)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Spot = tuple[float, float]
Segment = tuple[Spot, Spot]

NEAR = 9.0
"""Pixels between a dot and its label."""
LEADER = 14.0
"""From this distance on (pixels) a label needs a line to its dot."""
ROUNDS = 4
"""How often labels give way to each other."""
CLOSE = 24.0
"""Upright lines nearer than this (pixels) have their names on their outer sides."""
BESIDE = 8.0
"""Words with fewer pixels between them in one line read as one."""
_WORDS, _DOT, _LINE, _BEYOND, _OUTSIDE, _TOUCHING = 400.0, 120.0, 60.0, 70.0, 4000.0, 12.0


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle."""

    left: float
    top: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """Right edge."""
        return self.left + self.width

    @property
    def bottom(self) -> float:
        """Lower edge."""
        return self.top + self.height

    def meets(self, other: "Box") -> bool:
        """Whether the two share an area."""
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )

    def holds(self, other: "Box") -> bool:
        """Whether ``other`` lies inside."""
        return (
            self.left <= other.left
            and other.right <= self.right
            and self.top <= other.top
            and other.bottom <= self.bottom
        )

    def crossed(self, segment: Segment) -> bool:
        """Whether a segment runs through it (Liang and Barsky's clipping)."""
        (x0, y0), (x1, y1) = segment
        first, last = 0.0, 1.0
        for way, room in (
            (x0 - x1, x0 - self.left),
            (x1 - x0, self.right - x0),
            (y0 - y1, y0 - self.top),
            (y1 - y0, self.bottom - y0),
        ):
            if way == 0:
                if room < 0:
                    return False
            elif way < 0:
                first = max(first, room / way)
            else:
                last = min(last, room / way)
        return first <= last

    def distance(self, spot: Spot) -> float:
        """From a spot to the nearest edge, 0 inside."""
        dx = max(self.left - spot[0], 0.0, spot[0] - self.right)
        dy = max(self.top - spot[1], 0.0, spot[1] - self.bottom)
        return float((dx * dx + dy * dy) ** 0.5)


@dataclass(frozen=True, slots=True)
class Words:
    """A label to place: its size and where it may stand, best first (upper left corner, cost)."""

    width: float
    height: float
    places: tuple[tuple[Spot, float], ...]
    dot: Spot | None = None
    """What a leader runs to where the label stands away from it."""

    def leader(self, box: Box) -> Segment | None:
        """The line between dot and label, None where they are close."""
        if self.dot is None or box.distance(self.dot) <= LEADER:
            return None
        x = min(max(self.dot[0], box.left), box.right)
        y = min(max(self.dot[1], box.top + 4), box.bottom - 4)
        return self.dot, (x, y)


def beside_dot(x: float, y: float, width: float, height: float, reach: float) -> Words:
    """A label beside a dot: right, left, above or below it, else farther away within ``reach`` pixels of height."""
    middle = y - height / 2
    right, left = x + NEAR, x - NEAR - width
    above, below = y - NEAR - height, y + NEAR
    places: list[tuple[Spot, float]] = [
        ((right, middle), 0.0),
        ((right, middle - 7), 1.0),
        ((right, middle + 7), 1.0),
        ((left, middle), 3.0),
        ((x - width / 2, above), 4.0),
        ((x - width / 2, below), 4.0),
    ]
    for side, extra in ((right, 5.0), (right + 24, 8.0), (right + 64, 14.0), (left, 9.0), (left - 24, 13.0)):
        steps = range(1, int(reach / 8) + 1)
        places += [((side, middle + way * 8 * step), extra + 0.9 * step) for step in steps for way in (-1, 1)]
    return Words(width, height, tuple(places), (x, y))


def beside_upright(x: float, width: float, height: float, area: Box, others: Iterable[float] = ()) -> Words:
    """A label beside an upright line, low in the picture rather than high, left rather than right.

    ``others``: where further such lines are; beyond one that is close the words would seem to name that.
    """
    ways = [other - x for other in others]
    left = _BEYOND if any(-CLOSE < way < 0 for way in ways) else 0.0
    right = _BEYOND if any(0 < way < CLOSE for way in ways) else 1.5
    places: list[tuple[Spot, float]] = []
    steps = max(1, int((area.height - height) / 9))
    for step in range(steps + 1):
        top = area.bottom - height - 4 - 9 * step
        places += [((x - 4 - width, top), left + 0.5 * step), ((x + 4, top), right + 0.5 * step)]
    return Words(width, height, tuple(places))


def along_level(y: float, width: float, height: float, area: Box) -> Words:
    """A label along a level line: above it rather than below, left rather than right."""
    places: list[tuple[Spot, float]] = []
    for step in range(max(1, int((area.width - width - 16) / 24)) + 1):
        left = area.left + 10 + 24 * step
        places += [((left, y - height - 1), 0.5 * step), ((left, y + 2), 3 + 0.5 * step)]
    return Words(width, height, tuple(places))


def place(wanted: Sequence[Words], dots: Iterable[Box], lines: Iterable[Segment], area: Box) -> list[Box]:
    """Boxes for all words: each takes the cheapest of its places given the others, in a few rounds."""
    dots, lines = list(dots), list(lines)
    boxes: dict[int, Box] = {}
    for _round in range(ROUNDS):
        before = dict(boxes)
        for number, words in enumerate(wanted):
            others = [box for other, box in boxes.items() if other != number]
            leaders = [wanted[other].leader(box) for other, box in boxes.items() if other != number]
            taken = [*lines, *(leader for leader in leaders if leader is not None)]
            boxes[number] = _cheapest(words, others, dots, taken, area)
        if boxes == before:
            break
    return [boxes[number] for number in range(len(wanted))]


def _cheapest(words: Words, others: list[Box], dots: list[Box], lines: list[Segment], area: Box) -> Box:
    best, least = Box(area.left, area.top, words.width, words.height), float("inf")
    for (left, top), own in words.places:
        if own >= least:
            continue
        box = Box(left, top, words.width, words.height)
        leader = words.leader(box)
        cost = own if area.holds(box) else own + _OUTSIDE
        around = Box(left - BESIDE, top, words.width + 2 * BESIDE, words.height)
        cost += _WORDS * sum(1 for other in others if box.meets(other))
        cost += _TOUCHING * sum(1 for other in others if around.meets(other))
        cost += _DOT * sum(1 for dot in dots if box.meets(dot))
        if leader is not None:
            cost += _LINE * sum(1 for other in others if other.crossed(leader))
        if cost < least:
            cost += _LINE * sum(1 for line in lines if box.crossed(line))
        if cost < least:
            best, least = box, cost
    return best
