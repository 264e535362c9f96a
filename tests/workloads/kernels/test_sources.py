"""The sources compile for every chip: NVRTC needs no card."""

import pytest

from gputuner.workloads.kernels.chase_source import chase_source
from gputuner.workloads.kernels.cuda_runtime import PackageMissingError, load_nvrtc
from gputuner.workloads.kernels.source import spin_source
from gputuner.workloads.kernels.stream_source import (
    ARRAYS,
    HINTS,
    STRIDES,
    checks_source,
    hints,
    stream_source,
    variants,
)
from gputuner.workloads.kernels.tuning import SPREADS, Way, fastest, ways

CHIPS = ((7, 5), (8, 0), (8, 6), (8, 9), (9, 0))


def sources(capability):
    yield spin_source()
    yield checks_source()
    yield chase_source()
    for operation in ARRAYS:
        yield stream_source(operation, capability)


@pytest.mark.parametrize("capability", CHIPS)
def test_every_kernel_compiles(capability):
    try:
        load_nvrtc()
    except PackageMissingError as missing:
        pytest.skip(str(missing).splitlines()[0])
    from cuda.bindings import nvrtc

    options = [f"--gpu-architecture=sm_{capability[0]}{capability[1]}".encode(), b"--std=c++17"]
    for source in sources(capability):
        code, program = nvrtc.nvrtcCreateProgram(source.encode(), b"kernels.cu", 0, [], [])
        assert int(code) == 0
        (code,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
        log = bytearray(nvrtc.nvrtcGetProgramLogSize(program)[1])
        nvrtc.nvrtcGetProgramLog(program, log)
        assert int(code) == 0, log.decode()
        assert nvrtc.nvrtcGetCUBINSize(program)[1] > 0


def test_turing_has_no_policies_of_the_l2():
    assert hints((7, 5)) == HINTS[:-1]
    assert "createpolicy" not in stream_source("copy", (7, 5))
    assert "createpolicy" in stream_source("copy", (8, 6))
    assert "L2::256B" not in stream_source("read", (7, 5))


def test_a_kernel_for_each_unrolling_and_hint():
    source = stream_source("triad", (9, 0))
    for variant in variants((9, 0)):
        assert source.count(f" {variant.name('triad')}(") == 1
    assert source.count("asm volatile") % len(variants((9, 0))) == 0


def test_strides_need_no_more_blocks_for_more_passes():
    strided = next(v for v in variants((9, 0)) if v.order == STRIDES and v.unroll == 4)
    assert Way(variant=strided, threads=256, per_sm=0).grid(1 << 20, 3, 4).blocks == 64


def test_only_a_read_adds_checksums():
    assert "atomicXor" in stream_source("read", (9, 0))
    assert "atomicXor" not in stream_source("copy", (9, 0))


@pytest.mark.parametrize(("per_sm", "passes", "blocks"), [(0, 1, 64), (0, 3, 192), (2, 1, 8), (64, 1, 64)])
def test_a_grid_covers_every_tile_of_every_pass(per_sm, passes, blocks):
    way = Way(variant=variants((9, 0))[2], threads=256, per_sm=per_sm)
    assert way.variant.unroll == 4
    assert way.grid(1 << 20, passes, 4).blocks == blocks
    assert way.grid((1 << 20) + 16, 1, 10**6).blocks == (65 if per_sm == 0 else min(65, per_sm * 10**6))


def test_the_fastest_by_median_wins_and_the_budget_ends_the_search():
    tried = ways(variants((9, 0)))
    assert len(tried) == len(SPREADS) * (20 + 15)
    times = {way.label(): 1.0 + number for number, way in enumerate(reversed(tried))}
    assert fastest(tried, lambda way: times[way.label()], 60.0) == tried[-1]
    assert fastest(tried, lambda way: times[way.label()], -1.0) == tried[0]
