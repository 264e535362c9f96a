"""The decoder of Llama's shape: size, fine-tuning with adapters, and decoding with a cache."""

import math

import pytest

torch = pytest.importorskip("torch")

from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

from gputuner.workloads.bodies import decode, llm, llm_training, lora  # noqa: E402
from gputuner.workloads.bodies.cpu import CpuDevice  # noqa: E402
from gputuner.workloads.bodies.failures import WrongResultError  # noqa: E402
from gputuner.workloads.bodies.survey import Pace  # noqa: E402
from gputuner.workloads.bodies.training_shapes import LLM, LORA_RANK, LlmShape  # noqa: E402

pytestmark = pytest.mark.torch

TINY = LlmShape(layers=2, width=64, heads=4, feed_forward=96, vocabulary=100)


def training(**options):
    options = {"batch": 2, "precision": "fp32", "seed": 1, "sequence": 16, "shape": TINY, **options}
    return llm_training.LlmTraining(CpuDevice(None), **options)


def survey(**options):
    options = {"seed": 1, "precision": "fp32", "contexts": "8 16", "shape": TINY, **options}
    return decode.Decode(CpuDevice(None), **options)


def pace(seconds=0.2):
    return Pace(measure_s=seconds, left_s=lambda: seconds, stopped=lambda: False)


@pytest.mark.parametrize(("name", "count"), [("7b", 6_738_415_616), ("1b", None), ("125m", None)])
def test_parameters(name, count):
    shape = LLM[name]
    with torch.device("meta"):
        model = llm.Llm(shape, torch.bfloat16)
    assert sum(parameter.numel() for parameter in model.parameters()) == shape.parameters
    assert count is None or shape.parameters == count  # Llama 2 7B
    assert {parameter.dtype for parameter in model.parameters()} == {torch.bfloat16}


def test_operations_of_fine_tuning_are_those_that_adapters_need():
    body = training(checkpointing=False)
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        body._forward(*body._source.take()).backward()
    behind_the_mask = 3 * 2.0 * TINY.layers * TINY.width * 16**2
    assert counter.get_total_flops() / 2 - behind_the_mask == TINY.adapter_flop(16, LORA_RANK)


def test_only_adapters_are_trained_and_the_batch_is_learned():
    body = training()
    frozen = {name: p.clone() for name, p in body._model.named_parameters() if not p.requires_grad}
    for _ in range(12):
        body.iterate()
    trained = {name for name, p in body._model.named_parameters() if p.requires_grad}
    assert len(trained) == TINY.layers * 4 * 2
    assert sum(p.numel() for p in body._model.parameters() if p.requires_grad) == TINY.adapters(LORA_RANK)
    assert all(torch.equal(p, frozen[name]) for name, p in body._model.named_parameters() if name in frozen)
    notes = body.notes()
    assert notes["first_loss"] == pytest.approx(math.log(100), rel=0.05)
    assert notes["last_loss"] < notes["first_loss"]
    assert notes["parameters"] == TINY.parameters
    assert body.work == {"samples": 2.0, "tokens": 32.0}


def test_checkpointing_changes_the_memory_not_the_gradients():
    gradients = []
    for checkpointing in (False, True):
        body = training(checkpointing=checkpointing)
        body._forward(*body._source.take()).backward()
        gradients.append([p.grad for p in body._model.parameters() if p.grad is not None])
    assert gradients[0]
    assert all(torch.equal(a, b) for a, b in zip(*gradients, strict=True))


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_half_precision_keeps_its_type_through_all_layers(precision):
    body = training(precision=precision)
    body.iterate()
    assert body.notes()["loss_finite"] is True
    assert body.notes()["stored_bits_per_weight"] == 16.0
    assert body._model(body._source.take()[0]).dtype == getattr(
        torch, {"bf16": "bfloat16", "fp16": "float16"}[precision]
    )


