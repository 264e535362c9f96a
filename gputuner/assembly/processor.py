"""A processor of modest speed as the simulated workers play one: for the dry run on the card ``cpu``."""

import os
from dataclasses import replace

from gputuner.catalog import Catalog, load
from gputuner.catalog.facts import CardFacts
from gputuner.model.cards import CardInfo
from gputuner.workloads.bodies.cpu_flags import bf16_native, fields
from gputuner.workloads.simulated_costs.chip import PROCESSOR_CHIP

PROCESSOR = PROCESSOR_CHIP
"""Id of the one entry of the catalogue made here."""
TEMPLATE = "rtx-3060-12g"
"""Its fans and limits fill what a processor's entry needs and no dry run shows."""
CLOCK_MHZ = 2500
LANES = 10
"""Multiply-adds per clock and thread: 50 GFLOP/s in FP32, which two threads of a Xeon reached in a training."""
BF16_GAIN = 2.0
"""What hardware for BF16 gains a training; a product alone gains up to seven times (same machine)."""
BUS_BITS, DATA_RATE_GBPS = 128, 1.25
"""20 GB/s: one copy, read and written (same machine)."""


def processor_catalog(card: CardInfo, threads: int | None = None, native: bool | None = None) -> Catalog:
    """A catalogue whose only entry is the host's processor.

    Args:
        card: the card ``cpu``.
        threads: that work; None: as many as the process may use.
        native: whether it computes in BF16; None: as the host says.
    """
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    lanes = LANES * (threads or usable)
    fp32 = 2.0 * lanes * CLOCK_MHZ / 1e6
    bf16 = BF16_GAIN * fp32 if (bf16_native(fields()) if native is None else native) else None
    memory_mib = (card.memory_total_bytes or 4 * 2**30) >> 20
    return Catalog((_entry(card.name, lanes, fp32, bf16, memory_mib),), ())


def _entry(name: str, lanes: int, fp32_tflops: float, bf16_tflops: float | None, memory_mib: int) -> CardFacts:
    return replace(
        load().card(TEMPLATE),
        id=PROCESSOR,
        name=name,
        nvml_name_patterns=(name,),
        card_class="datacenter",
        architecture=PROCESSOR,
        chip=PROCESSOR,
        compute_capability="7.5",
        sm_count=1,
        cuda_cores=lanes,
        tensor_cores=0,
        boost_clock_mhz=CLOCK_MHZ,
        memory_gib=memory_mib >> 10,
        memory_total_mib=memory_mib,
        memory_match_mib=(memory_mib, memory_mib),
        bus_width_bits=BUS_BITS,
        memory_data_rate_gbps=DATA_RATE_GBPS,
        memory_bandwidth_gb_s=BUS_BITS / 8 * DATA_RATE_GBPS,
        l2_mib=16.0,
        fp32_tflops=fp32_tflops,
        tf32_tensor_tflops=None,
        fp16_tensor_fp32acc_tflops=bf16_tflops,
        fp16_tensor_fp16acc_tflops=bf16_tflops,
        bf16_tensor_tflops=bf16_tflops,
    )
