import pytest

from gputuner.language.numbers import interval
from gputuner.language.steps import settings, step
from gputuner.language.warnings import warning


@pytest.mark.parametrize(
    ("params", "text"),
    [
        (
            {"backend": "efficient", "direction": "forward_backward", "sequence": 4096, "heads": 16, "causal": True},
            "memory-efficient, forward and backward, sequence 4096",
        ),
        ({"direction": "both", "pinned": True, "bytes": 1 << 20}, "both directions at once, pinned memory, 1 MiB"),
        ({"direction": "device_to_host", "pinned": False}, "card to host, pageable memory"),
        (
            {"workers": 4, "prefetch": 2, "pin": True, "persistent": False, "decode": "stand_in"},
            "4 workers, prefetch 2, pinned, without decoding",
        ),
        ({"mode": "round_trip", "kernels": 1}, "until it has run"),
        (
            {"precision": "fp8", "m": 64, "n": 128, "k": 256, "transposed": True, "fast_accumulate": True},
            "FP8, 64 × 128 × 256, fast accumulation",
        ),
        ({"precision": "bf16", "n": 8192}, "BF16, 8192 × 8192"),
        ({"precision": "int8", "top": 16384, "step": 256}, "INT8, sides up to 16384"),
        (
            {"m": 1, "n": 2, "k": 3, "setup_counted": False, "phase": "search"},
            "1 × 2 × 3, without set-up, in the search",
        ),
    ],
)
def test_settings_are_told_in_words(params, text):
    assert settings(params) == text


def test_lists_of_a_survey_are_not_repeated_in_its_step():
    asked = {"consumer_rate": 2000.0, "batch": 64, "workers": "", "most_workers": 16, "switches": True}
    assert step("bench_loader", asked) == "data loader: batch 64"


def test_a_gap_says_what_was_left_out_and_why():
    told = {"benchmark": "loader", "setting": "1 2 torchvision 64", "needs_bytes": 77070336, "free_bytes": 1 << 26}
    said = warning("benchmark_gap", {**told, "reason": "shared_memory"})
    assert said == (
        "loader (1 2 torchvision 64) was left out: needs 73.5 MiB of shared memory, /dev/shm has 64 MiB free "
        "(containers: --shm-size or --ipc=host)."
    )


@pytest.mark.parametrize("reason", ["p2p_hangs", "needs_two_cards", "needs_fork", "out_of_time", "peer_busy"])
def test_every_reason_has_words(reason):
    said = warning("benchmark_failed", {"benchmark": "p2p", "reason": reason, "message": "x"})
    assert reason not in said
    assert said.startswith("p2p gave no figure: ")


def test_launches_are_told_in_microseconds():
    assert interval(3.4e-6, 3.38e-6, 3.42e-6, "s") == "3.4 (3.38 … 3.42) µs"
