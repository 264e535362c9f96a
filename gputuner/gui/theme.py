# pyright: standard
"""One table of colours for light and dark, the colours of series and limiters, and the sizes of the look."""

from dataclasses import dataclass
from enum import StrEnum

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QGuiApplication, QPalette

from gputuner.model.quantities import Limiter, Quantity

SPACE = (4, 8, 12, 16, 24)
"""Spacings in pixels."""
RADIUS = 6
"""Corner radius in pixels."""
TEXT_SMALL, TEXT_BODY, TEXT_TITLE, TEXT_BIG = 12, 14, 20, 28
"""Text sizes in pixels."""


class Choice(StrEnum):
    """What the user asked for."""

    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"


@dataclass(frozen=True, slots=True, kw_only=True)
class Theme:
    """Colours of one theme as ``#rrggbb``. Text on ``surface`` has a contrast ≥ 4.5, graphics ≥ 3."""

    name: str
    background: str
    surface: str
    sunk: str
    line: str
    strong_line: str
    text: str
    muted: str
    accent: str
    on_accent: str
    danger: str
    warning: str
    good: str
    vermilion: str
    orange: str
    blue: str
    sky: str
    green: str
    purple: str
    yellow: str
    limiters: dict[Limiter, str]

    def quantity(self, quantity: Quantity) -> str:
        """The colour of a sampled quantity, the same everywhere."""
        return str(getattr(self, _QUANTITY_COLOURS.get(quantity, "muted")))

    def limiter(self, limiter: Limiter) -> str:
        """The colour of a limiter."""
        return self.limiters[limiter]

    def ink(self, colour: str) -> str:
        """A series' colour as text on ``surface``."""
        return readable(colour, self.surface)

    def precision(self, precision: str) -> str:
        """The colour of a number format."""
        return str(getattr(self, _PRECISION_COLOURS.get(precision.partition("-")[0], "muted")))


_QUANTITY_COLOURS: dict[Quantity, str] = {
    Quantity.CORE_TEMPERATURE_C: "vermilion",
    Quantity.MEMORY_TEMPERATURE_C: "orange",
    Quantity.HOTSPOT_TEMPERATURE_C: "purple",
    Quantity.POWER_AVERAGE_W: "blue",
    Quantity.POWER_INSTANT_W: "sky",
    Quantity.POWER_LIMIT_ENFORCED_W: "blue",
    Quantity.SM_CLOCK_MHZ: "green",
    Quantity.MEMORY_CLOCK_MHZ: "sky",
    Quantity.MEMORY_USED_BYTES: "sky",
    Quantity.GPU_UTILISATION: "purple",
    Quantity.MEMORY_UTILISATION: "sky",
    Quantity.TENSOR_ACTIVE: "orange",
    Quantity.FAN_FRACTION: "muted",
}
_PRECISION_COLOURS = {
    "fp16": "vermilion",
    "bf16": "blue",
    "tf32": "sky",
    "fp32": "muted",
    "fp64": "purple",
    "fp8": "green",
    "int8": "orange",
}

LIGHT = Theme(
    name="light",
    background="#f4f5f7",
    surface="#ffffff",
    sunk="#eceef1",
    line="#dcdfe4",
    strong_line="#868c96",
    text="#1b1e23",
    muted="#59606b",
    accent="#0b5cbf",
    on_accent="#ffffff",
    danger="#b3261e",
    warning="#8a5200",
    good="#0a6b4c",
    vermilion="#d55e00",
    orange="#c07f00",
    blue="#0072b2",
    sky="#3593c9",
    green="#00966d",
    purple="#c0619a",
    yellow="#a39400",
    limiters={
        Limiter.NONE: "#4f9a78",
        Limiter.IDLE: "#8a919b",
        Limiter.POWER: "#3178c6",
        Limiter.THERMAL_SOFTWARE: "#cf7b06",
        Limiter.THERMAL_HARDWARE: "#c62828",
        Limiter.POWER_BRAKE: "#8e4fb5",
        Limiter.HARDWARE: "#b5447a",
        Limiter.USER_CAP: "#a39400",
        Limiter.SYNC_BOOST: "#2b8f9e",
        Limiter.UNKNOWN: "#6b727d",
    },
)

DARK = Theme(
    name="dark",
    background="#14161a",
    surface="#1d2025",
    sunk="#2a2e35",
    line="#343942",
    strong_line="#737b87",
    text="#e8eaed",
    muted="#a3aab5",
    accent="#6cabff",
    on_accent="#0d1116",
    danger="#ff8a80",
    warning="#f5b95c",
    good="#6fd1a8",
    vermilion="#f07c32",
    orange="#e6a01a",
    blue="#4aa3e0",
    sky="#7cc4ee",
    green="#2fbf94",
    purple="#d98bb6",
    yellow="#e4d84a",
    limiters={
        Limiter.NONE: "#4fa37f",
        Limiter.IDLE: "#7c8490",
        Limiter.POWER: "#4b90dd",
        Limiter.THERMAL_SOFTWARE: "#e59a2f",
        Limiter.THERMAL_HARDWARE: "#ea5a52",
        Limiter.POWER_BRAKE: "#b07ad6",
        Limiter.HARDWARE: "#dd7fa8",
        Limiter.USER_CAP: "#d8cb3c",
        Limiter.SYNC_BOOST: "#4fb3c2",
        Limiter.UNKNOWN: "#8b929d",
    },
)


def pick(choice: Choice) -> Theme:
    """The theme for a choice; ``SYSTEM`` asks the desktop."""
    if choice is Choice.SYSTEM:
        dark = QGuiApplication.styleHints().colorScheme() is Qt.ColorScheme.Dark
        return DARK if dark else LIGHT
    return DARK if choice is Choice.DARK else LIGHT


def luminance(colour: str) -> float:
    """Relative luminance 0–1 of ``#rrggbb`` (WCAG 2.1)."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours, 1–21 (WCAG 2.1)."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def text_on(colour: str) -> str:
    """Black or white, whichever reads better on ``colour``."""
    return max(("#000000", "#ffffff"), key=lambda text: contrast(text, colour))


def readable(colour: str, ground: str, least: float = 4.5) -> str:
    """``colour`` for text on ``ground``: moved towards black or white just far enough for a contrast of ``least``."""
    goal = int(text_on(ground)[1:3], 16)
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    for step in range(21):
        mixed = "#" + "".join(f"{round(part + (goal - part) * step / 20):02x}" for part in parts)
        if contrast(mixed, ground) >= least:
            return mixed
    return text_on(ground)


def tinted(colour: str, alpha: int) -> QColor:
    """``colour`` with an alpha of 0–255."""
    result = QColor(colour)
    result.setAlpha(alpha)
    return result


def qt_palette(theme: Theme) -> QPalette:
    """The palette for what the style sheet does not reach."""
    palette = QPalette()
    role = QPalette.ColorRole
    for target, colour in (
        (role.Window, theme.background),
        (role.Base, theme.surface),
        (role.AlternateBase, theme.sunk),
        (role.Button, theme.surface),
        (role.Text, theme.text),
        (role.WindowText, theme.text),
        (role.ButtonText, theme.text),
        (role.ToolTipBase, theme.surface),
        (role.ToolTipText, theme.text),
        (role.PlaceholderText, theme.muted),
        (role.Highlight, theme.accent),
        (role.HighlightedText, theme.on_accent),
        (role.Link, theme.accent),
    ):
        palette.setColor(target, QColor(colour))
    return palette
