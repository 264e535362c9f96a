"""Our own kernels on a card: streams against a plain vectorised kernel (A B B A), latency levels twice, regions.

Run from the checkout: ``python tests/perf/kernel_figures.py [--seconds 1.0] [--skip streams,sweep,latency,regions]``.
Needs ``cuda-core``; no torch, nothing else of gputuner's needs but NumPy. Prints Markdown.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Sequence

from gputuner.analysis.latency_levels import Levels, levels
from gputuner.analysis.region_rates import slow_areas
from gputuner.workloads.bodies.survey import Pace, Part
from gputuner.workloads.kernels.chase import Chase
from gputuner.workloads.kernels.device import KernelsDevice
from gputuner.workloads.kernels.examine import examine
from gputuner.workloads.kernels.regions import Regions
from gputuner.workloads.kernels.runtime import Grid
from gputuner.workloads.kernels.stream import Stream
from gputuner.workloads.kernels.stream_source import CHECK_NAMES, checks_source
from gputuner.workloads.kernels.stream_sweep import StreamSweep
from gputuner.workloads.specs_probes import RegionsSpec

REFERENCE = """
extern "C" __global__ void reference_read(const float4* __restrict__ a, float4* out, unsigned long long n) {
  float4 s = {0.f, 0.f, 0.f, 0.f};
  unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
  unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
  for (; i + 3 * step < n; i += 4 * step) {
    float4 v0 = a[i], v1 = a[i + step], v2 = a[i + 2 * step], v3 = a[i + 3 * step];
    s.x += v0.x + v1.x + v2.x + v3.x; s.y += v0.y + v1.y + v2.y + v3.y;
    s.z += v0.z + v1.z + v2.z + v3.z; s.w += v0.w + v1.w + v2.w + v3.w;
  }
  for (; i < n; i += step) { float4 v = a[i]; s.x += v.x; s.y += v.y; s.z += v.z; s.w += v.w; }
  if (s.x + s.y + s.z + s.w == 1.2345e30f) out[0] = s;
}

extern "C" __global__ void reference_copy(const float4* __restrict__ a, float4* out, unsigned long long n) {
  unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
  unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
  for (; i + 3 * step < n; i += 4 * step) {
    float4 v0 = a[i], v1 = a[i + step], v2 = a[i + 2 * step], v3 = a[i + 3 * step];
    out[i] = v0; out[i + step] = v1; out[i + 2 * step] = v2; out[i + 3 * step] = v3;
  }
  for (; i < n; i += step) out[i] = a[i];
}
"""
NAMES = ("reference_read", "reference_copy")
ARRAYS = {"read": 1, "write": 1, "copy": 2, "scale": 2, "triad": 3}


def windows(device: KernelsDevice, iterate: Callable[[], None], seconds: float) -> float:
    """Median seconds per iteration over windows of about 5 ms, after a warm-up of a tenth."""
    row = device.windows(0.005)
    start, done = time.monotonic(), []
    while time.monotonic() - start < 1.1 * seconds:
        done += row.run(iterate, 5)
    done += row.drain()
    return statistics.median(done[len(done) // 11 :])


class Reference:
    """The plain kernel, at the fastest of a few spreads, over the arrays of ours or over its own.

    Where arrays lie matters: the same kernel differed by 2.7 % between two pairs of arrays of an H200.
    """

    def __init__(self, device: KernelsDevice, operation: str, size: int, ours: Stream | None = None) -> None:
        """Take arrays and try the spreads."""
        self.device, self.size = device, size
        self.kernel = device.kernels(REFERENCE, NAMES)[f"reference_{operation}"]
        if ours is not None:
            arrays = ours._arrays  # pyright: ignore[reportPrivateUsage]
            self.source, self.target = arrays._first, arrays._target  # pyright: ignore[reportPrivateUsage]
            if operation == "read":
                self.target = device.allocate(4096)
        else:
            self.source, self.target = device.allocate(size), device.allocate(size if operation == "copy" else 4096)
            fill = device.kernels(checks_source(), CHECK_NAMES)["fill"]
            device.runtime.launch(fill, Grid(blocks=8 * device.sm_count, threads=256), self.source, size // 4, 0, 1)
        grids = [
            Grid(blocks=device.sm_count * per, threads=t) for t in (256, 512, 1024) for per in (1, 2, 4, 8, 16, 32)
        ]
        grids += [Grid(blocks=size // 16 // t // 4, threads=t) for t in (256, 512, 1024)]
        self.grid = min(grids, key=self.tried)

    def tried(self, grid: Grid) -> float:
        """Seconds of a pass."""
        return min(self.device.timed(lambda: self.run(grid)) for _ in range(4))

    def run(self, grid: Grid | None = None) -> None:
        """Queue a pass."""
        self.device.runtime.launch(self.kernel, grid or self.grid, self.source, self.target, self.size // 16)


def streams(device: KernelsDevice, seconds: float, footprint: int) -> None:
    """Rates of all operations; read and copy against the reference, A B B A."""
    print("\n| operation | bytes | TB/s | reference TB/s over the same and over own arrays, ratio (A B B A) | kernel |")
    print("|---|---|---|---|---|")
    for operation, arrays in ARRAYS.items():
        device.begin_trial()
        size = footprint // arrays // 4096 * 4096
        began = time.monotonic()
        ours = Stream(device, operation=operation, bytes=size, seed=1)
        setup_s = time.monotonic() - began
        moved, beside, note = arrays * size, "", ""
        mine = windows(device, ours.iterate, seconds)
        if operation in ("read", "copy"):
            for place, other in {
                "same": Reference(device, operation, size, ours),
                "own": Reference(device, operation, size),
            }.items():
                a, b, c, d = (
                    windows(device, run, seconds) for run in (ours.iterate, other.run, other.run, ours.iterate)
                )
                mine, theirs = (a + d) / 2, (b + c) / 2
                beside += f"{place}: {moved / theirs / 1e12:.4f}, {theirs / mine:.4f} (A {d / a:.4f}, B {c / b:.4f}) "
                note += f", reference {other.grid.threads} × {other.grid.blocks}"
        error = ours.relative_error()
        kernel = f"{ours.notes()['kernel']}{note}, error {error}, set-up {setup_s:.1f} s"
        print(f"| {operation} | {moved} | {moved / mine / 1e12:.4f} | {beside} | {kernel} |", flush=True)


def pace(seconds: float) -> Pace:
    """A survey's time from now on."""
    start = time.monotonic()
    return Pace(measure_s=seconds, left_s=lambda: seconds - (time.monotonic() - start), stopped=lambda: False)


