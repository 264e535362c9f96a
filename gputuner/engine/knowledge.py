"""What is known of a card before it is measured: its sheet, what others published, whether our kernels can run."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gputuner.advice.chances import Chances
from gputuner.catalog.facts import CardFacts
from gputuner.catalog.published import PublishedResult
from gputuner.model.cards import CardInfo


def _no_figures(_: CardInfo) -> Mapping[str, float]:
    return {}


def _no_results(_: CardInfo) -> tuple[PublishedResult, ...]:
    return ()


def _no_kernels(_: CardInfo) -> bool:
    return False


def _no_sheets() -> Mapping[str, CardFacts]:
    return {}


def _no_record(_: CardInfo) -> Chances:
    return Chances()


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """Asked once at the start of a run.

    ``reference``: sheet figures (``peak_bf16`` in FLOP/s …). ``results``: published rows of this very card.
    ``kernels``: whether the run can use our own kernels on it. ``record``: what came of advice that was tried.
    ``sheets``: those of all cards of the catalogue, by id.
    """

    reference: Callable[[CardInfo], Mapping[str, float]] = _no_figures
    results: Callable[[CardInfo], tuple[PublishedResult, ...]] = _no_results
    kernels: Callable[[CardInfo], bool] = _no_kernels
    sheets: Callable[[], Mapping[str, CardFacts]] = _no_sheets
    record: Callable[[CardInfo], Chances] = _no_record
