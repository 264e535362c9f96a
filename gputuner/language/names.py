"""Names of things: features, quantities, once-read facts, metrics, workloads."""

from collections.abc import Mapping

from gputuner.language.advice_words_watching import METRICS as WATCHING
from gputuner.language.cooling import METRICS as COOLING
from gputuner.language.health import METRICS as HEALTH
from gputuner.language.numerics_words import METRICS as NUMERICS
from gputuner.language.power import METRICS as POWER
from gputuner.language.words import N_, _
from gputuner.model.quantities import Quantity

FEATURES: dict[str, str] = {
    "bf16": N_("BF16"),
    "tf32": N_("TF32"),
    "fp16_tensor": N_("FP16 tensor cores"),
    "fp8": N_("FP8"),
    "sparsity_2_4": N_("2:4 sparsity"),
    "async_copy": N_("asynchronous copy"),
    "nvlink": N_("NVLink"),
}

QUANTITIES: dict[Quantity, str] = {
    Quantity.CORE_TEMPERATURE_C: N_("core temperature"),
    Quantity.MEMORY_TEMPERATURE_C: N_("memory temperature"),
    Quantity.HOTSPOT_TEMPERATURE_C: N_("hotspot temperature"),
    Quantity.SLOWDOWN_MARGIN_C: N_("margin to slowdown"),
    Quantity.POWER_AVERAGE_W: N_("average power"),
    Quantity.POWER_INSTANT_W: N_("instant power"),
    Quantity.POWER_LIMIT_ENFORCED_W: N_("power limit enforced"),
    Quantity.ENERGY_J: N_("energy counter"),
    Quantity.SM_CLOCK_MHZ: N_("SM clock"),
    Quantity.GRAPHICS_CLOCK_MHZ: N_("graphics clock"),
    Quantity.MEMORY_CLOCK_MHZ: N_("memory clock"),
    Quantity.VIDEO_CLOCK_MHZ: N_("video clock"),
    Quantity.LIMIT_BITS: N_("limited by"),
    Quantity.GPU_UTILISATION: N_("GPU busy"),
    Quantity.MEMORY_UTILISATION: N_("memory controller busy"),
    Quantity.ENCODER_UTILISATION: N_("encoder busy"),
    Quantity.DECODER_UTILISATION: N_("decoder busy"),
    Quantity.MEMORY_USED_BYTES: N_("memory used"),
    Quantity.MEMORY_RESERVED_BYTES: N_("memory reserved by the driver"),
    Quantity.MEMORY_FREE_BYTES: N_("memory free"),
    Quantity.BAR1_USED_BYTES: N_("BAR1 used"),
    Quantity.FAN_FRACTION: N_("fan setting"),
    Quantity.FAN_RPM: N_("fan speed"),
    Quantity.PSTATE: N_("performance state"),
    Quantity.PCIE_GENERATION: N_("PCIe generation now"),
    Quantity.PCIE_WIDTH: N_("PCIe lanes now"),
    Quantity.PCIE_REPLAYS: N_("PCIe replays"),
    Quantity.LIMITED_POWER_NS: N_("time held back by power"),
    Quantity.LIMITED_THERMAL_SOFTWARE_NS: N_("time held back by heat (software limit)"),
    Quantity.LIMITED_THERMAL_HARDWARE_NS: N_("time held back by heat (hardware slowdown)"),
    Quantity.LIMITED_POWER_BRAKE_NS: N_("time held back by the power brake"),
    Quantity.LIMITED_SYNC_BOOST_NS: N_("time held back by sync boost"),
    Quantity.SM_ACTIVE: N_("SMs active"),
    Quantity.TENSOR_ACTIVE: N_("tensor cores active"),
    Quantity.DRAM_ACTIVE: N_("memory bandwidth in use"),
    Quantity.ECC_CORRECTED: N_("ECC errors corrected"),
    Quantity.ECC_UNCORRECTED: N_("ECC errors uncorrected"),
    Quantity.REMAPPED_ROWS: N_("remapped memory rows"),
}

