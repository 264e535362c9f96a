"""What a plan is told of its card beside the telemetry: sheet, published rows, idle neighbours, our kernels."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import pytest

from gputuner.assembly.knowledge import KNOWLEDGE, kernels
from gputuner.assembly.setup import open_setup
from gputuner.engine.admission import idle
from gputuner.model.cards import CPU_CARD, CardInfo, CardState, Origin
from gputuner.model.errors import UsageError
from gputuner.model.samples import CardProcesses, ProcessOnCard


@dataclass(frozen=True)
class Curious:
    """An experiment that only looks at its context."""

    name: ClassVar[str] = "curious"
    needs_worker: ClassVar[bool] = True
    seen: list = field(default_factory=list, hash=False)

    def plan(self, context):
        self.seen.append(context)
        yield from ()

    def expected_s(self):
        return 10.0

    def limited(self):
        return True


def context_of(folder: Path, *ids: str):
    setup = open_setup(simulate=ids, data_dir=folder)
    spec = Curious()
    try:
        list(setup.start(spec, setup.cards()[:1]))
    finally:
        setup.close()
    return spec.seen[0]


def test_a_plan_knows_what_others_published_for_this_very_card(tmp_path):
    context = context_of(tmp_path, "rtx-4090-48g")
    assert {row.gpu for row in context.results} == {"RTX 4090 48GB (mod)"}
    assert context.published["peak_int8"] == pytest.approx(660.6e12)
    assert context.published["bus_bits"] == 384
    assert context.kernels
    assert context.others == ()


def test_a_plan_knows_its_idle_neighbours(tmp_path):
    context = context_of(tmp_path, "rtx-3090", "rtx-4090", "rtx-3090")
    assert len(context.others) == 2
    assert context.card.uuid not in {card.uuid for card in context.others}


@pytest.mark.parametrize(
    ("state", "busy", "uuid", "told"),
    [
        (CardState.READY, False, "GPU-1", True),
        (CardState.READY, True, "GPU-1", False),
        (CardState.LOST, False, "GPU-1", False),
        (CardState.ASLEEP, False, "GPU-1", False),
        (CardState.READY, False, CPU_CARD, False),
    ],
)
def test_who_counts_as_idle(state, busy, uuid, told):
    card = CardInfo(uuid=uuid, index=1, name="card", state=state)
    users = (ProcessOnCard(pid=7, name=None, user=None, command=None, memory_bytes=None),) if busy else ()
    assert idle(card, CardProcesses(card=uuid, t_ns=0, processes=users)) is told


def test_kernels_run_on_a_model_and_where_the_extra_is_installed(monkeypatch):
    card = CardInfo(uuid="GPU-1", index=0, name="card")
    monkeypatch.setattr("gputuner.assembly.knowledge.KERNELS_MODULE", "json.decoder")
    assert kernels(card)
    monkeypatch.setattr("gputuner.assembly.knowledge.KERNELS_MODULE", "no_such_package.core")
    assert not kernels(card)
    assert kernels(CardInfo(uuid="GPU-1", index=0, name="card", origin=Origin.SIMULATED))


def test_of_an_unknown_card_nothing_is_known():
    card = CardInfo(uuid="GPU-1", index=0, name="unheard of")
    assert KNOWLEDGE.results(card) == ()
    assert KNOWLEDGE.reference(card) == {}


def test_the_machine_is_told_without_a_run(tmp_path):
    setup = open_setup(simulate=("rtx-3090", "rtx-3090"), data_dir=tmp_path)
    try:
        machine = setup.machine(setup.cards()[0])
    finally:
        setup.close()
    assert (len(machine.others), machine.kernels, machine.torch) == (1, True, None)


def test_an_unknown_simulated_card_is_refused(tmp_path):
    with pytest.raises(UsageError):
        context_of(tmp_path, "rtx-9999")
