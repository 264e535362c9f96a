# pyright: standard
"""The system's font with fall-backs for Chinese, and digits that keep their width."""

from PySide6.QtGui import QFont, QFontDatabase, QFontInfo
from PySide6.QtWidgets import QApplication, QWidget

_CHINESE = (
    "Noto Sans CJK SC",
    "Source Han Sans SC",
    "Microsoft YaHei UI",
    "PingFang SC",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
)


def use_system_font(application: QApplication) -> None:
    """Keep the system's family and let what it lacks come from a Chinese family that is installed."""
    font = application.font()
    installed = set(QFontDatabase.families())
    families = [QFontInfo(font).family(), *(name for name in _CHINESE if name in installed)]
    font.setFamilies(families)
    application.setFont(font)


def painted(size: int, bold: bool = False) -> QFont:
    """The window's font for text that a widget paints itself (the style sheet does not reach it), in pixels."""
    font = QFont(QApplication.font())
    font.setPixelSize(size)
    if bold:
        font.setWeight(QFont.Weight.DemiBold)
    return font


def tabular(widget: QWidget) -> None:
    """Give ``widget`` digits of equal width."""
    font = QFont(widget.font())
    font.setFeature(QFont.Tag("tnum"), 1)
    widget.setFont(font)
