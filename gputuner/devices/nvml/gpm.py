# pyright: standard
"""Activity counters of the whole card (GPM, Hopper and later): SM, tensor and DRAM busy shares between two reads."""

from typing import Any

from gputuner.devices.nvml.card import Asker
from gputuner.devices.nvml.errors import LOST, Code, Failed, error_of, reason_of
from gputuner.devices.nvml.plausible import PERCENT
from gputuner.devices.nvml.tick import Tick
from gputuner.model.quantities import Quantity as Q
from gputuner.model.readings import Reason

_METRICS: dict[int, Q] = {2: Q.SM_ACTIVE, 5: Q.TENSOR_ACTIVE, 10: Q.DRAM_ACTIVE}
"""NVML_GPM_METRIC_SM_UTIL, _ANY_TENSOR_UTIL, _DRAM_BW_UTIL (percent)."""
QUANTITIES = frozenset(_METRICS.values())
SUPPORT = ("nvmlGpmQueryDeviceSupport",)
"""Under which an asker remembers that the driver does not know of such counters."""


class Gpm:
    """The two counter snapshots between which activity is computed."""

    def __init__(self, before: Any, after: Any) -> None:
        """Own two allocated snapshots; none is filled yet."""
        self.before = before
        self.after = after
        self.filled = False


def read(asker: Asker, tick: Tick) -> None:
    """Activity since the last read; the first read has none.

    Raises:
        DeviceLost: the card is gone.
    """
    state = asker.gpm if asker.gpm is not None else _open(asker)
    asker.gpm = None if state is Reason.ERROR else state
    if isinstance(state, Reason):
        tick.lack(state, *_METRICS.values())
        return
    answer = asker.ask_about("nvmlGpmSampleGet", state.after)
    if type(answer) is Failed:
        state.filled = False
        tick.lack(reason_of(answer.code), *_METRICS.values())
        return
    if state.filled:
        _compare(asker, state, tick)
    else:
        tick.lack(Reason.NOT_READ, *_METRICS.values())
    state.before, state.after, state.filled = state.after, state.before, True


def _open(asker: Asker) -> Gpm | Reason:
    support = asker.ask(*SUPPORT)
    if type(support) is Failed:
        return reason_of(support.code)
    if not support.isSupportedDevice:
        return Reason.NOT_SUPPORTED
    if asker.card.mig_enabled:
        return Reason.NOT_WITH_MIG
    samples = [asker.binding.ask("nvmlGpmSampleAlloc") for _ in range(2)]
    if any(type(sample) is Failed for sample in samples):
        return Reason.ERROR
    return Gpm(*samples)


def _compare(asker: Asker, state: Gpm, tick: Tick) -> None:
    module = asker.binding.module
    request = module.c_nvmlGpmMetricsGet_t()
    request.version = module.NVML_GPM_METRICS_GET_VERSION
    request.numMetrics = len(_METRICS)
    request.sample1, request.sample2 = state.before, state.after
    for position, metric in enumerate(_METRICS):
        request.metrics[position].metricId = metric
    answer = asker.binding.ask("nvmlGpmMetricsGet", request)
    if type(answer) is Failed:
        if answer.code in LOST:
            raise error_of(answer.code, asker.card.info.uuid)
        tick.lack(reason_of(answer.code), *_METRICS.values())
        return
    for position, quantity in enumerate(_METRICS.values()):
        metric = answer.metrics[position]
        if metric.nvmlReturn != Code.SUCCESS:
            tick.lack(reason_of(metric.nvmlReturn), quantity)
        else:
            tick.put(quantity, metric.value, PERCENT)


def close(asker: Asker) -> None:
    """Give the snapshots back."""
    if isinstance(asker.gpm, Gpm):
        asker.binding.ask("nvmlGpmSampleFree", asker.gpm.before)
        asker.binding.ask("nvmlGpmSampleFree", asker.gpm.after)
    asker.gpm = None
