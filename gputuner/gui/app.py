"""Start the window."""

import sys
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QLibraryInfo, QTranslator
from PySide6.QtWidgets import QApplication

from gputuner.gui.fonts import use_system_font
from gputuner.gui.ports import Ports
from gputuner.gui.theme import Choice
from gputuner.gui.window import MainWindow
from gputuner.language.words import language, set_language


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowOptions:
    """What the command line says about the window."""

    language: str | None = None
    theme: Choice | None = None
    screenshots: Path | None = None
    files: tuple[Path, ...] = ()


def make_application() -> QApplication:
    """The one application object with fonts and Qt's own words set up."""
    existing = QApplication.instance()
    if isinstance(existing, QApplication):
        return existing
    application = QApplication(sys.argv[:1])
    application.setApplicationName("gputuner")
    application.setDesktopFileName("gputuner")
    application.setStyle("Fusion")
    use_system_font(application)
    translator = QTranslator(application)
    folder = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
    if language() != "en" and translator.load(f"qtbase_{language()}", folder):
        application.installTranslator(translator)
    return application


def main(ports: Ports, options: WindowOptions) -> int:
    """Open the window (or draw the screenshots) and return the exit code."""
    set_language(options.language or ports.preference("language"))
    application = make_application()
    window = MainWindow(ports, options.theme)
    window.show()
    return application.exec()
