# pyright: standard
"""Which training: a built-in one, or the user's own by file and function."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QLineEdit, QPushButton, QVBoxLayout, QWidget

from gputuner.gui.theme import Theme
from gputuner.gui.widgets.check_box import CheckBox
from gputuner.gui.widgets.entry_boxes import ChoiceBox
from gputuner.gui.widgets.labels import label
from gputuner.gui.widgets.open_file import ask_which
from gputuner.language import sentences
from gputuner.language.words import _

FUNCTION = "make"
"""Name of the function that a chosen file is taken to have."""


class TrainingSource(QWidget):
    """Two ways to name a training, one of them shown."""

    changed = Signal()
    """The user changed something."""

    def __init__(self, theme: Theme, names: Sequence[str], *, images: bool = True) -> None:
        """The built-ins by name; ``images``: whether the layout of a recipe's input matters."""
        super().__init__()
        self._asks_images = images
        self.setProperty("role", "clear")
        self.kinds: dict[bool, QPushButton] = {}
        row = QHBoxLayout()
        row.setSpacing(4)
        group = QButtonGroup(self)
        for own, words, why in (
            (False, _("Built-in"), _("Trainings that come with gputuner, with made-up data.")),
            (True, _("Your own"), _("A function in a file of yours that gives model, batch and loss.")),
        ):
            button = QPushButton(words)
            button.setCheckable(True)
            button.setProperty("segment", True)
            button.setToolTip(why)
            button.clicked.connect(lambda _checked=False, own=own: self._choose(own))
            group.addButton(button)
            row.addWidget(button, 1)
            self.kinds[own] = button
        self.built_in = ChoiceBox()
        self.built_in.shrink()
        self.built_in.setAccessibleName(_("built-in training"))
        for name in names:
            self.built_in.addItem(sentences.workload(name), name)
        self._mine = self._make_mine(theme)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(label(_("Training"), "muted"))
        layout.addLayout(row)
        layout.addWidget(self.built_in)
        layout.addWidget(self._mine)
        self.built_in.currentIndexChanged.connect(lambda _index: self.changed.emit())
        self._show_own(False)

    def _make_mine(self, theme: Theme) -> QWidget:
        self.recipe = QLineEdit()
        self.recipe.setPlaceholderText(_("FILE.py:function"))
        self.recipe.setAccessibleName(_("your own training"))
        self.recipe.setToolTip(
            _("FILE.py:function or module:function; the function gives model, batch(n) and loss (see docs/recipes.md).")
        )
        self.choose = QPushButton(_("Choose the file…"))
        self.choose.setProperty("small", True)
        self.choose.clicked.connect(self.ask_file)
        self._chosen: Path | None = None
        self.function = QLineEdit(FUNCTION)
        self.function.setAccessibleName(_("function in the file"))
        self.images = CheckBox(theme, _("Its input are images"))
        self.images.setToolTip(_("Tensors [n, channels, height, width]: both memory layouts are compared."))
        self._asking = QWidget()
        self._asking.setProperty("role", "clear")
        asking = QHBoxLayout(self._asking)
        asking.setContentsMargins(0, 0, 0, 0)
        asking.setSpacing(6)
        asking.addWidget(label(_("Function"), "muted"))
        asking.addWidget(self.function, 1)
        self._asking.hide()
        page = QWidget()
        page.setProperty("role", "clear")
        layout = QVBoxLayout(page)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        for widget in (self.recipe, self.choose, self._asking, self.images):
            layout.addWidget(widget)
        self.images.setVisible(self._asks_images)
        self.recipe.textEdited.connect(self._typed)
        self.recipe.textChanged.connect(lambda _text: self.changed.emit())
        self.function.textEdited.connect(lambda _text: self._compose())
        self.images.toggled.connect(lambda _on: self.changed.emit())
        return page

    @property
    def own(self) -> bool:
        """Whether the user's own training is meant."""
        return self.kinds[True].isChecked()

    @property
    def asks_function(self) -> bool:
        """Whether it asks for the function in the file that was chosen."""
        return not self._asking.isHidden()

    def values(self) -> dict[str, object]:
        """Fields of the spec: built-in, recipe and where it is looked for, images."""
        return {
            "workload": self.built_in.currentData(),
            "recipe": self.recipe.text().strip() if self.own else "",
            "folder": str(Path.cwd()),
            "images": self.own and self.images.isChecked(),
        }

    def kept(self) -> dict[str, object]:
        """All that is typed and ticked, and which of the two is meant."""
        return {"own": self.own, "recipe": self.recipe.text(), "images": self.images.isChecked()}

    def set_values(self, values: dict[str, object]) -> None:
        """Put values in; a recipe means the user's own training unless ``own`` says otherwise."""
        if "workload" in values:
            self.built_in.setCurrentIndex(max(0, self.built_in.findData(values["workload"])))
        if "images" in values:
            self.images.setChecked(bool(values["images"]))
        if "recipe" in values:
            recipe = str(values["recipe"] or "")
            self.recipe.setText(recipe)
            self._show_own(bool(values.get("own", recipe)))

    def ask_file(self) -> None:
        """Ask for the file of the user's training."""
        ask_which(self, _("The file of your training"), Path.cwd(), ["Python (*.py)"], self.take_file)

    def take_file(self, path: Path) -> None:
        """Take a chosen file, and ask in place for its function."""
        self._chosen = path
        self.function.setText(FUNCTION)
        self._asking.show()
        self._compose()
        self.function.setFocus()
        self.function.selectAll()

    def _compose(self) -> None:
        if self._chosen is not None:
            here = Path.cwd()
            path = self._chosen.relative_to(here) if self._chosen.is_relative_to(here) else self._chosen
            self.recipe.setText(f"{path}:{self.function.text().strip()}")

    def _typed(self) -> None:
        """What is typed names file and function both."""
        self._chosen = None
        self._asking.hide()

    def _choose(self, own: bool) -> None:
        self._show_own(own)
        (self.recipe if own else self.built_in).setFocus()
        self.changed.emit()

    def _show_own(self, own: bool) -> None:
        self.kinds[own].setChecked(True)
        self.built_in.setVisible(not own)
        self._mine.setVisible(own)
