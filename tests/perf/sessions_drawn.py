"""From a click on a session of ten million samples to its drawn overview, in the real window without a display.

    python tests/perf/sessions_drawn.py --rows 10080000        # builds the session first (minutes)
    python tests/perf/sessions_drawn.py --folder FOLDER        # a data folder that has it already

Prints the wall time from choosing the session to the page with all curves painted into a picture.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
sys.path.insert(0, str(Path(__file__).parent))

from PySide6.QtCore import QEventLoop
from sessions_ten_million import build

from gputuner.assembly.setup import open_setup
from gputuner.assembly.window import WindowPorts
from gputuner.gui.app import make_application
from gputuner.gui.theme import Choice
from gputuner.gui.window import MainWindow


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_080_000)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        if not list(folder.glob("sessions/*.sqlite")):
            build(folder, given.rows)
        draw(folder)


def draw(folder: Path) -> None:
    """Open the session three times and say how long it took."""
    (path,) = folder.glob("sessions/*.sqlite")
    setup = open_setup(simulate=("rtx-3090",), data_dir=folder)
    application = make_application()
    window = MainWindow(WindowPorts(setup), Choice.LIGHT)
    window.resize(1366, 768)
    window.show()
    window.show_page("sessions")
    window.sessions.load_plots()
    shown: list[object] = []
    page = window.sessions
    show = page.show_content
    page.show_content = lambda path, content: (show(path, content), shown.append(path))
    for opening in range(4):
        shown.clear()
        begin = time.perf_counter()
        if opening == 0:
            window.open_file(path)
        else:
            page.open_wanted.emit(path)
        while not shown:
            application.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents)
        application.processEvents()
        window.grab()
        print(f"drawn after {time.perf_counter() - begin:.2f} s, load {os.getloadavg()[0]:.1f}")
    window.close()
    setup.close()


if __name__ == "__main__":
    main()