PROCESSOR: dict[Quantity, str] = {
    Quantity.CORE_TEMPERATURE_C: N_("processor temperature"),
    Quantity.POWER_AVERAGE_W: N_("average power"),
    Quantity.ENERGY_J: N_("energy counter"),
    Quantity.SM_CLOCK_MHZ: N_("processor clock"),
    Quantity.GPU_UTILISATION: N_("processor busy"),
    Quantity.MEMORY_USED_BYTES: N_("main memory used"),
    Quantity.MEMORY_FREE_BYTES: N_("main memory free"),
}
"""What the card ``cpu`` can tell; it has none of the other quantities."""

PROCESSOR_READINGS: dict[str, str] = {"sm_clock_max_mhz": N_("processor clock at most")}

READINGS: dict[str, str] = {
    "power_limit_default_w": N_("power limit by default"),
    "power_limit_requested_w": N_("power limit requested"),
    "power_limit_enforced_w": N_("power limit enforced"),
    "power_limit_min_w": N_("power limit at least"),
    "power_limit_max_w": N_("power limit at most"),
    "slowdown_c": N_("slows down at"),
    "shutdown_c": N_("shuts down at"),
    "memory_max_c": N_("memory temperature at most"),
    "target_c": N_("target temperature"),
    "sm_clock_max_mhz": N_("SM clock at most"),
    "graphics_clock_max_mhz": N_("graphics clock at most"),
    "memory_clock_max_mhz": N_("memory clock at most"),
    "video_clock_max_mhz": N_("video clock at most"),
    "pcie_generation": N_("PCIe generation now"),
    "pcie_generation_max": N_("PCIe generation at most"),
    "pcie_width": N_("PCIe lanes now"),
    "pcie_width_max": N_("PCIe lanes at most"),
    "bar1_total_bytes": N_("BAR1 size"),
    "fan_count": N_("fans"),
    "ecc_enabled": N_("ECC on"),
    "row_remap_failed": N_("a memory row could not be replaced"),
    "persistence": N_("persistence mode"),
    "mig_enabled": N_("MIG on"),
    "display_active": N_("drives a display"),
    "vbios": N_("VBIOS"),
    "driver": N_("driver"),
    "cuda_driver": N_("CUDA of the driver"),
    "l2_bytes": N_("L2 cache"),
    "compute_capability": N_("compute capability"),
    "compute_mode": N_("compute mode"),
    "other_processes": N_("other processes on the card"),
    "time_slice_policy": N_("time-slice policy"),
    "clock_locked": N_("clock locked"),
    "clock_offset_mhz": N_("clock offset"),
    "cpu": N_("processor"),
    "cores": N_("cores"),
    "cores_physical": N_("physical cores"),
    "cores_logical": N_("logical cores"),
    "smt": N_("SMT"),
    "governor": N_("frequency governor"),
    "cgroup_quota_cores": N_("processor quota (cores)"),
    "numa_nodes": N_("NUMA nodes"),
    "memory_total_bytes": N_("main memory"),
    "memory_available_bytes": N_("memory available"),
    "load_1m": N_("load (1 min)"),
    "virtual_machine": N_("virtual machine"),
    "wsl": N_("WSL"),
    "container": N_("container"),
    "iommu": N_("IOMMU"),
    "os": N_("operating system"),
    "kernel": N_("kernel"),
    "python": N_("Python"),
    "gputuner": N_("gputuner"),
    "disk_free_bytes": N_("disk space free"),
    "cpu_temperature_c": N_("processor temperature"),
    "rapl_readable": N_("processor power readable"),
    "boot_id": N_("boot id"),
}

