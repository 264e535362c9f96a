"""The workloads by name. A body is imported when it is first asked for, so that a worker starts light."""

import importlib
from collections.abc import Callable
from typing import Any, cast

from gputuner.workloads.bodies.body import Body
from gputuner.workloads.bodies.device import Device
from gputuner.workloads.bodies.failures import UnsupportedError
from gputuner.workloads.bodies.survey import Survey
from gputuner.workloads.bodies.switches import ACCUMULATE

BODIES: "dict[str, str | Callable[..., Any]]" = {
    "matmul": "matmul:Matmul",
    "matmul_bursts": "matmul_bursts:MatmulBursts",
    "matmul_search": "matmul_search:MatmulSearch",
    "matmul_sparse": "matmul_sparse:SparseMatmul",
    "copy": "copy:Copy",
    "stream": "stream:Stream",
    "stream_sweep": "stream:StreamSweep",
    "regions": "regions:Regions",
    "vram": "vram:Vram",
    "burn": "burn:Burn",
    "resnet50": "resnet50:ResNet50Training",
    "bert": "bert:BertTraining",
    "edsr": "edsr:EdsrTraining",
    "gpt": "gpt:GptTraining",
    "lstm": "lstm:LstmTraining",
    "llm": "llm_training:LlmTraining",
    "recipe": "recipe_training:RecipeTraining",
    "decode": "decode:Decode",
    "attention": "attention:Attention",
    "conv": "conv:Conv",
    "transfer": "transfer:Transfer",
    "peer_transfer": "transfer_peers:PeerTransfer",
    "allreduce": "transfer_allreduce:AllReduce",
    "launch": "launch:Launch",
    "loading": "recipe_loading:Loading",
    "numerics": "numerics:Numerics",
    "modules": "precision_modules:ModuleTimes",
    "pressure": "pressure:make",
}
"""Workload → module of this package and class in it (or what makes the body)."""


def make_body(workload: str, device: Device, params: "dict[str, Any]", seed: int) -> "Body | Survey":
    """The body or survey of a workload, set up on ``device``.

    Raises:
        UnsupportedError: no such workload, or the device cannot do it.
    """
    if workload not in BODIES:
        raise UnsupportedError(f"unknown workload: {workload}")
    make = BODIES[workload]
    if isinstance(make, str):
        module, _, name = make.partition(":")
        make = getattr(importlib.import_module(f"gputuner.workloads.bodies.{module}"), name)
    count = int(params.get(ACCUMULATE, 1))
    body = make(device, seed=seed, **{name: value for name, value in params.items() if name != ACCUMULATE})
    if count > 1:
        body.accumulate_over(count)
    return cast("Body | Survey", body)