def test_an_adapter_starts_as_the_frozen_layer_and_adds_its_product():
    frozen = torch.nn.Linear(8, 6, bias=False)
    layer = lora.LoraLinear(frozen, 8, 6, 4, torch.float32)
    rows = torch.randn(3, 8)
    assert torch.equal(layer(rows), frozen(rows))
    with torch.no_grad():
        layer.wide.normal_()
    merged = frozen.weight + lora.ALPHA / 4 * layer.wide @ layer.narrow
    torch.testing.assert_close(layer(rows), rows @ merged.t())


def test_quantised_weights_need_their_package():
    if _has("bitsandbytes"):
        pytest.skip("bitsandbytes is there")
    with pytest.raises(ModuleNotFoundError):
        training(quantised=True, precision="bf16")


def _has(module):
    from importlib.util import find_spec

    return find_spec(module) is not None


def test_rotation_depends_on_the_distance_alone():
    torch.manual_seed(3)
    query, key = torch.randn(1, 1, 1, 8), torch.randn(1, 1, 1, 8)

    def product(at, other):
        turned = [
            llm._rotated(heads, llm.rotations(8, place, 1, torch.float32, torch.device("cpu")))
            for heads, place in ((query, at), (key, other))
        ]
        return float((turned[0] * turned[1]).sum())

    assert product(7, 3) == pytest.approx(product(104, 100), rel=1e-4)
    assert product(7, 3) != pytest.approx(product(7, 6), rel=1e-2)


def test_each_context_gives_prefill_and_decode_with_their_tokens():
    parts = list(survey(batch=2).parts(pace()))
    assert [(p.params["stage"], p.params["context"], p.work["tokens"]) for p in parts] == [
        ("prefill", 8, 16.0),
        ("decode", 8, 2.0),
        ("prefill", 16, 32.0),
        ("decode", 16, 2.0),
    ]
    assert all(len(p.iteration_s) >= 3 and p.t1_ns > p.t0_ns for p in parts)
    prefill, decode_step = parts[2].work, parts[3].work
    assert (prefill["flop"], prefill["bytes"]) == (2 * TINY.prefill_flop(16), TINY.prefill_bytes(16, 2, 4))
    assert (decode_step["flop"], decode_step["bytes"]) == (2 * TINY.decode_flop(16), TINY.decode_bytes(16, 2, 4))
    assert parts[3].notes["bytes_per_token"] == decode_step["bytes"] / 2
    assert all(p.relative_error < 1e-5 for p in parts if p.params["stage"] == "decode")


def test_operations_of_prefill_and_decode():
    body = survey()
    cache = llm.Cache(TINY, 1, 17, torch.float32, "cpu")
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        body._prompt(16, cache)
    assert counter.get_total_flops() - 2.0 * TINY.layers * TINY.width * 16**2 == TINY.prefill_flop(16)
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        body._one(16, cache, body._tokens[:, 16:17])
    assert counter.get_total_flops() == TINY.decode_flop(16)


def test_bytes_of_a_decode_step_are_weights_and_cache():
    weights = 4 * (2 * (4 * 64 * 64 + 3 * 64 * 96) + 64 * 100)
    cache = 4 * 3 * 2 * 2 * 64 * 17
    assert TINY.decode_bytes(16, 3, 4) == weights + cache
    assert TINY.prefill_bytes(17, 3, 4) == weights + cache, "what a prompt writes is what the next step reads"


def test_a_cache_that_forgets_is_a_wrong_result(monkeypatch):
    body = survey()
    forgetful = llm.Cache(TINY, 1, 17, torch.float32, "cpu")
    monkeypatch.setattr(forgetful, "extended", lambda layer, start, key, value: (key, value))
    with pytest.raises(WrongResultError):
        body._error(16, forgetful)


def test_a_survey_that_is_stopped_ends():
    stopped = Pace(measure_s=1.0, left_s=lambda: 1.0, stopped=lambda: True)
    assert list(survey().parts(stopped)) == []
