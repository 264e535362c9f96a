"""A box to tick whose words are shortened where they have no room."""

from gputuner.gui.stylesheet import stylesheet
from gputuner.gui.theme import LIGHT
from gputuner.gui.widgets.check_box import ShortCheckBox

WORDS = "Beside unmeasured jobs too"


def test_words_are_shortened_to_the_room_and_told_on_hover(qtbot):
    box = ShortCheckBox(LIGHT, WORDS)
    qtbot.addWidget(box)
    box.setStyleSheet(stylesheet(LIGHT))
    box.setToolTip("why")
    box.resize(400, 24)
    box.show()
    assert (box.text(), box.toolTip()) == (WORDS, "why")
    wanted = box.sizeHint().width()
    box.resize(120, 24)
    assert box.text().endswith("…")
    assert box.toolTip() == f"{WORDS}\nwhy"
    assert box.accessibleName() == WORDS
    assert abs(box.sizeHint().width() - wanted) <= 2, "it still asks for the room of all its words"
    box.resize(400, 24)
    assert box.text() == WORDS
