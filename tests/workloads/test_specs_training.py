import pytest

from gputuner.model.errors import UsageError
from gputuner.workloads.bodies.switches import NAMES, Switches
from gputuner.workloads.specs import ResNet50Spec
from gputuner.workloads.specs_inference import DecodeSpec
from gputuner.workloads.specs_training import (
    BertSpec,
    EdsrSpec,
    GptSpec,
    LlmSpec,
    LstmSpec,
    MemoryLine,
    memory_of,
)

GB = 1e9


def test_params_are_what_the_bodies_take():
    assert BertSpec(batch=4).params() == {"batch": 4, "precision": "bf16", "sequence": 384}
    assert BertSpec(batch=4, sparse=True).params()["sparse"] is True
    assert EdsrSpec(batch=16, variant="full").params() == {
        "batch": 16,
        "precision": "bf16",
        "variant": "full",
        "patch": 48,
        "channels_last": True,
    }
    assert GptSpec(batch=2, switches=Switches(compile=True)).params()["compile"] is True
    assert LlmSpec(batch=1).params()["quantised"] is False
    assert ResNet50Spec(batch=8, loader="fed", switches=Switches(compile=True)).params()["loader"] == "fed"
    assert DecodeSpec(contexts=(512, 2048)).params()["contexts"] == "512 2048"


@pytest.mark.torch
@pytest.mark.parametrize(
    "spec",
    [
        ResNet50Spec(batch=1, loader="fed", switches=Switches(compile=True, autotune=True)),
        BertSpec(batch=1, sparse=True, switches=Switches(compile=True)),
        EdsrSpec(batch=1, switches=Switches(compile=True)),
        GptSpec(batch=1, switches=Switches(compile=True)),
        LstmSpec(batch=1),
        LlmSpec(batch=1),
        DecodeSpec(contexts=(8,), eager=True),
    ],
    ids=lambda spec: spec.workload,
)
def test_bodies_know_every_param(spec):
    import importlib
    import inspect

    pytest.importorskip("torch")
    from gputuner.workloads.bodies.shelf import BODIES

    module, _, name = BODIES[spec.workload].partition(":")
    body = getattr(importlib.import_module(f"gputuner.workloads.bodies.{module}"), name)
    known = {*inspect.signature(body.__init__).parameters, *NAMES}
    assert set(spec.params()) <= known


@pytest.mark.parametrize(
    "make",
    [
        lambda: BertSpec(batch=0),
        lambda: BertSpec(batch=1, sequence=513),
        lambda: GptSpec(batch=1, sequence=1025),
        lambda: EdsrSpec(batch=1, patch=4),
        lambda: LstmSpec(batch=1, precision="fp8"),  # pyright: ignore[reportArgumentType]
        lambda: LlmSpec(batch=0),
        lambda: DecodeSpec(contexts=(1,)),
    ],
)
def test_what_no_card_can_do_is_a_usage_error(make):
    with pytest.raises(UsageError):
        make()


def test_the_largest_batch_of_a_line():
    line = MemoryLine(fixed_bytes=10.0, sample_bytes=3.0)
    assert [line.largest(room) for room in (9.0, 12.9, 13.0, 40.0)] == [0, 0, 1, 10]


@pytest.mark.parametrize(
    ("spec", "low_gb", "high_gb"),
    [
        (LlmSpec(batch=1), 14.5, 18.0),  # 13.5 of weights; people train it on 24 GB
        (LlmSpec(batch=1, quantised=True), 5.5, 8.0),  # QLoRA's paper: 7 B within 8 GB
        (BertSpec(batch=1), 5.4, 7.5),  # 335 M × 16 bytes
        (GptSpec(batch=1), 2.0, 4.0),
        (EdsrSpec(batch=16), 0.2, 1.0),
        (LstmSpec(batch=64), 0.5, 2.0),
        (ResNet50Spec(batch=256), 11.0, 12.5),  # H200 recording: 11.8
    ],
    ids=lambda value: getattr(value, "workload", ""),
)
def test_memory_is_that_of_weights_and_samples(spec, low_gb, high_gb):
    line = memory_of(spec)
    assert low_gb * GB < line.fixed_bytes + spec.batch * line.sample_bytes < high_gb * GB


def test_decoding_needs_weights_and_cache():
    short, long = DecodeSpec(contexts=(128,)).needed_bytes(), DecodeSpec(contexts=(128, 8192)).needed_bytes()
    assert 13.5 * GB < short < 14.5 * GB
    # half a megabyte of keys and values per token at 7 B in BF16
    assert long - short > (8192 - 128) * 524_288
