"""Trainings and decoding on simulated cards: near published rates, within memory, and as the chip can."""

import statistics
from dataclasses import replace

import pytest

from gputuner.catalog import load
from gputuner.devices.simulated import SimulatedCards, SimulatedClock
from gputuner.workloads.bodies.switches import Switches
from gputuner.workloads.bodies.training_shapes import LLM, BertShape, resnet50_flop
from gputuner.workloads.simulated import SimulatedWorker
from gputuner.workloads.simulated_costs.cost import UnsupportedOnChipError
from gputuner.workloads.simulated_costs.shelf import settings_of
from gputuner.workloads.specs import ResNet50Spec
from gputuner.workloads.specs_inference import DecodeSpec
from gputuner.workloads.specs_training import BertSpec, EdsrSpec, GptSpec, LlmSpec, LstmSpec

CATALOG = load()
SPECS = [
    BertSpec(batch=8, precision="fp16"),
    EdsrSpec(batch=16, precision="fp16"),
    GptSpec(batch=4, precision="fp16"),
    LstmSpec(batch=32, precision="fp16"),
    LlmSpec(batch=1, precision="fp16", quantised=True),
]


def card_of(card_id):
    return SimulatedCards([card_id], SimulatedClock(), seed=0).models[0]


def trial(card_id, spec):
    clock = SimulatedClock()
    card = SimulatedCards([card_id], clock, seed=0).models[0]
    worker = SimulatedWorker(card, 0)
    message = {"id": "t", "workload": spec.workload, "params": spec.params(), "measure_s": 2.0, "budget_s": 120.0}
    worker.request({"kind": "trial", "warmup_s": None, "barrier": False, "seed": 0, **message})
    while (next_ns := worker.next_event_ns()) is not None:
        clock.advance_to_ns(next_ns)
        for _, said in worker.step(clock.now_ns()):
            if said["kind"] in ("result", "failed"):
                return said
    raise AssertionError("no result")


def rate(card_id, spec, counted="samples"):
    result = trial(card_id, spec)
    return result["work"][counted] / statistics.median(result["iteration_s"])


@pytest.mark.parametrize(
    ("card_id", "precision", "batch", "published"),
    [
        # BERT-large, SQuAD, sequence 384, sequences/s: resources/published-results.csv
        ("rtx-3090", "fp16", 28, 52),
        ("rtx-4090", "fp16", 28, 93),
        ("rtx-a6000", "fp16", 64, 68),
        ("a100-sxm-80g", "fp16", 112, 152),
        ("h100-sxm", "fp16", 112, 301),
        ("h200-sxm", "fp16", 112, 350),
        ("rtx-3090", "tf32", 16, 24),
        ("rtx-4090", "tf32", 16, 44),
        ("rtx-a6000", "tf32", 32, 33),
        ("a100-sxm-80g", "tf32", 64, 75),
        ("h100-sxm", "tf32", 64, 141),
        ("h200-sxm", "tf32", 64, 181),
    ],
)
def test_bert_large_runs_at_about_its_published_rate(card_id, precision, batch, published):
    assert rate(card_id, BertSpec(batch=batch, precision=precision)) == pytest.approx(published, rel=0.17)


def test_decoding_is_bound_by_the_memory():
    spec = DecodeSpec(contexts=(128, 8192), precision="fp16")
    parts = trial("rtx-4090-48g", spec)["parts"]
    rates = {(p["params"]["stage"], p["params"]["context"]): p["work"]["tokens"] / statistics.median(p["iteration_s"])
             for p in parts}  # fmt: skip
    # 13.2 GB of weights at 1008 GB/s: 76 tokens/s at the very most
    assert 50 < rates["decode", 128] < 1008e9 / 13.2e9
    assert rates["decode", 8192] < 0.85 * rates["decode", 128]
    assert rates["prefill", 8192] > 50 * rates["decode", 8192]
    work = parts[1]["work"]
    assert work["flop"] == LLM["7b"].decode_flop(128)
    assert work["bytes"] == LLM["7b"].decode_bytes(128, 1, 2)


