"""Which formats a card is measured in."""

from dataclasses import replace

import pytest

from gputuner.experiments.precisions import burst_order, has_tensor_fp16, matmul_order, support, training_order
from gputuner.model.cards import CatalogMatch, Support


def context(lab, capability: str, features: dict[str, Support] | None = None, name: str = "NVIDIA GeForce RTX"):
    base = lab.context_of(lab.h200())
    catalog = CatalogMatch(catalog_id="x", name="x", features=features) if features else None
    return replace(base, card=replace(base.card, name=name, compute_capability=capability, catalog=catalog))


@pytest.mark.parametrize(
    ("capability", "trainings", "bf16"),
    [
        ("9.0", ("bf16", "tf32", "fp16", "fp32"), Support.NATIVE),
        ("8.6", ("bf16", "tf32", "fp16", "fp32"), Support.NATIVE),
        ("7.5", ("fp16", "fp32"), Support.EMULATED),
        ("6.1", ("fp32", "fp16"), Support.EMULATED),
    ],
)
def test_by_compute_capability(lab, capability, trainings, bf16):
    told = context(lab, capability)
    assert training_order(told) == trainings
    assert support(told, "bf16") is bf16
    assert ("tf32" in matmul_order(told)) == (float(capability) >= 8.0)


def test_turing_without_tensor_cores_trains_in_fp32_first(lab):
    told = context(lab, "7.5", name="NVIDIA GeForce GTX 1650")
    assert training_order(told) == ("fp32", "fp16")
    assert not has_tensor_fp16(told)
    assert has_tensor_fp16(context(lab, "7.5", name="Tesla T4"))


def test_the_catalogue_is_heard_first(lab):
    told = context(lab, "9.0", {"bf16": Support.EMULATED, "tf32": Support.ABSENT, "fp16_tensor": Support.NATIVE})
    assert training_order(told) == ("fp16", "fp32")
    assert matmul_order(told) == ("fp16", "bf16", "fp32")


def test_fp16_needs_no_burst_of_its_own_beside_bf16(lab):
    assert "fp16" not in burst_order(context(lab, "9.0"))
    assert "fp16" in burst_order(context(lab, "7.5"))
    assert "bf16" not in burst_order(context(lab, "7.5"))


@pytest.mark.parametrize(("native", "first"), [(True, "bf16"), (False, "fp32")])
def test_a_cpu_starts_with_what_it_does_natively(lab, native, first):
    told = lab.context_of(lab.two_cores(), cpu=True, worker={"bf16_native": native})
    assert training_order(told)[0] == first
    assert support(told, "tf32") is Support.ABSENT
    assert support(told, "bf16") is (Support.NATIVE if native else Support.EMULATED)
