"""What measured watts ask of supply, cables, circuit, air and radiators: figures as ranges, each with how it was found.

Everything is arithmetic on the draw of the cards and on the facts of ``supply_facts``; nothing of it is a measurement
but the draw. A range stands where a fact is one; its safe end is the one that asks for more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from gputuner.analysis.supply_draw import CardDraw, DrawSource
from gputuner.analysis.supply_facts import Fact
from gputuner.model.readings import Scalar


class Section(StrEnum):
    """What a figure is about, in the order of telling."""

    WATTS = "watts"
    SUPPLY = "supply"
    CONNECTORS = "connectors"
    CIRCUIT = "circuit"
    AIR = "air"
    RADIATOR = "radiator"
    COOLER = "cooler"
    ROOM = "room"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One answer: a range in ``unit``.

    ``basis``: how it was found, as a code of ``language`` with ``params``; ``confidence``: H, M or L, of the weakest
    thing that it rests on; ``id`` is its name in JSON and evidence.
    """

    section: Section
    name: str
    low: float
    high: float
    unit: str
    basis: str
    confidence: str
    params: dict[str, Scalar] = field(default_factory=lambda: {})

    @property
    def id(self) -> str:
        """Name and what tells it from others of its name."""
        own = [str(self.params[key]) for key in ("card", "kind", "fans") if key in self.params]
        return "-".join([f"supply_{self.name}", *own])


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What the user says of the machine and wants of it; None: not told, the usual range is taken."""

    cpu_w: float | None = None
    rest_w: float | None = None
    psu_w: float | None = None
    efficiency: float | None = None
    coolant_rise_k: float = 10.0
    air_rise_k: float = 10.0
    circuit_volts: float = 230.0
    circuit_amps: float = 16.0
    price: float | None = None
    """Of a kWh, in whatever currency."""
    hours_per_day: float = 24.0


RANGES: dict[str, tuple[float, float]] = {
    "watts": (1.0, 5000.0),
    "cards": (1.0, 64.0),
    "cpu_w": (0.0, 5000.0),
    "rest_w": (0.0, 5000.0),
    "psu_w": (100.0, 20000.0),
    "efficiency": (0.5, 1.0),
    "coolant_rise_k": (1.0, 40.0),
    "air_rise_k": (1.0, 40.0),
    "circuit_volts": (90.0, 500.0),
    "circuit_amps": (1.0, 200.0),
    "price": (0.0, 1e6),
    "hours_per_day": (0.1, 24.0),
}
"""What each wish may be; the command line and the form keep to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SupplyPlan:
    """All figures for these cards and wishes."""

    draws: tuple[CardDraw, ...]
    wishes: Wishes
    figures: tuple[Figure, ...]

    def of(self, name: str) -> Figure | None:
        """The first figure of a name."""
        return next((figure for figure in self.figures if figure.name == name), None)

    def all_of(self, name: str) -> list[Figure]:
        """All figures of a name."""
        return [figure for figure in self.figures if figure.name == name]

    def need(self, name: str) -> Figure:
        """A figure that every plan has."""
        found = self.of(name)
        assert found is not None, name
        return found

    @property
    def measured(self) -> bool:
        """Whether the watts of every card were measured."""
        return all(draw.measured for draw in self.draws)

    @property
    def known(self) -> bool:
        """Whether the watts of every card were measured or told: what rests on a sheet calls for nothing."""
        return all(draw.source in (DrawSource.MEASURED, DrawSource.TOLD) for draw in self.draws)


def answer(
    section: Section,
    name: str,
    ends: Sequence[float],
    unit: str,
    basis: str,
    confidence: str,
    params: Mapping[str, Scalar] | None = None,
) -> Figure:
    """A figure from both ends of its range."""
    low, high = ends
    return Figure(
        section=section,
        name=name,
        low=low,
        high=high,
        unit=unit,
        basis=basis,
        confidence=confidence,
        params=dict(params or {}),
    )


def of_fact(fact: Fact) -> dict[str, Scalar]:
    """A fact as the params of a basis."""
    told: dict[str, Scalar] = {"fact": fact.id, "source": fact.source}
    return told | {"at": fact.at} if fact.at else told
