"""Attention, convolutions, links, loader and launches on simulated cards: plausible, and within what was published."""

import pytest

from gputuner.devices.simulated import SimulatedCards, SimulatedClock
from gputuner.workloads.bodies.attention import attention_bytes, attention_flop
from gputuner.workloads.bodies.conv import ConvShape as BodyShape
from gputuner.workloads.simulated_costs.shelf import is_survey, settings_of
from gputuner.workloads.specs_links import MIB, AllReduceSpec, PeerTransferSpec, TransferSpec
from gputuner.workloads.specs_operations import AttentionSpec, ConvShape, ConvSpec, LaunchSpec

ATTENTION = AttentionSpec(sequences=(1024, 32768), precision="fp16")
CONV = ConvSpec(shapes=(ConvShape(kernel=3, channels=64, filters=64, image=56),), precision="fp16")
SPECS = [
    ATTENTION,
    CONV,
    LaunchSpec(),
    TransferSpec(sizes=(MIB, 256 * MIB)),
    PeerTransferSpec(sizes=(256 * MIB,)),
    AllReduceSpec(sizes=(256 * MIB,)),
]


def card_of(card_id):
    return SimulatedCards([card_id], SimulatedClock(), seed=0).models[0]


def rates(card_id, spec):
    """Params and rate of each setting."""
    card = card_of(card_id)
    return [
        (s.params, next(iter(s.cost.work.values())) / card.iteration_s(s.cost.load))
        for s in settings_of(card, spec.workload, spec.params())
    ]


def best(card_id, spec, **wanted):
    return max(rate for params, rate in rates(card_id, spec) if wanted.items() <= params.items())


@pytest.mark.parametrize("card_id", ["rtx-4090-48g", "rtx-2080-ti-22g", "h200-sxm", "rtx-3090"])
@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.workload)
def test_every_survey_has_settings_on_every_card(card_id, spec):
    assert is_survey(spec.workload)
    assert all(rate > 0 for _, rate in rates(card_id, spec))


def test_counts_are_those_of_the_real_bodies():
    for params, setting in ((s.params, s) for s in settings_of(card_of("h200-sxm"), "attention", ATTENTION.params())):
        shape = (params["batch"], params["heads"], params["sequence"], params["head_dim"])
        wanted = attention_flop(*shape, causal=params["causal"], direction=params["direction"])
        least = attention_bytes(*shape, element=2, direction=params["direction"])
        assert setting.cost.work == {"flop": wanted, **({"bytes": least} if params["backend"] != "math" else {})}
    for setting in settings_of(card_of("h200-sxm"), "conv", CONV.params()):
        body, direction = BodyShape.parse(setting.params["shape"]), setting.params["direction"]
        wanted = {"flop": body.flop(256, direction), "bytes": body.least_bytes(256, direction, 2)}
        assert setting.cost.work == wanted


def test_attention_stays_below_the_peak_and_fused_beats_math():
    # H200: 989 TFLOP/s dense; FlashAttention-2 reaches about 350 to 400 there, cuDNN above 600
    flash, cudnn, plain = (best("h200-sxm", ATTENTION, backend=b) for b in ("flash", "cudnn", "math"))
    assert 2.5e14 < flash < 4.5e14
    assert 5e14 < cudnn < 7.5e14
    assert plain < 0.3 * flash
    assert best("rtx-4090-48g", ATTENTION, backend="flash") < 1.75e14


def test_scores_of_32k_positions_do_not_fit_and_turing_has_no_flash():
    lengths = {p["sequence"] for p, _ in rates("rtx-4090-48g", ATTENTION) if p["backend"] == "math"}
    assert lengths == {1024}
    assert {p["backend"] for p, _ in rates("rtx-2080-ti-22g", ATTENTION)} == {"efficient", "math"}


@pytest.mark.parametrize(
    ("card_id", "published"), [("rtx-3090", 26e9), ("rtx-4090-48g", 26e9), ("rtx-5090", 56.3e9), ("h200-sxm", 56e9)]
)
def test_pinned_copies_run_at_the_published_rate_of_the_link(card_id, published):
    spec = TransferSpec(sizes=(256 * MIB,))
    assert best(card_id, spec, direction="host_to_device", pinned=True) == pytest.approx(published, rel=0.05)
    both, one = (best(card_id, spec, direction=d, pinned=True) for d in ("both", "host_to_device"))
    assert one < both < 2 * one
    assert best(card_id, spec, pinned=False) < one


def test_nvlink_is_faster_than_the_bus():
    spec = PeerTransferSpec(sizes=(256 * MIB,))
    assert best("h200-sxm", spec, direction="to_peer") == pytest.approx(0.85 * 450e9, rel=0.05)
    assert best("rtx-4090-48g", spec, direction="to_peer") < 26e9


def test_a_graph_beats_launching():
    times = {p["mode"]: 1 / rate for p, rate in rates("rtx-4090-48g", LaunchSpec())}
    assert times["graph"] < times["device"] < times["enqueue"] < times["round_trip"]
