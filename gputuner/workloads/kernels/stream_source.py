"""CUDA C++ of the streams: one kernel for each unrolling and cache hint of an operation, and kernels that check.

In the order *tiles* a block goes through tiles of ``blockDim.x · unroll`` vectors of 16 bytes; with more tiles than
blocks it strides by the grid. Several passes over the arrays in one launch are more tiles, in the same order, without a
barrier between. In the order *strides* the unrolled vectors of a thread lie a whole grid apart; a block there goes
through its own part in each pass, so that it is for one pass alone.
"""

from dataclasses import dataclass

from gputuner.workloads.kernels.source import common

ARRAYS = {"read": 1, "write": 1, "copy": 2, "scale": 2, "triad": 3}
"""Arrays that an operation touches, each once."""
SCALAR = "0.75f"
"""Exactly representable, and so is its product with every number of 22 bits or less; the rest is rounded once."""
TILES, STRIDES = "tiles", "strides"
UNROLLS = (1, 2, 4, 8)
SUMS = 4096
"""Words that the warps of a read add their checksums to: one would be a bottleneck."""

HINTS = ("cached", "streaming", "bypassing", "plain", "evicted_first")
"""Ways to load and store: past the L1; marked as used once; large fetches, not to be kept in the L1; as compilers
do it for constant input; first to leave the L2 (policies of the L2 came with compute capability 8.0)."""
PAST_L1 = frozenset({"cached"})
"""Those that leave nothing in the L1, so that what is read again comes from the L2: ``.cg``. The others allocate there
or only ask not to (on an H200 they showed 21 TB/s; 132 SMs take at most 64 bytes a cycle each, 16.7 TB/s)."""

LOADS = {
    "cached": "ld.global.cg.v4.b32 {%0,%1,%2,%3}, [%4];",
    "streaming": "ld.global.cs.v4.b32 {%0,%1,%2,%3}, [%4];",
    "bypassing": "ld.global.nc.L1::no_allocate.L2::FETCHB.v4.b32 {%0,%1,%2,%3}, [%4];",
    "plain": "ld.global.nc.v4.b32 {%0,%1,%2,%3}, [%4];",
    "evicted_first": "ld.global.nc.L1::no_allocate.L2::cache_hint.v4.b32 {%0,%1,%2,%3}, [%4], %5;",
}
STORES = {
    "cached": "st.global.cg.v4.b32 [%0], {%1,%2,%3,%4};",
    "streaming": "st.global.cs.v4.b32 [%0], {%1,%2,%3,%4};",
    "bypassing": "st.global.L1::no_allocate.v4.b32 [%0], {%1,%2,%3,%4};",
    "plain": "st.global.v4.b32 [%0], {%1,%2,%3,%4};",
    "evicted_first": "st.global.L2::cache_hint.v4.b32 [%0], {%1,%2,%3,%4}, %5;",
}
POLICY = 'u64 policy; asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));'

VECTOR = """
struct vec { u32 x, y, z, w; };
__device__ __forceinline__ u32 scaled(u32 v) { return __float_as_uint(__fmul_rn(SCALAR, __uint_as_float(v))); }
__device__ __forceinline__ u32 fused(u32 a, u32 b) {
  return __float_as_uint(__fmaf_rn(SCALAR, __uint_as_float(b), __uint_as_float(a)));
}
"""

STEPS = {
    "read": ("LOAD(a, va)", "sum ^= va.x ^ va.y ^ va.z ^ va.w;"),
    "write": ("", "u32 first = word ^ (u32)(4 * i); vec r = {first, first ^ 1u, first ^ 2u, first ^ 3u}; STORE(r)"),
    "copy": ("LOAD(a, va)", "STORE(va)"),
    "scale": ("LOAD(a, va)", "vec r = {scaled(va.x), scaled(va.y), scaled(va.z), scaled(va.w)}; STORE(r)"),
    "triad": (
        "LOAD(a, va) LOAD(b, vb)",
        "vec r = {fused(va.x, vb.x), fused(va.y, vb.y), fused(va.z, vb.z), fused(va.w, vb.w)}; STORE(r)",
    ),
}
"""What is done for vector ``i``: first all loads of a tile are queued, then the rest."""

KERNEL = """
extern "C" __global__ void __launch_bounds__(1024) NAME(
    const vec* a, const vec* b, vec* out, u32* sums, u64 n, u64 passes, u64 word_) {
  const u32 word = (u32)word_, size = blockDim.x * UNROLL;
  const u64 tiles = (n + size - 1) / size, whole = n / size, turns = tiles * passes, step = gridDim.x % tiles;
  u64 tile = blockIdx.x % tiles;
  u32 sum = 0;
  POLICY
  for (u64 turn = blockIdx.x; turn < turns; turn += gridDim.x) {
    const u64 at = tile * size + threadIdx.x;
    if (tile < whole) {
      vec va_[UNROLL], vb_[UNROLL];
      #pragma unroll
      for (int k = 0; k < UNROLL; ++k) { const u64 i = at + k * blockDim.x; vec &va = va_[k], &vb = vb_[k]; LOADING }
      #pragma unroll
      for (int k = 0; k < UNROLL; ++k) { const u64 i = at + k * blockDim.x; vec &va = va_[k], &vb = vb_[k]; STORING }
    } else {
      for (u64 i = at; i < n; i += blockDim.x) { vec va, vb; LOADING STORING }
    }
    tile += step;
    if (tile >= tiles) tile -= tiles;
  }
  SUMMING
}
"""

