# pyright: standard
"""The certificate as it will be saved: the page, its fingerprint, and the ways to keep it."""

from pathlib import Path

from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QTextBrowser

from gputuner.gui.plots.frame import PictureFrame
from gputuner.gui.results_health import tested_of
from gputuner.gui.run_state import RunFacts
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.labels import Elided
from gputuner.gui.widgets.save import ask_where
from gputuner.language.health_certificate import STYLE, Tested, certificate, page, written
from gputuner.language.words import _

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


class CertificatePicture(PictureFrame):
    """Shows the page; HTML and JSON are written as the command line writes them."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(_("Certificate"))
        self.tested: Tested | None = None
        self._body: dict[str, object] = {}
        self._page = ""
        self.browser = QTextBrowser()
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
        self.html_button = QPushButton(_("Save page…"))
        self.json_button = QPushButton(_("Save JSON…"))
        for button, ending in ((self.html_button, ".html"), (self.json_button, ".json")):
            button.setProperty("small", True)
            button.clicked.connect(lambda _checked=False, ending=ending: self._ask(ending))
        row = QHBoxLayout()
        row.setContentsMargins(10, 4, 8, 4)
        row.setSpacing(8)
        row.addWidget(self._said, 1)
        row.addWidget(self.html_button)
        row.addWidget(self.json_button)
        self.body.setContentsMargins(6, 0, 6, 2)
        self.set_picture(self.browser)
        self.body.addLayout(row)

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
        self.browser.setHtml(self._page.replace(STYLE, self._style))
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

    def _ask(self, ending: str) -> None:
        if self.tested is None:
            return
        kinds = {".html": _("Page (*.html)"), ".json": _("Document (*.json)")}
        ask_where(self, _("Save"), f"health-{self.tested.run_id}{ending}", [kinds[ending]], self.save)