def sweep(device: KernelsDevice, seconds: float) -> None:
    """Read and copy over sizes."""
    for operation in ("read", "copy"):
        device.begin_trial()
        made = StreamSweep(device, operation=operation, largest_bytes=1 << 30, seed=1)
        began = time.monotonic()
        parts = list(made.parts(pace(4 * seconds)))
        print(f"\nsweep {operation} in {time.monotonic() - began:.1f} s: MiB, TB/s, passes, flushed, kernel")
        for part in parts:
            rate = part.work["bytes"] / statistics.median(part.iteration_s) / 1e12
            size = int(part.params["bytes"]) / 2**20
            print(f"{size:9.2f} {rate:7.3f} {part.notes['passes']!s:>5} {part.notes['flushed']} {part.notes['kernel']}")


def curve(parts: Sequence[Part]) -> list[tuple[int, float]]:
    """Footprint and median latency."""
    return [(int(part.params["bytes"]), statistics.median(part.iteration_s)) for part in parts]


def latency(device: KernelsDevice, seconds: float) -> None:
    """The curve twice, with its levels and how they repeat."""
    found: list[Levels] = []
    for turn in range(2):
        device.begin_trial()
        made = Chase(device, largest_bytes=8 << 30, stride_bytes=128, seed=turn)
        began = time.monotonic()
        parts = list(made.parts(pace(15 * seconds)))
        found.append(levels(curve(parts), device.cache_bytes))
        print(f"\nchase {turn + 1} in {time.monotonic() - began:.1f} s: KiB, ns, cycles, spread, windows, steps, level")
        for part, (size, median) in zip(parts, curve(parts), strict=True) if turn == 0 else ():
            spread = (max(part.iteration_s) - min(part.iteration_s)) / median
            cycles, steps, count = part.notes["cycles"], part.notes["steps"], len(part.iteration_s)
            level = found[0].of(size)
            print(f"{size // 1024:9d} {median * 1e9:7.1f} {cycles:8.1f} {spread:6.2%} {count:3d} {steps:7d} {level}")
    print("\n| level | ns, first | ns, second | ratio | from KiB | to KiB |\n|---|---|---|---|---|---|")
    for one, other in zip(found[0].levels, found[1].levels, strict=False):
        ratio = other.latency_s / one.latency_s
        print(f"| {one.name} / {other.name} | {one.latency_s * 1e9:.1f} | {other.latency_s * 1e9:.1f} | {ratio:.4f} | "
              f"{one.least_bytes // 1024} | {one.most_bytes // 1024} |")  # fmt: skip
    print("translations reach", [v.tlb_reach_bytes for v in found])


def regions(device: KernelsDevice, seconds: float) -> None:
    """Rates of all blocks."""
    device.begin_trial()
    spec = RegionsSpec.of(device.facts.total_bytes)
    began = time.monotonic()
    made = Regions(device, seed=1, **{name: int(value) for name, value in spec.params().items()})
    ready = time.monotonic()
    parts = list(made.parts(pace(6 * seconds)))
    rates = [(int(p.params["offset_bytes"]), p.work["bytes"] / statistics.median(p.iteration_s)) for p in parts]
    each = sorted(rate for _, rate in rates)
    print(f"\nregions: {made.notes()}, set-up {ready - began:.1f} s, reading {time.monotonic() - ready:.1f} s")
    slowest, median, fastest = (rate / 1e12 for rate in (each[0], each[len(each) // 2], each[-1]))
    print(f"median {median:.4f} TB/s, slowest {slowest:.4f}, fastest {fastest:.4f}, rounds {len(parts[0].iteration_s)}")
    print("slow areas", slow_areas(rates, spec.block_bytes))


def main() -> None:
    """All, or what is not skipped."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--skip", default="")
    options = parser.parse_args()
    device, ready = examine("kernels", None)
    began = time.monotonic()
    opened = device.open()
    print("ready:", ready, "\nopened in", round(time.monotonic() - began, 2), "s:", opened)
    print("clock:", device.clock_mhz(), "MHz")
    skip = options.skip.split(",")
    for name, run in {
        "streams": lambda: streams(device, options.seconds, max(1 << 30, 32 * device.cache_bytes)),
        "sweep": lambda: sweep(device, options.seconds),
        "latency": lambda: latency(device, options.seconds),
        "regions": lambda: regions(device, options.seconds),
    }.items():
        if name not in skip:
            run()


if __name__ == "__main__":
    main()