STRIDED = """
extern "C" __global__ void __launch_bounds__(1024) NAME(
    const vec* a, const vec* b, vec* out, u32* sums, u64 n, u64 passes, u64 word_) {
  const u32 word = (u32)word_;
  const u64 step = (u64)gridDim.x * blockDim.x, first = blockIdx.x * (u64)blockDim.x + threadIdx.x;
  u32 sum = 0;
  POLICY
  for (u64 pass = 0; pass < passes; ++pass) {
    u64 at = first;
    for (; at + (UNROLL - 1) * step < n; at += UNROLL * step) {
      vec va_[UNROLL], vb_[UNROLL];
      #pragma unroll
      for (int k = 0; k < UNROLL; ++k) { const u64 i = at + k * step; vec &va = va_[k], &vb = vb_[k]; LOADING }
      #pragma unroll
      for (int k = 0; k < UNROLL; ++k) { const u64 i = at + k * step; vec &va = va_[k], &vb = vb_[k]; STORING }
    }
    for (u64 i = at; i < n; i += step) { vec va, vb; LOADING STORING }
  }
  SUMMING
}
"""

SUMMING = f"""\
for (int lane = 16; lane; lane >>= 1) sum ^= __shfl_xor_sync(0xffffffffu, sum, lane);
  const u32 warp = blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
  if (!(threadIdx.x & 31)) atomicXor(sums + (warp & {SUMS - 1}), sum);"""

CHECKS = """
extern "C" __global__ void fill(float* a, u64 count, u64 start, u64 seed) {
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < count; i += (u64)gridDim.x * blockDim.x)
    a[i] = number(start + i, (u32)seed);
}

__device__ __forceinline__ u32 expected(u64 i, u32 operation, u32 word, u32 seed) {
  if (operation == 1) return word ^ (u32)i;
  float a = number(i, seed);
  if (operation == 3) a = __fmul_rn(SCALAR, a);
  if (operation == 4) a = __fmaf_rn(SCALAR, number(i, seed + 1), a);
  return __float_as_uint(a);
}

extern "C" __global__ void check(const u32* out, u64 count, u64 operation, u64 word, u64 seed, u64* wrong) {
  u64 found = 0;
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < count; i += (u64)gridDim.x * blockDim.x)
    found += out[i] != expected(i, (u32)operation, (u32)word, (u32)seed);
  if (found) atomicAdd(wrong, found);
}

extern "C" __global__ void checksum(u64 count, u64 start, u64 seed, u32* sums) {
  u32 sum = 0;
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < count; i += (u64)gridDim.x * blockDim.x)
    sum ^= __float_as_uint(number(start + i, (u32)seed));
  SUMMING
}
"""
CHECK_NAMES = ("fill", "check", "checksum")
OPERATION_NUMBER = {"read": 0, "write": 1, "copy": 2, "scale": 3, "triad": 4}


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One kernel of an operation."""

    unroll: int
    hint: str
    order: str = TILES

    def name(self, operation: str) -> str:
        """Of its kernel."""
        order = "" if self.order == TILES else f"_{self.order}"
        return f"{operation}{order}_{self.hint}_{self.unroll}"


def hints(capability: tuple[int, int]) -> tuple[str, ...]:
    """The cache hints that a chip has: policies of its L2 came with compute capability 8.0."""
    return HINTS if capability >= (8, 0) else HINTS[:-1]


def variants(capability: tuple[int, int]) -> tuple[Variant, ...]:
    """All kernels of an operation."""
    known = hints(capability)
    tiles = (Variant(unroll=unroll, hint=hint) for hint in known for unroll in UNROLLS)
    strides = (Variant(unroll=unroll, hint=hint, order=STRIDES) for hint in known for unroll in UNROLLS if unroll > 1)
    return (*tiles, *strides)


def stream_source(operation: str, capability: tuple[int, int]) -> str:
    """All kernels of one operation."""
    kernels = (_kernel(operation, variant, capability) for variant in variants(capability))
    return common() + VECTOR.replace("SCALAR", SCALAR) + "".join(kernels)


def checks_source() -> str:
    """Kernels that fill arrays and check results."""
    return common() + CHECKS.replace("SCALAR", SCALAR).replace("SUMMING", SUMMING)


def _kernel(operation: str, variant: Variant, capability: tuple[int, int]) -> str:
    loading, storing = STEPS[operation]
    fetch = "256" if capability >= (8, 0) else "128"

    by_policy = ', "l"(policy)' if variant.hint == "evicted_first" else ""

    def load(array: str, into: str) -> str:
        text = LOADS[variant.hint].replace("FETCH", fetch)
        outputs = ", ".join(f'"=r"({into}.{part})' for part in "xyzw")
        return f'asm volatile("{text}" : {outputs} : "l"({array} + i){by_policy});'

    def store(value: str) -> str:
        inputs = ", ".join(f'"r"({value}.{part})' for part in "xyzw")
        return f'asm volatile("{STORES[variant.hint]}" :: "l"(out + i), {inputs}{by_policy});'

    for array, into in (("a", "va"), ("b", "vb")):
        loading = loading.replace(f"LOAD({array}, {into})", load(array, into))
    for value in ("va", "r"):
        storing = storing.replace(f"STORE({value})", store(value))
    text = (
        (KERNEL if variant.order == TILES else STRIDED)
        .replace("LOADING", loading)
        .replace("STORING", storing)
        .replace("POLICY", POLICY if by_policy else "")
    )
    text = text.replace("SUMMING", SUMMING if operation == "read" else "")
    return text.replace("UNROLL", str(variant.unroll)).replace("NAME", variant.name(operation))
