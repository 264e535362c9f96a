"""For notebooks and scripts: the experiments of the command line as functions, with the same engine and sessions.

import gputuner
found = gputuner.find_batch_size("mine.py:make")
print(found)            # limit, safe and fastest batch, each with how it is known
"""

import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gputuner.language import sentences
from gputuner.model.advice import Advice
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.errors import ExitCode, GputunerError
from gputuner.model.events import AdviceGiven, Event, Outcome, PointMeasured, RunFinished, StepStarted, Warned
from gputuner.model.points import Flag, Point

if TYPE_CHECKING:
    from gputuner.engine.run import Run


class ExperimentFailed(GputunerError):
    """A run ended without an answer; the text is the sentence that the command line would show.

    Attributes:
        exit_code: what the command line would end with.
    """

    def __init__(self, finished: RunFinished) -> None:
        code = finished.error_code or finished.outcome.value
        text = sentences.error(code, finished.error_params, finished.error_text) if finished.error_code else code
        super().__init__(code, text, **finished.error_params)
        self.exit_code = ExitCode(finished.exit_code) if finished.exit_code else ExitCode.BUG


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSize:
    """One of the answers: samples per step, and how it is known."""

    batch: int
    tried: bool
    """Whether this very size ran (of a limit: and one just above did not); else it follows from a model."""
    rate: float | None = None
    """Samples/s at this size, where it was measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchAnswer:
    """What was found of one training on one card."""

    training: str
    card: str
    precision: str | None
    """Number format that the answers hold for; None: nothing ran."""
    limit: BatchSize | None
    safe: BatchSize | None
    fastest: BatchSize | None
    """The smallest batch within 1.5 % of the best rate; None where no rates were asked for or measured."""
    least_energy: BatchSize | None
    """The smallest batch within 1.5 % of the least energy per sample; None where the card tells no energy."""
    simulated: bool
    completed: bool
    """False: interrupted or out of time; what was measured until then is here."""
    points: tuple[Point, ...]
    advice: tuple[Advice, ...]
    warnings: tuple[str, ...]
    session: Path | None

    def __str__(self) -> str:
        """A few lines for people."""
        mark = " (simulated)" if self.simulated else ""
        lines = [f"{self.training} on {self.card}{mark}, {self.precision or 'nothing ran'}"]
        for name in ("limit", "safe", "fastest", "least_energy"):
            size: BatchSize | None = getattr(self, name)
            if size is not None:
                known = "tried" if size.tried else "from a model"
                rate = "" if size.rate is None else f", {size.rate:.4g} samples/s"
                lines.append(f"{name.replace('_', ' ') + ':':14}{size.batch} ({known}{rate})")
        return "\n".join(lines)


def find_batch_size(
    training: str = "resnet50",
    *,
    gpu: str | None = None,
    precision: str = "",
    limit_only: bool = False,
    largest_batch: int = 0,
    images: bool = False,
    minutes: float = 4.0,
    memory_cap_gib: float | None = None,
    python: str | None = None,
    share: bool = False,
    simulate: str | None = None,
    data_dir: Path | None = None,
    tell: Callable[[str], None] | None = None,
) -> BatchAnswer:
    """Largest, safe and fastest batch of a training; the same as ``gputuner --cli batch``.

    The training runs in processes of its own: this one never holds the card. An interrupt ends it and gives what was
    measured until then.

    Args:
        training: a built-in (``resnet50``, ``bert``, ``edsr``, ``gpt``, ``lstm``, ``llm``) or a recipe,
            ``FILE.py:function`` or ``module:function`` (docs/recipes.md), looked for from the current folder.
        gpu: card by UUID, unique prefix, PCI bus id, index or ``cpu``; None: the one that suits best.
        precision: the only number format to measure; empty: all that the card computes.
        limit_only: only what fits, without rates.
        largest_batch: no larger batch is tried; 0: as large as fits.
        images: a recipe's input are images: both memory layouts are compared.
        minutes: time budget.
        memory_cap_gib: treat the card as having this much memory.
        python: the interpreter whose torch is measured; None: this one.
        share: run although others compute on the card.
        simulate: a card of the catalogue to simulate (not with a recipe).
        data_dir: where the session is stored; None: the usual folder.
        tell: takes a line for each step and each remark; None: to stderr.

    Raises:
        ExperimentFailed: nothing was measured, and it is known why.
        GputunerError: it cannot start: unknown training, no card, card busy.
    """
    from gputuner.assembly.setup import open_setup
    from gputuner.experiments.batch import Batch

    is_recipe = ":" in training
    spec = Batch(
        workload="resnet50" if is_recipe else training,
        recipe=training if is_recipe else "",
        folder=str(Path.cwd()),
        precision=precision,
        images=images,
        limit_only=limit_only,
        largest_batch=largest_batch,
        minutes=minutes,
    )
    cap = None if memory_cap_gib is None else int(memory_cap_gib * 2**30)
    simulated = (simulate,) if simulate else ()
    with closing(open_setup(simulate=simulated, data_dir=data_dir, python=python, memory_cap_bytes=cap)) as setup:
        card = setup.select(gpu, for_experiment=True)[0]
        run = setup.start(spec, (card,), share=share)
        events = _events(run, tell or _to_stderr)
        return _answer(spec.subject(cpu=card.is_cpu).name, card, run.session_path, events)


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _events(run: "Run", tell: Callable[[str], None]) -> list[Event]:
    """All events; an interrupt cancels the run and waits for its end."""
    found: list[Event] = []
    while True:
        try:
            for event in run:
                found.append(event)
                match event:
                    case StepStarted():
                        tell(f"[{event.index}] {sentences.step(event.label, event.params)}")
                    case Warned():
                        tell(sentences.warning(event.code, event.params))
                    case _:
                        pass
            return found
        except KeyboardInterrupt:
            run.cancel()


def _answer(training: str, card: CardInfo, session: Path | None, events: list[Event]) -> BatchAnswer:
    points = tuple(event.point for event in events if isinstance(event, PointMeasured))
    finished = next(event for event in reversed(events) if isinstance(event, RunFinished))
    if not points and finished.outcome is not Outcome.CANCELLED:
        raise ExperimentFailed(finished)
    last = {point.metric: point for point in points}
    names = ("limit", "safe", "fastest", "least_energy")
    limit, safe, fastest, thrifty = (last.get(f"batch_{name}") for name in names)
    named = limit or fastest or last.get("train_throughput")
    return BatchAnswer(
        training=training,
        card=card.title,
        precision=str(named.params["precision"]) if named else None,
        limit=_size(limit),
        safe=_size(safe),
        fastest=_size(fastest),
        least_energy=_size(thrifty),
        simulated=card.origin is Origin.SIMULATED,
        completed=finished.outcome is Outcome.COMPLETED,
        points=points,
        advice=tuple(entry for event in events if isinstance(event, AdviceGiven) for entry in event.advice),
        warnings=tuple(sentences.warning(e.code, e.params) for e in events if isinstance(e, Warned)),
        session=session,
    )


def _size(point: Point | None) -> BatchSize | None:
    if point is None:
        return None
    rate = point.extra.get("rate")
    return BatchSize(
        batch=int(point.value),
        tried=point.params.get("verified", True) is True and Flag.EXTRAPOLATED not in point.flags,
        rate=float(rate) if isinstance(rate, int | float) else None,
    )
