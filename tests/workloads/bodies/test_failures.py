import gc
import weakref

import pytest

from gputuner.workloads.bodies.failures import (
    UnsupportedError,
    WrongResultError,
    classify,
    described,
    release,
    requested_bytes,
)

GIB = 1 << 30

MEMORY = [
    "[enforce fail at alloc_cpu.cpp:130] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate "
    "268435456 bytes. Error code 12 (Cannot allocate memory)",
    "[enforce fail at alloc_cpu.cpp:81] data. DefaultCPUAllocator: not enough memory: you tried to allocate 16 bytes.",
    "could not create a primitive",
    "std::bad_alloc",
    "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.64 GiB of which 1.1 GiB is free.",
    "CUDA error: out of memory",
    "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
    "cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
    "cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED",
]


@pytest.mark.parametrize("text", MEMORY)
def test_memory_is_recognised_by_its_words(text):
    assert classify(RuntimeError(text)) == "out_of_memory"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (MEMORY[0], 268435456),
        (MEMORY[1], 16),
        (MEMORY[4], 2 * GIB),
        (
            "CUDA out of memory. Tried to allocate 20.50 MiB (GPU 0; 23.64 GiB total capacity)",
            20 * (1 << 20) + (1 << 19),
        ),
        ("could not create a primitive", None),
        ("CUDA error: out of memory", None),
    ],
)
def test_what_was_asked_for_is_read_off_the_allocators_words(text, told):
    assert requested_bytes(RuntimeError(text)) == told


def test_memory_is_recognised_by_the_class_in_every_torch():
    newer = type("OutOfMemoryError", (RuntimeError,), {})
    assert classify(newer("no words")) == "out_of_memory"
    assert classify(MemoryError()) == "out_of_memory"


def test_an_operation_that_onednn_does_not_have_is_no_want_of_memory():
    """As torch 2.13 answers an LSTM in FP16 on a processor without such arithmetic."""
    text = "could not create a primitive descriptor for the LSTM forward propagation primitive. Run workload with …"
    assert classify(RuntimeError(text)) == "unsupported"


@pytest.mark.parametrize(
    ("text", "free_bytes", "expected"),
    [
        ("CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`", GIB // 8, "out_of_memory"),
        ("CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`", 8 * GIB, "user_code"),
        ("GET was unable to find an engine to execute this computation", GIB // 8, "out_of_memory"),
        ("GET was unable to find an engine to execute this computation", None, "user_code"),
    ],
)
def test_ambiguous_library_errors_are_memory_only_when_little_is_left(text, free_bytes, expected):
    assert classify(RuntimeError(text), free_bytes) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CUDA error: an illegal memory access was encountered", "sticky"),
        ("CUDA error: device-side assert triggered", "sticky"),
        ("CUDA error: uncorrectable ECC error encountered", "sticky"),
        ("CUDA error: no kernel image is available for execution on the device", "unsupported"),
        ("\"addmm_impl_cpu_\" not implemented for 'Half'", "unsupported"),
        ("CUDA error: CUBLAS_STATUS_NOT_SUPPORTED when calling `cublasGemmEx`", "unsupported"),
        ("mat1 and mat2 shapes cannot be multiplied (3x4 and 5x6)", "user_code"),
    ],
)
def test_other_words(text, expected):
    assert classify(RuntimeError(text)) == expected


def test_a_device_that_no_longer_answers_is_sticky_whatever_it_said():
    assert classify(RuntimeError("CUDA error: something new"), None, broken=True) == "sticky"


def test_our_own_words():
    assert classify(UnsupportedError("no TF32")) == "unsupported"
    assert classify(WrongResultError("off")) == "wrong_result"
    assert classify(ModuleNotFoundError("No module named 'timm'")) == "extra_missing"
    assert classify(ValueError("out of memory, says the user's own check")) == "user_code"


def test_a_failure_is_described_by_its_first_line_and_its_traceback():
    def fail() -> None:
        raise ValueError("first\nsecond")

    with pytest.raises(ValueError, match="first") as caught:
        fail()
    message, traceback = described(caught.value)
    assert message == "first"
    assert "in fail" in traceback
    assert described(KeyError())[0] == "KeyError"


class Big:
    """Stands for a body that holds memory."""


def test_a_handled_failure_holds_nothing_of_the_trial():
    alive: list[weakref.ref[Big]] = []

    def fail() -> None:
        big = Big()
        alive.append(weakref.ref(big))
        try:
            raise KeyError("first")
        except KeyError:
            raise ValueError("second")  # noqa: B904  (the chain is the point)

    try:
        fail()
    except ValueError as err:
        release(err)
        gc.collect()
        assert alive[0]() is None
