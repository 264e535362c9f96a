"""What a user wants to be told of a card: rules with thresholds, and what becomes of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from gputuner.model.cards import CardInfo


class AlertKind(StrEnum):
    """What a rule looks at; the value is its word on the command line."""

    TEMPERATURE = "temperature"
    MEMORY_TEMPERATURE = "memory-temperature"
    """Without a threshold: near the limit of each card's own memory."""
    HOTSPOT = "hotspot"
    MARGIN = "margin"
    """The core's distance to the temperature at which the card itself slows down."""
    FAN = "fan"
    """A hot core, and a fan of the card's own that stands or is slower than the rule wants."""
    LIMIT = "limit"
    """Seconds of the last minute in a thermal limit, the power brake or a slowdown by the hardware that names no cause;
    the hardware's thermal limit counts at once."""
    XID = "xid"
    LOST = "lost"
    SILENT = "silent"
    """A card that is neither lost nor asleep gives no readings."""
    STUCK = "stuck"
    """The core's sensor stands still though the power changes: rules on heat are blind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KindInfo:
    """Unit and range of a kind's threshold (None: it has none), and the values a rule has unless the user says so.

    ``falls``: the alert is about a value that is too low. ``margin_most``: largest ``clear_margin``. ``own``: without a
    threshold, which it need not have then, the card's own counts.
    """

    unit: str = ""
    low: float | None = None
    high: float | None = None
    threshold: float | None = None
    hold_s: float = 0.0
    clear_margin: float = 0.0
    margin_most: float = 0.0
    falls: bool = False
    own: bool = False


KINDS: Mapping[AlertKind, KindInfo] = MappingProxyType(
    {
        AlertKind.TEMPERATURE: KindInfo(
            unit="degC", low=30, high=120, threshold=88, hold_s=30, clear_margin=4, margin_most=40
        ),
        AlertKind.MEMORY_TEMPERATURE: KindInfo(
            unit="degC", low=30, high=120, hold_s=30, clear_margin=4, margin_most=40, own=True
        ),
        AlertKind.HOTSPOT: KindInfo(
            unit="degC", low=30, high=130, threshold=105, hold_s=30, clear_margin=4, margin_most=40
        ),
        AlertKind.MARGIN: KindInfo(
            unit="degC", low=0, high=60, threshold=3, hold_s=3, clear_margin=3, margin_most=40, falls=True
        ),
        AlertKind.FAN: KindInfo(unit="degC", low=30, high=110, threshold=65, hold_s=15, clear_margin=5, margin_most=40),
        AlertKind.LIMIT: KindInfo(unit="s", low=1, high=60, threshold=20, clear_margin=10, margin_most=60),
        AlertKind.XID: KindInfo(),
        AlertKind.LOST: KindInfo(),
        AlertKind.SILENT: KindInfo(unit="s", low=5, high=3600, threshold=30),
        AlertKind.STUCK: KindInfo(),
    }
)
"""The table of kinds. Without a user's word: cards regulate their core to 83 to 85 °C by themselves
(``resources/gpus.toml``), so that 88 °C is not ordinary; cards that slow down earlier are what ``margin`` is for.
Memory differs: 85 °C is the limit of a V100's HBM, 95 °C of an H200's, 110 °C of GDDR6X. A fan that may
rest in idle turns well before 65 °C."""

OWN_BELOW_K = 5.0
"""So far below the limit of a card's memory it is told of, where the rule has no threshold (as in our own runs)."""
MEMORY_LIMIT_C = 105.0
"""Of a card that tells its memory's temperature and whose limit nobody tells."""

HELD: frozenset[AlertKind] = frozenset(
    {
        AlertKind.TEMPERATURE,
        AlertKind.MEMORY_TEMPERATURE,
        AlertKind.HOTSPOT,
        AlertKind.MARGIN,
        AlertKind.FAN,
        AlertKind.LOST,
    }
)
"""Kinds that a ``hold_s`` makes sense for: the others are about a duration or a moment by themselves."""
LIMIT_WINDOW_S = 60.0
"""Of so many last seconds the time in a limit is told."""
HOLD_S = (0.0, 3600.0)
QUIET_S = (0.0, 86400.0)
HOOK_TIMEOUT_S = (1.0, 600.0)
MOST_RULES = 100
MOST_WORDS = 64
"""Words of a hook's command line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertRule:
    """One thing to be told of.

    ``hold_s``: the condition must hold so long, by readings, before the alert is raised, and be gone so long before it
    is cleared. ``clear_margin``: how far back behind ``threshold`` (in its unit) a value must be to count as gone.
    ``quiet_s``: within it after a raise the same alert of the same card is raised again without hook and notification.
    """

    name: str
    kind: AlertKind
    threshold: float | None = None
    hold_s: float = 0.0
    clear_margin: float = 0.0
    quiet_s: float = 300.0
    cards: tuple[str, ...] = ()
    """UUIDs; empty: every card but the processor."""
    least_fan: float = 0.0
    """Of ``fan``: the fraction that is too slow; 0: it stands."""
    xids: tuple[int, ...] = ()
    """Of ``xid``: these only; empty: each."""
    on: bool = True

    def watches(self, card: str, *, processor: bool) -> bool:
        """True if the rule is on and about this card."""
        return self.on and (card in self.cards if self.cards else not processor)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertPlan:
    """All that the user set: rules by unique names, a command to run, and what the desktop is told."""

    rules: tuple[AlertRule, ...] = ()
    hook: tuple[str, ...] = ()
    """Program and arguments; no shell. Empty: none."""
    hook_timeout_s: float = 30.0
    notify: bool = True
    notify_runs: bool = True
    """The window tells the desktop of a long run that ends while it is not in front."""

    @property
    def active(self) -> tuple[AlertRule, ...]:
        """The rules that are on."""
        return tuple(rule for rule in self.rules if rule.on)


def default_rule(kind: AlertKind) -> AlertRule:
    """The rule of a kind as it is without a user's word."""
    info = KINDS[kind]
    return AlertRule(
        name=kind.value,
        kind=kind,
        threshold=info.threshold,
        hold_s=info.hold_s,
        clear_margin=info.clear_margin,
    )


def threshold_of(rule: AlertRule, card: CardInfo) -> float:
    """What the rule's value is held against on this card: its own threshold, else what the card's limit makes of it."""
    if rule.threshold is not None or not KINDS[rule.kind].own:
        return rule.threshold or 0.0
    limit_c = card.number("memory_max_c")
    if limit_c is None and card.catalog is not None:
        limit_c = card.catalog.memory_limit_c
    return (MEMORY_LIMIT_C if limit_c is None else limit_c) - OWN_BELOW_K


DEFAULT_RULES: tuple[AlertRule, ...] = tuple(default_rule(kind) for kind in AlertKind)
"""What ``alerts on`` takes where the user has set nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertChange:
    """An alert was raised or cleared at ``t_ns`` on the clock of the readings.

    ``value``: what was read, in the unit of the rule's kind (``xid``: its number; ``fan``: the core's temperature).
    ``detail``: the limit of ``limit``, the fan's reading of ``fan``. ``quiet``: not to be told by hook or notification.
    """

    rule: AlertRule
    card: str
    t_ns: int
    raised: bool
    value: float | None = None
    detail: str = ""
    quiet: bool = False
    lasted_s: float | None = None
    """Of a cleared one: how long it was raised; None: not known."""

    @property
    def key(self) -> tuple[str, str, str]:
        """Which alert it is: rule, card and, of XIDs, the number."""
        return self.rule.name, self.card, f"{self.value:.0f}" if self.rule.kind is AlertKind.XID else ""
