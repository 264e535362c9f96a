# pyright: standard
"""The certificate as it will be saved: the page, its fingerprint, and the ways to keep it."""

from pathlib import Path

from PySide6.QtCore import QMimeData
from PySide6.QtGui import QColor, QPalette, QTextOption
from PySide6.QtWidgets import QFrame, QTextBrowser

from gputuner.gui.plots.frame import PictureFrame
from gputuner.gui.results_health import tested_of
from gputuner.gui.run_state import RunFacts
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.labels import Elided
from gputuner.language.health_certificate import STYLE, Tested, certificate, page, written
from gputuner.language.words import _

BREAK, EVERY = "\u200b", 8
"""Where a line of the fingerprint may end, after so many digits: no word is torn, so nothing else may end a line."""
SMALL = STYLE.replace("15px/1.5", "12px/1.4").replace("4px 10px", "3px 6px").replace("32px auto", "8px auto")
"""The page's style in a frame that is narrower than a sheet of paper."""


def _style(theme: Theme) -> str:
    """In the theme's colours; the page that is saved keeps those of paper."""
    style = SMALL
    for paper, screen in (
        ("#1b1f24", theme.text), ("#d0d7de", theme.line), ("#1a7f37", theme.good), ("#cf222e", theme.danger)
    ):  # fmt: skip
        style = style.replace(paper, screen)
    return style


class _Paper(QTextBrowser):
    """What is copied from it has nothing in it that is there only to break lines."""

    def createMimeDataFromSelection(self) -> QMimeData:
        """The chosen words."""
        chosen = QMimeData()
        chosen.setText(self.textCursor().selection().toPlainText().replace(BREAK, ""))
        return chosen


class CertificatePicture(PictureFrame):
    """Shows the page; HTML and JSON are written as the command line writes them."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(_("Certificate"))
        self.tested: Tested | None = None
        self._body: dict[str, object] = {}
        self._page = ""
        self.browser = _Paper()
        self.browser.setWordWrapMode(QTextOption.WrapMode.WordWrap)
        self.browser.setOpenLinks(False)
        self.browser.setAccessibleName(_("Health certificate"))
        palette = self.browser.palette()
        palette.setColor(QPalette.ColorRole.Base, QColor(theme.surface))
        palette.setColor(QPalette.ColorRole.Text, QColor(theme.text))
        self.browser.setPalette(palette)
        self.browser.setFrameShape(QFrame.Shape.NoFrame)
        self._style = _style(theme)
        self.browser.setProperty("role", "paper")
        self._said = Elided()
        self._said.setContentsMargins(10, 4, 8, 4)
        self._said.hide()
        self.body.setContentsMargins(6, 0, 6, 2)
        self.set_picture(self.browser)
        self.body.addWidget(self._said)

    @property
    def fingerprint(self) -> str:
        """The fingerprint as the page has it; "" before there is a certificate."""
        return str(self._body.get("fingerprint", ""))

    @property
    def said(self) -> str:
        """What came of saving."""
        return self._said.whole

    def show_facts(self, facts: RunFacts) -> None:
        """Show the certificate of a run that has ended."""
        tested = tested_of(facts)
        if tested == self.tested and self._body:
            return
        self.tested = tested
        self._body = certificate(tested) if tested is not None else {}
        self._page = page(tested, self._body) if tested is not None else ""
        print_ = self.fingerprint
        shown = self._page.replace(STYLE, self._style)
        if print_:
            shown = shown.replace(print_, BREAK.join(print_[at : at + EVERY] for at in range(0, len(print_), EVERY)))
        self.browser.setHtml(shown)
        self._say("")

    def save(self, target: Path) -> None:
        """Write the page (``.html``) or the document (``.json``); what was there is replaced."""
        text = written(self._body) if target.suffix.lower() == ".json" else self._page
        try:
            target.write_text(text, encoding="utf-8")
        except OSError as err:
            told = _("The certificate cannot be written to {path}: {reason}.")
            self._say(told.format(path=target, reason=err.strerror or err))
        else:
            self._say(_("Certificate: {path}").format(path=target))

    def _say(self, words: str) -> None:
        self._said.show_text(words)
        self._said.setVisible(bool(words))

    def files(self) -> dict[str, str]:
        """What it can be saved as: words of the dialog by file ending."""
        return {} if self.tested is None else {".html": _("Page (*.html)"), ".json": _("Document (*.json)")}
