"""What is seen of a training that runs unchanged: by hooks in its processes, by telemetry of its cards and its host."""

from dataclasses import dataclass
from enum import StrEnum

from gputuner.model.points import Conditions, Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderSeen:
    """Settings of a torch DataLoader that the program drew from (None: not said)."""

    num_workers: int
    batch_size: int | None = None
    prefetch_factor: int | None = None
    pin_memory: bool = False
    persistent_workers: bool = False
    start: str | None = None
    """How its workers start where the program says so: ``fork``, ``spawn``, ``forkserver``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """Totals of one process that trained, as its hooks wrote them down; None: not known.

    Sums of time leave out the first line with steps, where others follow: it holds the first steps of all.
    """

    pid: int
    ppid: int | None = None
    rank: int | None = None
    local_rank: int | None = None
    world_size: int | None = None
    program: str = ""
    """Name of the script's file."""
    python: str | None = None
    torch: str | None = None
    device: str = "cpu"
    uuids: tuple[str, ...] = ()
    card_name: str | None = None
    started_unix_s: float | None = None
    last_unix_s: float | None = None
    first_step_unix_s: float | None = None
    last_step_unix_s: float | None = None
    ended: bool = False
    """Whether the process came to its own end (not killed)."""
    off: str | None = None
    """Why the hooks switched themselves off, None: they did not."""
    steps: int = 0
    """Optimizer steps."""
    by_batches: bool = False
    """No optimizer was seen to step (a compiled one shows none): steps are batches drawn with gradients on."""
    step_s: Spread | None = None
    """Seconds from one optimizer step to the next."""
    step_series_s: tuple[float, ...] = ()
    """Mean step of each line, oldest first."""
    accumulated: float | None = None
    """Batches drawn per optimizer step."""
    other_optimizers: int = 0
    """Steps of further optimizers."""
    timed_steps: int = 0
    """Steps within ``training_s``."""
    training_s: float = 0.0
    other_s: float = 0.0
    """Intervals between steps that held an evaluation."""
    waited_s: float = 0.0
    """Waiting for data within ``training_s``, the start of epochs included."""
    waited_first_s: float = 0.0
    """The part of it at the start of epochs: workers starting, first batch."""
    epoch_starts: float | None = None
    """Waiting at the start of epochs after the first, over all time in steps, the first ones too; None: not told."""
    hidden_s: float = 0.0
    """The part of it behind which the card still worked."""
    unstepped_s: float = 0.0
    """Waiting for data of threads that made no training step: inference, or a program that trains without torch."""
    batches: int = 0
    evaluation_batches: int = 0
    samples: int = 0
    batch_size: int | None = None
    """The most frequent first dimension of a batch."""
    rate_per_s: float | None = None
    """Samples per second of training."""
    cpu_s: float | None = None
    """Processor time of the process, all threads, within ``covered_s``."""
    system_s: float | None = None
    thread_s: float | None = None
    """Processor time of the thread that steps, less what loading in it took."""
    loading_cpu_s: float = 0.0
    """Processor time that loading took in the thread that waited for it."""
    queued_s: float | None = None
    """Time in which the thread that steps was ready to run and had no core."""
    covered_steps: int = 0
    """Steps within ``covered_s``."""
    covered_s: float = 0.0
    """Wall time of the lines that hold steps and no evaluation, which processor time and faults are told of."""
    minor_faults: int | None = None
    major_faults: int | None = None
    rss_peak_bytes: int | None = None
    operations_per_step: float | None = None
    """Operations recorded by autograd in a step's forward pass; None where a compiler has merged them."""
    behind: float | None = None
    """Share of the steps at which the card had not yet done the backward pass when the host had launched everything."""
    scaled: bool = False
    skipped_steps: int = 0
    scaler_wait_s: float = 0.0
    """Time in which a gradient scaler waited for the card."""
    allocated_peak_bytes: int | None = None
    reserved_peak_bytes: int | None = None
    split_bytes: int | None = None
    """Reserved, free, but in pieces of larger blocks."""
    memory_total_bytes: int | None = None
    memory_fraction: float | None = None
    """Share of the card's memory that the program allows itself."""
    retries: int | None = None
    """Times the allocator gave all cached blocks back to get one more, from the second line on."""
    out_of_memory: int | None = None
    optimizer: str | None = None
    fused: bool | None = None
    foreach: bool | None = None
    parameters: int | None = None
    parameter_dtype: str | None = None
    autocast: str | None = None
    """``float16``, ``bfloat16``, ``off``; None where no step was seen."""
    tf32_matmul: bool | None = None
    tf32_cudnn: bool | None = None
    cudnn_benchmark: bool | None = None
    compiled: bool = False
    graphs: int = 0
    """Graphs that torch.compile made."""
    threads: int | None = None
    loaders: tuple[LoaderSeen, ...] = ()
    """Those that training drew from most come first."""
    own_s: float = 0.0
    """What the hooks themselves took of the covered time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CardUse:
    """One card over the time that the command trained on it; shares 0–1, None: not known."""

    uuid: str
    conditions: Conditions | None = None
    sm_active: float | None = None
    tensor_active: float | None = None
    dram_active: float | None = None
    memory_utilisation: float | None = None
    """Share of the time in which the memory was read or written (the driver's figure)."""
    sm_clock_max_mhz: float | None = None
    memory_total_bytes: int | None = None
    memory_used_peak_bytes: int | None = None
    tree_memory_peak_bytes: int | None = None
    others_memory_bytes: int | None = None
    others_computed: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeUse:
    """What a command and all its children took, from telemetry; None: not known."""

    duration_s: float
    processes: int = 1
    cpu_s: float | None = None
    cores: float | None = None
    """Cores that it may use: affinity and quota."""
    rss_peak_bytes: int | None = None
    memory_limit_bytes: int | None = None
    """The least of the machine's memory, its control group's, and a budget."""
    swapped_bytes: int | None = None
    cards: tuple[CardUse, ...] = ()
    io_read_bytes: int | None = None
    io_written_bytes: int | None = None


class WatchCause(StrEnum):
    """Where a training's time goes."""

    DATA = "data"
    """Waiting for a DataLoader."""
    HOST_LAUNCH = "host_launch"
    """The host launches many short operations, and the card (or the arithmetic) waits for it."""
    HOST_OTHER = "host_other"
    """The card waits for the host, for something else than launches."""
    IDLE = "idle"
    """The program itself waits, using no processor: it sleeps, or for storage, the network, another program."""
    COMPUTE = "compute"
    MEMORY_CAPACITY = "memory_capacity"
    """Memory is nearly full: blocks are given back and taken anew, or pages are swapped."""
    MEMORY_BANDWIDTH = "memory_bandwidth"
    """Moving data in memory, and on a processor taking new pages at each step."""
    CARD_BUSY = "card_busy"
    """The card computes or moves data: which of both is not known."""
    POWER = "power"
    HEAT = "heat"
    SHARED = "shared"
    """Others computed on the same card or processor."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimePart:
    """A share (0–1) of the training's time."""

    cause: WatchCause
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """One figure that speaks for or against a cause, in its unit."""

    name: str
    value: float
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeSpent:
    """Where the time of a training went, and on what this rests."""

    cause: WatchCause
    sure: bool
    """False: the likely one; what is known does not exclude others."""
    by: str
    """``hooks_and_telemetry``, ``hooks`` or ``telemetry``."""
    beside: WatchCause | None = None
    """A second cause that costs much as well."""
    parts: tuple[TimePart, ...] = ()
    """Shares that sum to 1, largest first; what cannot be told apart is ``unknown`` or ``card_busy``."""
    signs: tuple[Sign, ...] = ()
    headroom_bytes: int | None = None
    headroom_of_bytes: int | None = None
    """The memory that the headroom is a part of: a card's, or the host's for a training on the processor."""