def test_four_bits_fit_where_half_precision_does_not():
    assert trial("rtx-2080-ti", LlmSpec(batch=1, precision="fp16"))["error"] == "out_of_memory"
    assert trial("rtx-2080-ti", LlmSpec(batch=1, precision="fp16", quantised=True))["kind"] == "result"


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.workload)
def test_memory_is_that_of_the_spec(spec):
    line = spec.memory()
    (setting,) = settings_of(card_of("rtx-4090"), spec.workload, spec.params())
    assert setting.cost.allocated_bytes == pytest.approx(line.fixed_bytes + spec.batch * line.sample_bytes)
    assert setting.cost.work["samples"] == spec.batch


def test_operations_are_told_as_the_bodies_tell_them():
    card = card_of("rtx-4090")
    (bert,) = settings_of(card, "bert", BertSpec(batch=2, sequence=128).params())
    assert bert.cost.notes["model_flop_per_sample"] == BertShape().flop(128)
    (resnet,) = settings_of(card, "resnet50", ResNet50Spec(batch=2).params())
    assert resnet.cost.notes["model_flop_per_sample"] == resnet50_flop(224)


def test_compiling_and_sparse_weights_help_and_a_slow_loader_limits():
    for plain, changed in (
        (BertSpec(batch=28, precision="fp16"), BertSpec(batch=28, precision="fp16", sparse=True)),
        (BertSpec(batch=28, precision="fp16"), BertSpec(batch=28, precision="fp16", switches=Switches(compile=True))),
        (ResNet50Spec(batch=64), ResNet50Spec(batch=64, switches=Switches(compile=True))),
    ):
        assert rate("rtx-4090", changed) > 1.03 * rate("rtx-4090", plain)
    fed = ResNet50Spec(batch=256, precision="fp16", loader="fed")
    assert rate("h200-sxm", fed) <= 6500 * 1.01


def test_sparse_weights_need_sparse_pipes():
    params = BertSpec(batch=4, precision="fp16", sparse=True).params()
    assert settings_of(card_of("rtx-3090"), "bert", params)
    for card_id, precision in (("rtx-2080-ti", "fp16"), ("rtx-3090", "fp32")):
        with pytest.raises(UnsupportedOnChipError):
            settings_of(card_of(card_id), "bert", {**params, "precision": precision})


def test_a_step_over_several_batches_takes_as_long_as_they_do_and_the_memory_of_one():
    spec = BertSpec(batch=8, precision="bf16")
    (one,), (four,) = (
        settings_of(card_of("rtx-4090"), "bert", {**spec.params(), **more}) for more in ({}, {"accumulate": 4})
    )
    assert four.cost.work == {name: 4 * amount for name, amount in one.cost.work.items()}
    assert four.cost.load.compute_cycles == 4 * one.cost.load.compute_cycles
    assert four.cost.allocated_bytes == one.cost.allocated_bytes


@pytest.mark.parametrize("spec", [ResNet50Spec(batch=32, channels_last=True), BertSpec(batch=4), EdsrSpec(batch=16)])
def test_a_chip_that_only_stores_half_precision_trains_no_faster_in_it(spec):
    """GP10x computes FP16 at 1/64 of FP32: a GTX 1080 Ti took 1.81 times as long in FP16 (C-052)."""
    slow = rate("gtx-1080-ti", replace(spec, precision="fp32")) / rate("gtx-1080-ti", replace(spec, precision="fp16"))
    assert slow == pytest.approx(16.22 / 8.96, rel=0.1)
    assert rate("gtx-1080-ti", replace(spec, precision="bf16")) < rate("gtx-1080-ti", replace(spec, precision="fp32"))
    assert rate("rtx-3090", replace(spec, precision="fp16")) > rate("rtx-3090", replace(spec, precision="fp32"))


def test_small_batches_of_the_lstm_and_the_7b_decoder_are_bound_by_the_host_and_large_ones_are_not():
    """An H200 gave 18.4 k sequences/s of the LSTM at 256, and 3.59/s of the decoder at 1: the host limited both."""
    lstm, llm = LstmSpec(batch=256, precision="fp16"), LlmSpec(batch=1, precision="bf16")
    assert rate("h200-sxm", lstm) == pytest.approx(18.4e3, rel=0.05)
    assert rate("h200-sxm", llm) == pytest.approx(3.59, rel=0.1)
    assert rate("h200-sxm", replace(lstm, batch=1024)) > 1.5 * 18.4e3
    assert rate("h200-sxm", replace(llm, batch=4)) > 1.2 * 3.59
