"""What all sources share: the words of the arrays, and a kernel that spins.

The numbers are sums of four 16-bit hashes of their place: nearly normal N(0,1), and exact to the last bit in NumPy too
(:func:`numbers`), so that what came through the memory can be compared without a tolerance.
"""

import numpy as np
from numpy.typing import NDArray

SUM_OF_FOUR_MEAN = 131070
SUM_OF_FOUR_SIGMA = 37837.2
"""Of four independent uniform 16-bit integers: 4 · 65535/2, and √(4 · (65536² − 1)/12)."""

COMMON = """\
typedef unsigned int u32;
typedef unsigned long long u64;

__device__ __forceinline__ u32 mixed(u32 x) {
  x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; x *= 0x846ca68bu; x ^= x >> 16;
  return x;
}

__device__ __forceinline__ float number(u64 i, u32 seed) {
  u32 a = mixed((u32)i ^ seed), b = mixed(a ^ (u32)(i >> 32) ^ 0x9e3779b9u);
  int sum = (int)((a & 0xffffu) + (a >> 16) + (b & 0xffffu) + (b >> 16));
  return __fmul_rn((float)(sum - %(mean)d), %(scale)s);
}
"""

SPIN = """
extern "C" __global__ void spin(u64 cycles) {
  long long start = clock64();
  while ((u64)(clock64() - start) < cycles) { }
}
"""


def common() -> str:
    """Types and the numbers of the arrays."""
    scale = float(np.float32(1.0 / SUM_OF_FOUR_SIGMA))
    return COMMON % {"mean": SUM_OF_FOUR_MEAN, "scale": f"{scale.hex()}f"}


def spin_source() -> str:
    """A kernel that keeps one thread busy for so many cycles."""
    return common() + SPIN


def numbers(start: int, count: int, seed: int) -> NDArray[np.float32]:
    """The numbers at ``start`` and after, as the kernels make them; shape (count,), FP32."""
    place = np.arange(start, start + count, dtype=np.uint64)
    low = (place & np.uint64(0xFFFFFFFF)).astype(np.uint32)
    high = (place >> np.uint64(32)).astype(np.uint32)
    a = _mixed(low ^ np.uint32(seed))
    b = _mixed(a ^ high ^ np.uint32(0x9E3779B9))
    total = ((a & 0xFFFF) + (a >> 16) + (b & 0xFFFF) + (b >> 16)).astype(np.int64) - SUM_OF_FOUR_MEAN
    return total.astype(np.float32) * np.float32(1.0 / SUM_OF_FOUR_SIGMA)


def _mixed(words: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """An integer hash with low bias (Wellons, "Prospecting for hash functions", 2018)."""
    x = words.copy()
    x ^= x >> 16
    x *= np.uint32(0x7FEB352D)
    x ^= x >> 15
    x *= np.uint32(0x846CA68B)
    x ^= x >> 16
    return x
