"""One card of ``resources/gpus.toml`` as a record."""

from dataclasses import dataclass, field, fields
from typing import Any, cast

from gputuner.model.errors import StoreError


@dataclass(frozen=True, slots=True, kw_only=True)
class CardFacts:
    """Specification of one card; None: does not apply, or not known (then the name is in ``unknown``).

    Rates are dense, in TFLOPS or TOPS; bandwidth in GB/s; memory in MiB; clocks in MHz; limits in W and °C
    (``tlimit_*``: margins in K on boards that report no absolute limits).
    """

    id: str
    name: str
    nvml_name_patterns: tuple[str, ...]
    modded: bool
    card_class: str
    """geforce, titan, pro or datacenter (``class`` in the file)."""
    architecture: str
    chip: str
    compute_capability: str
    sm_count: int
    cuda_cores: int
    tensor_cores: int
    boost_clock_mhz: int
    memory_gib: int
    memory_total_mib: int
    memory_match_mib: tuple[int, int]
    memory_type: str
    bus_width_bits: int
    memory_data_rate_gbps: float
    memory_bandwidth_gb_s: float
    l2_mib: float
    tdp_w: int
    pcie_gen: int
    pcie_lanes: int
    nvlink: str
    """none, bridge or switch."""
    nvlink_gb_s: float
    ecc: str
    """none, optional or native."""
    fp32_tflops: float
    fp64_tflops: float
    sparsity_2_4: bool
    base_id: str | None = None
    memory_total_mib_alt: tuple[int, ...] = ()
    min_power_limit_w: int | None = None
    max_power_limit_w: int | None = None
    tf32_tensor_tflops: float | None = None
    fp16_tensor_fp32acc_tflops: float | None = None
    fp16_tensor_fp16acc_tflops: float | None = None
    bf16_tensor_tflops: float | None = None
    fp64_tensor_tflops: float | None = None
    int8_tops: float | None = None
    fp8_tflops: float | None = None
    fp8_fp16acc_tflops: float | None = None
    fp4_tflops: float | None = None
    gpu_max_temp_c: int | None = None
    gpu_target_temp_c: int | None = None
    slowdown_c: int | None = None
    shutdown_c: int | None = None
    tlimit_slowdown_c: int | None = None
    tlimit_shutdown_c: int | None = None
    memory_temp_limit_c: int | None = None
    launch_date: str | None = None
    launch_msrp_usd: int | None = None
    launch_msrp_cny: int | None = None
    notes: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    check: dict[str, object] = field(default_factory=lambda: {})
    sources: dict[str, tuple[str, ...]] = field(default_factory=lambda: {})
    """Source label → names of the fields that it supports."""
    confidence: dict[str, object] = field(default_factory=lambda: {})

    @property
    def passive(self) -> bool:
        """True for boards without a fan of their own (cooled by the server's airflow)."""
        if self.card_class == "datacenter":
            return True
        return self.id in _PASSIVE_PRO

    def holds_memory(self, total_bytes: int) -> bool:
        """True if a total reported by the driver lies in this card's window."""
        low, high = self.memory_match_mib
        return low <= total_bytes / 2**20 <= high


_PASSIVE_PRO = frozenset({"a10", "a40", "l4", "l40", "l40s"})
"""Professional boards without a fan (cooling facts: they show none, or one stuck at 0 %)."""

_FIELDS = {f.name: f for f in fields(CardFacts)}


def card_from_table(table: dict[str, Any]) -> CardFacts:
    """The record of one ``[[gpu]]`` table.

    Raises:
        StoreError: a field is missing or unknown.
    """
    values = {("card_class" if key == "class" else key): _frozen(value) for key, value in table.items()}
    values["sources"] = {label: tuple(names) for label, names in table.get("sources", {}).items()}
    unknown = sorted(set(values) - set(_FIELDS))
    if unknown:
        raise StoreError(
            "catalog_malformed", f"unknown field {unknown[0]}", card=table.get("id", "?"), field=unknown[0]
        )
    try:
        return CardFacts(**values)
    except TypeError as err:
        raise StoreError("catalog_malformed", str(err), card=table.get("id", "?"), field=str(err)) from err


def _frozen(value: Any) -> Any:
    return tuple(cast("list[object]", value)) if isinstance(value, list) else value