METRICS: dict[str, str] = {
    "matmul_rate": N_("matrix multiplication"),
    "copy_bandwidth": N_("memory copy (read + written)"),
    "train_step_rate": N_("training steps"),
    "train_throughput": N_("training rate"),
    "prefill_rate": N_("prompt reading rate"),
    "decode_rate": N_("token writing rate"),
    "attention_rate": N_("attention"),
    "conv_rate": N_("convolution"),
    "transfer_bandwidth": N_("copy between host and card"),
    "peer_bandwidth": N_("copy between cards"),
    "allreduce_busbw": N_("all-reduce, bus bandwidth"),
    "loader_rate": N_("loader rate"),
    "loader_demand": N_("what the training could eat"),
    "loader_supply": N_("loader alone"),
    "loader_fed": N_("training with its loader"),
    "loader_best": N_("chosen loader"),
    "launch_time": N_("kernel launch"),
    "graph_launch_time": N_("kernel in a CUDA graph"),
    "host_rate": N_("operations that one host thread dispatches"),
    "memory_per_sample": N_("memory per sample"),
    "batch_limit": N_("largest batch that runs"),
    "batch_safe": N_("largest safe batch"),
    "batch_fastest": N_("fastest batch"),
    "batch_least_energy": N_("batch with the least energy per sample"),
    "batch_room": N_("batch that memory would hold, at most about"),
    "module_time": N_("one module, forward and backward"),
    "switches_gain": N_("chosen setting against plain FP32 or TF32"),
    "advice_gain": N_("gain of an advice that was tried"),
    **COOLING,
    **POWER,
    **HEALTH,
    **NUMERICS,
    **WATCHING,
    "null_difference": N_("difference of equal measurements"),
    "co_run_slowdown": N_("slowdown of jobs at once"),
    "co_run_gain": N_("jobs at once against in turn"),
    "co_run_predicted": N_("slowdown as predicted"),
    "co_run_cause": N_("share of a slowdown that a cause explains"),
    "co_run_activity": N_("activity of the card with jobs at once"),
    "pressure_sensitivity": N_("slowdown beside a pressure probe"),
    "pressure_calibration": N_("pressure probe beside another"),
    "pressure_exerted": N_("slowdown of a pressure probe beside the job"),
    "load_temperature": N_("core temperature under load"),
    "load_memory_temperature": N_("memory temperature under load"),
    "load_power": N_("power under load"),
}

WORKLOADS: dict[str, str] = {
    "matmul": N_("matrix multiplication"),
    "copy": N_("memory copy"),
    "resnet50": "ResNet-50",
    "bert": "BERT-large",
    "bert-large": "BERT-large",
    "edsr": "EDSR",
    "gpt": "GPT-2",
    "lstm": "LSTM",
    "llm": N_("7B decoder"),
    "llm-7b": N_("7B decoder"),
    "decode": N_("decoder inference"),
    "attention": N_("attention"),
    "conv": N_("convolution"),
    "pcie": N_("host ↔ card"),
    "p2p": N_("card ↔ card"),
    "allreduce": N_("all-reduce"),
    "loader": N_("data loader"),
    "launch": N_("launch"),
    "stand_in": N_("a stand-in network"),
}

SOURCES: dict[str, str] = {
    "nvml": "NVML",
    "host": N_("this machine"),
    "simulated": N_("a model"),
}

_CATALOG_NOTES: dict[str, str] = {
    "unknown_name": N_("not in the catalogue"),
    "unknown_variant": N_("the name is known, but not with this much memory"),
    "sm_count_differs": N_("the number of SMs differs from the catalogue"),
}


def feature(name: str) -> str:
    """Name of a feature of a chip."""
    return _named(FEATURES, name)


def quantity(entry: Quantity, *, processor: bool = False) -> str:
    """Name of a sampled quantity, of a card or of the host's processor."""
    return _(PROCESSOR[entry] if processor and entry in PROCESSOR else QUANTITIES[entry])


def reading_name(name: str, *, processor: bool = False) -> str:
    """Name of a once-read fact of a card, of the host's processor, or of the host."""
    return _named(PROCESSOR_READINGS if processor and name in PROCESSOR_READINGS else READINGS, name)


def metric(name: str) -> str:
    """Name of a measured figure."""
    return _named(METRICS, name)


def workload(name: str) -> str:
    """Name of a workload; a recipe's, and a script's of the user's, as it is."""
    return name if set(":.#") & set(name) and name not in WORKLOADS else _named(WORKLOADS, name)


def source(name: str) -> str:
    """Who read the telemetry; another program by the name it has."""
    return _(SOURCES[name]) if name in SOURCES else name


def catalog_note(note: str) -> str:
    """Why the catalogue does not know a card."""
    return _named(_CATALOG_NOTES, note)


def _named(table: Mapping[str, str], name: str) -> str:
    """The table's word, else the bare name made readable."""
    return _(table[name]) if name in table else name.replace("_", " ").replace(".", " ")
