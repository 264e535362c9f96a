# pyright: standard
"""The command palette: type a few letters of any action and run it."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QFrame, QLineEdit, QListWidget, QListWidgetItem, QVBoxLayout, QWidget

from gputuner.language.words import _


def matches(query: str, text: str) -> int | None:
    """How far apart the letters of ``query`` lie in ``text`` (0 best), or None if they are not all there in order."""
    text, place, spread = text.lower(), -1, 0
    for letter in query.lower().replace(" ", ""):
        found = text.find(letter, place + 1)
        if found < 0:
            return None
        spread += found - place - 1
        place = found
    return spread


class CommandPalette(QFrame):
    """A panel over the window; Escape or a click elsewhere closes it."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("palette")
        self.setFixedWidth(520)
        self._actions: list[QAction] = []
        self.line = QLineEdit()
        self.line.setPlaceholderText(_("Type what you want to do"))
        self.line.setAccessibleName(_("command"))
        self.list = QListWidget()
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 8, 8, 8)
        layout.addWidget(self.line)
        layout.addWidget(self.list)
        self.line.textChanged.connect(self._filter)
        self.line.returnPressed.connect(self._run)
        self.line.installEventFilter(self)
        self.list.itemClicked.connect(lambda _item: self._run())
        self.hide()

    def open(self, actions: Sequence[QAction]) -> None:
        """Show the actions that can be done now."""
        self._actions = [action for action in actions if action.isEnabled() and action.text()]
        self.line.clear()
        self._filter("")
        parent = self.parentWidget()
        if parent is not None:
            self.setFixedHeight(min(380, parent.height() - 80))
            self.move((parent.width() - self.width()) // 2, 60)
        self.show()
        self.raise_()
        self.line.setFocus()

    @property
    def shown(self) -> list[str]:
        """The actions on the list."""
        return [self.list.item(row).data(Qt.ItemDataRole.UserRole).text() for row in range(self.list.count())]

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Arrow keys move in the list, Escape closes, leaving the line closes."""
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            if event.key() == Qt.Key.Key_Escape:
                self.hide()
                return True
            if event.key() in (Qt.Key.Key_Down, Qt.Key.Key_Up):
                step = 1 if event.key() == Qt.Key.Key_Down else -1
                count = self.list.count()
                if count:
                    self.list.setCurrentRow((self.list.currentRow() + step) % count)
                return True
        if event.type() == QEvent.Type.FocusOut:
            self.hide()
        return super().eventFilter(watched, event)

    def _filter(self, query: str) -> None:
        found: list[tuple[int, int, QAction]] = []
        for number, action in enumerate(self._actions):
            score = matches(query, action.text())
            if score is not None:
                found.append((score, number, action))
        found.sort(key=lambda entry: entry[:2])
        self.list.clear()
        for _score, _number, action in found:
            keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
            item = QListWidgetItem(f"{action.text()}    {keys}" if keys else action.text())
            item.setData(Qt.ItemDataRole.UserRole, action)
            item.setSizeHint(QSize(0, 28))
            self.list.addItem(item)
        self.list.setCurrentRow(0)

    def _run(self) -> None:
        item = self.list.currentItem()
        self.hide()
        if item is not None:
            item.data(Qt.ItemDataRole.UserRole).trigger()
