import pytest

from gputuner.model.errors import UsageError
from gputuner.workloads.specs import CopySpec, MatmulSpec, ResNet50Spec

MIB = 1 << 20


def test_params_are_what_the_bodies_take():
    assert MatmulSpec(precision="tf32", n=4096).params() == {"precision": "tf32", "n": 4096}
    assert CopySpec(bytes=1 << 28).params() == {"bytes": 1 << 28}
    assert ResNet50Spec(batch=32, precision="fp16", channels_last=False, image=64).params() == {
        "batch": 32,
        "precision": "fp16",
        "channels_last": False,
        "image": 64,
    }


@pytest.mark.parametrize(
    "make",
    [
        lambda: MatmulSpec(precision="fp8", n=1024),  # pyright: ignore[reportArgumentType]
        lambda: MatmulSpec(n=0),
        lambda: CopySpec(bytes=0),
        lambda: ResNet50Spec(batch=0),
        lambda: ResNet50Spec(batch=8, image=16),
    ],
)
def test_what_no_card_can_do_is_a_usage_error(make):
    with pytest.raises(UsageError):
        make()


def test_three_matrices_are_needed():
    assert MatmulSpec(precision="bf16", n=1024).needed_bytes() == 3 * 2 * 1024 * 1024


def test_copy_goes_four_times_beyond_the_cache():
    assert CopySpec.sized(cache_bytes=300 * MIB, free_bytes=24 << 30).bytes == 1200 * MIB
    assert CopySpec.sized(cache_bytes=50 * MIB, free_bytes=24 << 30).bytes == 1024 * MIB


def test_copy_leaves_half_of_little_memory():
    assert CopySpec.sized(cache_bytes=300 * MIB, free_bytes=1 << 30).bytes == 256 * MIB
