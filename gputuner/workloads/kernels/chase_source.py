"""CUDA C++ of the pointer chase: linking the nodes, and one thread that follows them."""

from gputuner.workloads.kernels.source import common

UNROLL = 16
"""Loads in a row without a branch between."""
SEGMENTS = 8
"""Stretches of a chase whose cycles are told apart."""
RESULT_BYTES = 8 * (2 + SEGMENTS)
"""Where it ended, nanoseconds of the whole, cycles of each stretch."""
NAMES = ("link", "look", "chase")
SECTOR_BYTES = 32
"""Least that an L2 fetches."""

CHASE = """
extern "C" __global__ void link(u64 base, const u32* order, u64 count, u64 stride) {
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < count; i += (u64)gridDim.x * blockDim.x)
    *(u64*)(base + order[i] * stride) = base + order[i + 1 < count ? i + 1 : 0] * stride;
}

extern "C" __global__ void look(u64 base, u64 count) {
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < count; i += (u64)gridDim.x * blockDim.x) {
    u32 value;
    asm volatile("ld.global.cg.b32 %0, [%1];" : "=r"(value) : "l"(base + i * SECTOR));
  }
}

__device__ __forceinline__ u64 nanoseconds() {
  u64 now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

extern "C" __global__ void chase(u64 start, u64 base, u64 touched, u64 lap, u64 stride, u64 steps, u64* result) {
  u32 seen = 0;
  for (u64 i = threadIdx.x; i < touched; i += blockDim.x) {
    u32 value;
    asm volatile("ld.global.ca.b32 %0, [%1];" : "=r"(value) : "l"(base + i * stride));
    seen ^= value;
  }
  if (seen == 1u) result[0] = seen;
  __syncthreads();
  if (threadIdx.x) return;
  u64 at = start;
  #pragma unroll 1
  for (u64 k = 0; k < lap; ++k) asm volatile("ld.global.ca.b64 %0, [%0];" : "+l"(at));
  const u64 began = nanoseconds();
  long long cycle = clock64();
  #pragma unroll 1
  for (u64 s = 0; s < SEGMENTS; ++s) {
    #pragma unroll 1
    for (u64 k = 0; k < steps / SEGMENTS; k += UNROLL) {
      #pragma unroll
      for (int j = 0; j < UNROLL; ++j) asm volatile("ld.global.ca.b64 %0, [%0];" : "+l"(at));
    }
    if (!at) break;
    const long long now = clock64();
    result[2 + s] = (u64)(now - cycle);
    cycle = now;
  }
  result[0] = at;
  result[1] = nanoseconds() - began;
}
"""


def chase_source() -> str:
    """Link the nodes, look at other memory until the L2 holds nothing else, chase."""
    return common() + CHASE.replace("UNROLL", str(UNROLL)).replace("SECTOR", str(SECTOR_BYTES)).replace(
        "SEGMENTS", str(SEGMENTS)
    )
