# pyright: standard
"""The one style sheet of the window, made from a theme. Widgets choose a look by object name or dynamic property."""

from gputuner.gui.theme import RADIUS, TEXT_BIG, TEXT_BODY, TEXT_SMALL, TEXT_TITLE, Theme

_SHEET = """
* { font-size: %(body)dpx; outline: none; }
QWidget { color: %(text)s; }
QMainWindow, QWidget[role="page"], QScrollArea, QScrollArea > QWidget > QWidget[role="page"] {
  background: %(background)s; border: none; }
QWidget[role="clear"], QScrollArea[role="clear"], QScrollArea[role="clear"] > QWidget#qt_scrollarea_viewport {
  background: transparent; }
QScrollArea[role="clear"] { border: 1px solid transparent; border-radius: 4px; }
QScrollArea[role="clear"]:focus { border-color: %(accent)s; }
QToolTip { background: %(surface)s; color: %(text)s; border: 1px solid %(line)s; padding: 4px; font-size: %(small)dpx; }

QFrame[role="card"] { background: %(surface)s; border: 1px solid %(line)s; border-radius: %(radius)dpx; }
QFrame[role="notice"] { background: %(surface)s; border: 1px solid %(strong_line)s; border-radius: %(radius)dpx; }
QFrame[role="rule"] { background: %(line)s; border: none; max-height: 1px; min-height: 1px; }
QFrame#navigation { background: %(surface)s; border: none; border-right: 1px solid %(line)s; }
QFrame#palette { background: %(surface)s; border: 1px solid %(strong_line)s; border-radius: %(radius)dpx; }

QLabel { background: transparent; }
QLabel[role="small"] { font-size: %(small)dpx; }
QLabel[role="muted"] { font-size: %(small)dpx; color: %(muted)s; }
QLabel[role="unit"] { font-size: %(body)dpx; color: %(muted)s; }
QLabel[role="title"] { font-size: %(title)dpx; font-weight: 700; }
QLabel[role="heading"] { font-weight: 700; }
QLabel[role="big"] { font-size: %(big)dpx; font-weight: 700; }
QLabel[role="big"][faded="true"], QLabel[role="legend"][faded="true"] { color: %(muted)s; font-weight: 400; }
QLabel[role="legend"] { font-size: %(small)dpx; }
QLabel[role="gain"] { color: %(accent)s; font-weight: 700; }
QLabel[role="danger"] { color: %(danger)s; }
QLabel[role="good"] { color: %(good)s; }
QLabel[role="verdict"], QLabel[role="verdict-good"], QLabel[role="verdict-danger"] { font-size: %(verdict)dpx;
    font-weight: 700; }
QLabel[role="verdict-good"] { color: %(good)s; }
QLabel[role="verdict-danger"] { color: %(danger)s; }
QPlainTextEdit[role="code"] { font-family: monospace; font-size: %(code)dpx; background: %(sunk)s; color: %(text)s;
  border: 1px solid %(sunk)s; border-radius: 4px; padding: 2px 4px; selection-background-color: %(accent)s;
  selection-color: %(on_accent)s; placeholder-text-color: %(muted)s; }
QPlainTextEdit[role="code"]:focus { border-color: %(accent)s; }

QPushButton, QToolButton { background: %(surface)s; border: 1px solid %(line)s; border-radius: %(radius)dpx;
  padding: 4px 12px; min-height: 20px; }
QToolButton { padding: 3px 8px; }
QPushButton:hover, QToolButton:hover { background: %(sunk)s; }
QPushButton:focus, QToolButton:focus { border-color: %(accent)s; }
QPushButton:disabled, QToolButton:disabled { color: %(muted)s; background: %(background)s; }
QPushButton[primary="true"] { background: %(accent)s; color: %(on_accent)s; border-color: %(accent)s;
  font-weight: 700; }
QPushButton[primary="true"]:focus { border: 2px solid %(text)s; padding: 3px 11px; }
QPushButton[primary="true"]:disabled { background: %(sunk)s; color: %(muted)s; border-color: %(line)s; }
QPushButton[chip="true"] { padding: 3px 10px; min-height: 22px; }
QPushButton[chip="true"]:checked { border: 1px solid %(accent)s; background: %(sunk)s; }
QPushButton[chip="true"]:checked:focus { border: 2px solid %(accent)s; padding: 2px 9px; }
QPushButton[quiet="true"], QToolButton[quiet="true"] { border-color: transparent; background: transparent; }
QPushButton[quiet="true"]:hover, QToolButton[quiet="true"]:hover { background: %(sunk)s; }
QPushButton[quiet="true"]:focus, QToolButton[quiet="true"]:focus { border-color: %(accent)s; }
QPushButton[quiet="true"]:checked, QToolButton[quiet="true"]:checked { background: %(sunk)s; color: %(accent)s; }
QToolButton[fold="true"] { border-color: transparent; background: transparent; color: %(muted)s; padding: 0;
  min-height: 16px; }
QToolButton[fold="true"]:focus { border-color: %(accent)s; }
QPushButton[fold="true"] { border: 1px solid transparent; border-radius: 4px; background: transparent; color: %(muted)s;
  text-align: left; padding: 2px 4px 2px 0; min-height: 16px; }
QPushButton[fold="true"]:hover { color: %(text)s; background: transparent; }
QPushButton[fold="true"]:focus { border-color: %(accent)s; }
QPushButton[small="true"] { font-size: %(small)dpx; padding: 1px 8px; min-height: 18px; }
QPushButton[segment="true"] { padding: 3px 10px; }
QPushButton[segment="true"]:checked { background: %(sunk)s; border-color: %(accent)s; color: %(accent)s; }
QPushButton[segment="true"]:checked:focus { border: 2px solid %(accent)s; padding: 2px 9px; }
QPushButton::menu-indicator { image: none; width: 0; }
QToolButton[nav="true"] { text-align: left; border: 1px solid transparent; background: transparent; color: %(muted)s;
  padding: 6px 8px; }
QToolButton[nav="true"]:hover { background: %(sunk)s; }
QToolButton[nav="true"]:checked { background: %(sunk)s; color: %(accent)s; }
QToolButton[nav="true"]:focus { border-color: %(accent)s; }
QToolButton::menu-indicator { image: none; width: 0; }

QLineEdit, QSpinBox, QDoubleSpinBox, QComboBox { background: %(surface)s; border: 1px solid %(strong_line)s;
  border-radius: %(radius)dpx; padding: 3px 8px; min-height: 22px; selection-background-color: %(accent)s;
  selection-color: %(on_accent)s; placeholder-text-color: %(muted)s; }
QLineEdit:focus, QSpinBox:focus, QDoubleSpinBox:focus, QComboBox:focus { border: 2px solid %(accent)s;
  padding: 2px 7px; }
QSpinBox QLineEdit:focus, QDoubleSpinBox QLineEdit:focus { border: none; padding: 0 6px; }
QLineEdit:disabled, QSpinBox:disabled, QDoubleSpinBox:disabled, QComboBox:disabled { color: %(muted)s;
  background: %(background)s; border-color: %(line)s; }
QSpinBox QLineEdit, QDoubleSpinBox QLineEdit { border: none; padding: 0 6px; min-height: 0;
  background: transparent; }
QSpinBox, QDoubleSpinBox { max-height: 22px; }
QSpinBox::up-button, QDoubleSpinBox::up-button { subcontrol-origin: border; subcontrol-position: top right;
  width: 22px; height: 14px; border: none; }
QSpinBox::down-button, QDoubleSpinBox::down-button { subcontrol-origin: border; subcontrol-position: bottom right;
  width: 22px; height: 14px; border: none; }
QSpinBox::up-arrow, QDoubleSpinBox::up-arrow, QSpinBox::down-arrow, QDoubleSpinBox::down-arrow,
QComboBox::down-arrow { image: none; width: 0; height: 0; }
QLineEdit { padding-left: 6px; }
QLineEdit:focus { padding-left: 5px; }
QComboBox::drop-down { border: none; width: 18px; }
QComboBox QAbstractItemView { background: %(surface)s; border: 1px solid %(line)s;
  selection-background-color: %(sunk)s;
  selection-color: %(text)s; }
QCheckBox { background: transparent; spacing: 8px; border: 1px solid transparent; border-radius: 4px; padding: 2px; }
QCheckBox:focus { border-color: %(accent)s; }
QCheckBox::indicator { width: 14px; height: 14px; border: 1px solid %(strong_line)s; border-radius: 3px;
  background: %(background)s; }
QCheckBox[small="true"] { font-size: %(small)dpx; padding: 1px; }
QCheckBox:disabled { color: %(muted)s; }
QCheckBox::indicator:checked, QCheckBox::indicator:indeterminate { background: %(accent)s; border-color: %(accent)s; }
QCheckBox::indicator:disabled { border-color: %(line)s; }

QMenu { background: %(surface)s; border: 1px solid %(line)s; padding: 4px; }
QMenu::item { padding: 4px 16px; border-radius: 4px; }
QMenu::item:selected { background: %(sunk)s; }
QMenu::item:checked { color: %(accent)s; font-weight: 700; }

QTableView, QListView { background: %(surface)s; border: 1px solid transparent; border-radius: 4px;
  selection-background-color: %(sunk)s; selection-color: %(text)s; font-size: %(small)dpx; }
QListView::item { padding: 4px 8px; }
QListView::item:selected { background: %(sunk)s; color: %(text)s; }
QTableView::item { padding: 2px 6px; border: none; }
QTableView:focus { border-color: %(accent)s; }
QHeaderView { background: %(surface)s; }
QHeaderView::section { background: %(surface)s; color: %(muted)s; border: none; border-bottom: 1px solid %(line)s;
  padding: 3px 9px; font-size: %(small)dpx; }
QTableCornerButton::section { background: %(surface)s; border: none; }

QScrollBar:vertical { background: transparent; width: 10px; margin: 0; }
QScrollBar:horizontal { background: transparent; height: 10px; margin: 0; }
QScrollBar::handle { background: %(strong_line)s; border-radius: 2px; margin: 3px; }
QScrollBar::handle:hover { background: %(muted)s; }
QScrollBar::handle:vertical { min-height: 24px; }
QScrollBar::handle:horizontal { min-width: 24px; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; background: none; border: none; }
QScrollBar::add-page, QScrollBar::sub-page { background: none; }
QAbstractScrollArea::corner { background: transparent; border: none; }
QSplitter::handle { background: transparent; }
"""


def stylesheet(theme: Theme) -> str:
    """The style sheet for ``theme``."""
    return _SHEET % {
        "body": TEXT_BODY - 1,
        "small": TEXT_SMALL,
        "code": TEXT_SMALL - 1,
        "title": TEXT_TITLE - 4,
        "verdict": TEXT_TITLE,
        "big": TEXT_BIG,
        "radius": RADIUS,
        **{
            name: getattr(theme, name)
            for name in (
                [
                    "background",
                    "surface",
                    "sunk",
                    "line",
                    "strong_line",
                    "text",
                    "muted",
                    "accent",
                    "on_accent",
                    "danger",
                    "warning",
                    "good",
                ]
            )
        },
    }
