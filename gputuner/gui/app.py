# pyright: standard
"""Start the window, or draw its pages to files."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile

from PySide6.QtCore import QLibraryInfo, QTranslator
from PySide6.QtWidgets import QApplication

from gputuner.assembly.display import display_trouble
from gputuner.gui.fonts import use_system_font
from gputuner.gui.interrupts import Interrupts
from gputuner.gui.options import WindowOptions, parse
from gputuner.gui.ports import Ports
from gputuner.gui.window import MainWindow
from gputuner.language import sentences
from gputuner.language.words import language, not_compiled, set_language
from gputuner.model.errors import GputunerError, ImportLogError, StoreError


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


def main(arguments: Sequence[str] = ()) -> int:
    """Open the window, or draw the screenshots, as the command line (without the program's name) says."""
    set_language(None)
    try:
        options = parse(arguments)
        if options.language is not None:
            set_language(options.language)
        if options.screenshots is None and (trouble := display_trouble(os.environ)) is not None:
            raise trouble
        with _program(options) as (ports, card):
            _try_files(ports, options)
            if options.screenshots is not None:
                _make_folder(options.screenshots)
            return run(ports, options, card)
    except GputunerError as err:
        print(f"gputuner: {sentences.error(err)}", file=sys.stderr)
        return int(err.exit_code)


def run(ports: Ports, options: WindowOptions, card: str | None = None) -> int:
    """Show the window (or draw the screenshots) with these ports; ``card`` is the one Tune starts with."""
    if options.language is None:
        set_language(ports.preference("language"))
    if told := not_compiled():
        print(f"gputuner: {told}", file=sys.stderr)
    if options.screenshots is not None:
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
    application = make_application()
    if options.screenshots is not None:
        from gputuner.gui.screenshots import draw_all

        return draw_all(ports, options.screenshots, minutes=options.minutes, card=card)
    window = MainWindow(ports, options.theme)
    window.preset(card, options.minutes, options.share)
    window.show()
    for path in options.files:
        window.open_file(path)
    interrupts = Interrupts(window.close)
    try:
        return application.exec()
    finally:
        interrupts.restore()


def _make_folder(folder: Path) -> None:
    """Make the folder of the screenshots before a run is made for them.

    Raises:
        StoreError: it cannot be made or written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as err:
        message = err.strerror or str(err)
        raise StoreError(
            "screenshots_unwritable", f"no pictures can be written to {folder}", path=str(folder), message=message
        ) from err


def _try_files(ports: Ports, options: WindowOptions) -> None:
    """Open each file once, so that what is no session is said where it was named.

    Raises:
        GputunerError: a file is no session, or not there.
    """
    for path in options.files:
        if os.path.exists(path) and not os.path.isfile(path):
            raise ImportLogError("no_session_file", f"{path} is no session file", path=str(path))
        ports.open_session(path).close()


@contextmanager
def _program(options: WindowOptions) -> Iterator[tuple[Ports, str | None]]:
    """The ports of the whole program, and the card that ``--gpu`` names. Screenshots leave no session behind."""
    from gputuner.assembly.setup import open_setup
    from gputuner.assembly.window import WindowPorts

    with _folder(options) as data_dir:
        setup = open_setup(
            simulate=options.simulate,
            replay=options.replay,
            data_dir=data_dir,
            python=None if options.python is None else str(options.python),
            memory_cap_bytes=None if options.memory_cap_gib is None else int(options.memory_cap_gib * 2**30),
        )
        try:
            chosen = setup.select(options.gpu, for_experiment=True)[0].uuid if options.gpu is not None else None
            yield WindowPorts(setup), chosen
        finally:
            setup.close()


@contextmanager
def _folder(options: WindowOptions) -> Iterator[Path | None]:
    if options.screenshots is None or options.data_dir is not None:
        yield options.data_dir
    else:
        with TemporaryDirectory(prefix="gputuner-") as folder:
            yield Path(folder)
