"""Figures that a power sweep takes over from stored sessions, as lines of progress: one for each metric and setting."""

from gputuner.language import numbers, sentences
from gputuner.language.power import stored_group
from gputuner.language.words import listed
from gputuner.model.points import Point

_Key = tuple[str, str, str]


class StoredVisits:
    """Gathers such figures, which come in one go; there may be hundreds after many sweeps."""

    def __init__(self) -> None:
        """Nothing is gathered yet."""
        self._found: dict[_Key, list[Point]] = {}

    def take(self, point: Point) -> bool:
        """Gather ``point`` if it is one of them."""
        if "session" not in point.extra or point.params.get("visit") != 0:
            return False
        params = {name: value for name, value in point.params.items() if name != "visit"}
        what = listed((sentences.metric(point.metric), sentences.settings(params, point.card)))
        self._found.setdefault((what, point.unit, point.card), []).append(point)
        return True

    def lines(self) -> list[str]:
        """A line for each metric, load and setting, with range and count, in order of first figures; empties it."""
        told = [
            stored_group(
                what,
                numbers.span(min(point.value for point in own), max(point.value for point in own), unit),
                visits=len(own),
                sessions=len({str(point.extra["session"]) for point in own}),
            )
            for (what, unit, _card), own in self._found.items()
        ]
        self._found.clear()
        return told
