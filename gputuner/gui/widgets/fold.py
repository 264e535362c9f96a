# pyright: standard
"""A line that opens and closes what is rarely needed; the same wherever something folds."""

from PySide6.QtWidgets import QPushButton, QSizePolicy, QVBoxLayout, QWidget

from gputuner.language.words import _, ngettext

CLOSED, OPEN = "▸", "▾"


class Fold(QWidget):
    """Closed at first; what stands in it (``column``) counts whether it is seen or not."""

    def __init__(self, words: str = "") -> None:
        """``words``: what the line says; by default that there are more options."""
        super().__init__()
        self.setProperty("role", "clear")
        self._words = words or _("More options")
        self.opener = QPushButton()
        self.opener.setProperty("fold", True)
        self.opener.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.opener.setAccessibleName(self._words)
        self.opener.clicked.connect(lambda _checked=False: self.unfold(not self.unfolded))
        self._inside = QWidget()
        self._inside.setProperty("role", "clear")
        self.column = QVBoxLayout(self._inside)
        self.column.setContentsMargins(0, 4, 0, 0)
        self.column.setSpacing(2)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 4)
        layout.setSpacing(0)
        layout.addWidget(self.opener)
        layout.addWidget(self._inside)
        self.unfolded, self._set = False, 0
        self.unfold(False)

    def unfold(self, open_: bool) -> None:
        """Show or hide what stands in it."""
        self.unfolded = open_
        self._inside.setVisible(open_)
        self._say()

    def tell_set(self, count: int) -> None:
        """So much of what stands in it is not as usual; the line says it while the fold is closed."""
        self._set = count
        self._say()

    def _say(self) -> None:
        told = [self._words]
        if self._set and not self.unfolded:
            told.append(ngettext("{count} is set", "{count} are set", self._set).format(count=self._set))
        self.opener.setText(f"{OPEN if self.unfolded else CLOSED} {' · '.join(told)}")
