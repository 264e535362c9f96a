# pyright: standard
"""The strip above the pictures of a health test: what it says of the card, large, and why."""

from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from gputuner.gui.results_health_verdict import (
    SIGNS,
    difference,
    faults,
    health_headline,
    is_sold,
    is_sound,
    sold_words,
)
from gputuner.gui.run_state import RunFacts
from gputuner.gui.widgets.labels import card, label, repolish
from gputuner.language.words import _, listed

LARGE: dict[bool | None, str] = {True: "verdict-good", False: "verdict-danger", None: "verdict"}
PLAIN: dict[bool | None, str] = {True: "good", False: "danger", None: "heading"}


class VerdictBar(QWidget):
    """Two verdicts in words: sound, and what its name or its seller says."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("role", "clear")
        frame = card()
        rows = QVBoxLayout(frame)
        rows.setContentsMargins(14, 6, 14, 6)
        rows.setSpacing(2)
        self.health, self.sold = label("", "verdict"), label("", "heading")
        self.why, self.difference = label("", "small", wrap=True), label("", "small", wrap=True)
        self._names = label(_("Health"), "muted"), label(_("Identity"), "muted")
        wide = max(name.sizeHint().width() for name in self._names)
        for name, verdict, why in zip(self._names, (self.health, self.sold), (self.why, self.difference), strict=True):
            name.setMinimumWidth(wide)
            row = QHBoxLayout()
            row.setSpacing(10)
            row.addWidget(name)
            row.addWidget(verdict)
            row.addWidget(why, 1)
            rows.addLayout(row)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(frame)

    def show_facts(self, facts: RunFacts) -> None:
        """Say what is known."""
        sound, sold = is_sound(facts), is_sold(facts.points)
        _say(self.health, LARGE, sound, health_headline(facts))
        self.why.setText(listed(faults(facts)))
        known = facts.finished is not None and not (facts.cards and facts.cards[0].is_cpu)
        for each in (self._names[1], self.sold, self.difference):
            each.setVisible(known)
        _say(self.sold, PLAIN, sold, sold_words(facts.points))
        self.difference.setText(difference(facts.points))


def _say(words: QLabel, roles: dict[bool | None, str], good: bool | None, told: str) -> None:
    words.setText(f"{SIGNS[good]} {told}")
    repolish(words, "role", roles[good])
