"""Advice on switches: by measurement; by the chip only where that is missing; code to paste that runs."""

import ast
from dataclasses import replace

import pytest

from gputuner.advice.rules import advise
from gputuner.advice.switches import accumulate_rule, memory_rule, switches_rule
from gputuner.advice.switches_modules import modules_rule
from gputuner.advice.switches_snippet import training
from gputuner.analysis.switches import Setting
from gputuner.model.advice import Confidence
from gputuner.model.points import Flag


def rates(lab, *of, batch=32):
    """(rate, precision, peak, switches …) in turn."""
    return [
        lab.rate(f"p{i}", batch, value, precision, False, phase="switch", extra={"allocated_peak_bytes": peak}, **more)
        for i, (value, precision, peak, more) in enumerate(of)
    ]


def compared(lab, *more, **card):
    points = rates(lab, (100.0, "fp32", 8e9, {}), (100.0, "fp32", 8e9, {}), *more)
    return lab.Evidence(card=replace(lab.card(), **card), points=tuple(points))


def test_the_advice_names_setting_base_gain_and_what_changes(lab):
    fast = (150.0, "bf16", 4e9, {"compile": True})
    (best,) = switches_rule(compared(lab, (120.0, "bf16", 4e9, {}), fast, fast))
    assert best.params["compile"] is True
    assert best.params["base_precision"] == "fp32"
    assert best.params["memory_change"] == pytest.approx(-0.5)
    assert best.gain.value == pytest.approx(0.5)
    assert best.gain.low < 0.5 < best.gain.high
    assert best.change.advised.switches == {"compile": True}
    assert best.change.base.precision == "fp32"
    assert best.confidence is Confidence.MEASURED


def test_fp16_with_its_scaler_says_what_needs_none(lab):
    (best,) = switches_rule(compared(lab, (150.0, "fp16", 4e9, {}), (148.0, "bf16", 4e9, {})))
    assert best.params["precision"] == "fp16"
    assert best.params["free_precision"] == "bf16"
    assert best.params["free_loss"] == pytest.approx(1.0 - 148 / 150)


def test_noise_is_no_reason_to_change(lab):
    (best,) = switches_rule(compared(lab, (101.2, "tf32", 8e9, {"cuda_graph": True}), (99.0, "bf16", 8e9, {})))
    assert best.params["keep"] is True
    assert best.gain is None


def test_saved_memory_is_told_with_what_it_costs(lab):
    slow = (70.0, "fp32", 3e9, {"checkpointing": True})
    (saver,) = memory_rule(compared(lab, slow))
    assert saver.params["cost"] == pytest.approx(100 / 70 - 1)
    assert saver.params["memory_change"] == pytest.approx(3 / 8 - 1)
    assert "free" not in saver.params
    (free,) = memory_rule(compared(lab, (100.0, "fp32", 7e9, {"optimizer_kind": "plain"})))
    assert free.params["free"] is True


def test_expandable_segments_are_judged_by_what_the_allocator_holds(lab):
    evidence = compared(lab, (100.0, "fp32", 8e9, {"expandable_segments": True}))
    held = [12e9, 12e9, 9e9]
    points = [
        replace(point, extra={**point.extra, "reserved_peak_bytes": each})
        for point, each in zip(evidence.points, held, strict=True)
    ]
    (saver,) = memory_rule(replace(evidence, points=tuple(points)))
    assert saver.params["reserved"] is True
    assert (saver.params["peak_bytes"], saver.params["chosen_peak_bytes"]) == (9e9, 12e9)
    assert saver.params["memory_change"] == pytest.approx(-0.25)


def test_a_switch_that_saves_nothing_is_no_saver(lab):
    """A9: what is saved is what was measured, not 30 %."""
    assert memory_rule(compared(lab, (99.0, "bf16", 7.9e9, {}))) == []


@pytest.mark.parametrize(
    ("capability", "name", "precision"),
    [("9.0", "NVIDIA H200", "bf16"), ("7.5", "Tesla T4", "fp16"), ("7.5", "GeForce GTX 1660", "fp32"),
     ("6.1", "GeForce GTX 1080 Ti", "fp32")],
)  # fmt: skip
def test_the_chip_is_judged_by_only_where_nothing_was_compared(lab, capability, name, precision):
    ladder = lab.rate("p", 16, 50.0, "fp16", False, phase="switch_batch")
    card = replace(lab.card(), name=name, compute_capability=capability)
    (told,) = switches_rule(lab.Evidence(card=card, points=(ladder,)))
    assert (told.id, told.params["precision"]) == ("switches.by_chip", precision)
    assert told.confidence is Confidence.MODEL
    measured = compared(lab, (50.0, "bf16", 4e9, {}), name=name, compute_capability=capability)
    assert {advice.id for advice in switches_rule(measured)} == {"switches.best"}
    assert switches_rule(lab.Evidence(card=card, points=())) == []


def module(lab, identity, seconds, name, precision, **more):
    return lab.point(
        identity, "module_time", seconds, module=name, kind="Conv2d", precision=precision, count=1, batch=32, **more
    )


def test_c054_the_operation_that_lost_is_named_and_the_whole_step_decides(lab):
    """14 ms a step in FP32, 31 ms in FP16: the grouped convolution lost."""
    steps = rates(lab, (1 / 0.014, "fp32", 1e9, {}), (1 / 0.031, "fp16", 1e9, {}), batch=1)
    modules = [
        module(lab, "m1", 0.004, "first", "fp32"), module(lab, "m2", 0.003, "first", "fp16"),
        module(lab, "m3", 0.009, "grouped", "fp32"), module(lab, "m4", 0.027, "grouped", "fp16"),
    ]  # fmt: skip
    evidence = lab.Evidence(card=lab.card(), points=(*steps, *modules))
    (told,) = modules_rule(evidence)
    assert (told.id, told.params["module"]) == ("switches.module", "grouped (Conv2d)")
    assert told.params["step_s"] == pytest.approx(0.031)
    assert told.params["base_step_s"] == pytest.approx(0.014)
    assert 'in_fp32(model.get_submodule("grouped"))' in told.snippet
    (best,) = switches_rule(evidence)
    assert (best.params["precision"], best.params["keep"]) == ("fp32", True)


def test_c055_padding_is_worth_a_test_and_no_promise(lab):
    steps = rates(lab, (100.0, "fp32", 1e9, {}), (300.0, "fp16", 1e9, {}))
    head = [
        module(lab, "m1", 0.040, "head", "fp16"),
        module(lab, "m2", 0.005, "head", "fp16", size=33708, padded=33712),
    ]
    (told,) = modules_rule(lab.Evidence(card=lab.card(), points=(*steps, *head)))
    assert told.id == "switches.pad"
    assert (told.params["size"], told.params["padded"]) == (33708, 33712)
    assert (told.params["time_s"], told.params["padded_s"]) == (0.040, 0.005)
    assert told.gain is None


def test_emulated_bf16_is_told_with_its_speed(lab):
    fast = (220.0, "fp16", 4e9, {})
    points = rates(lab, (41.0, "fp32", 8e9, {}), fast, (19.0, "bf16", 4e9, {}))
    points[-1] = replace(points[-1], flags=(Flag.EMULATED,))
    (best,) = switches_rule(lab.Evidence(card=lab.card(), points=tuple(points)))
    assert best.params["emulated_rate"] == pytest.approx(19.0)


def test_the_next_question_is_about_the_limit_by_the_command_that_looks_for_one(lab):
    evidence = replace(compared(lab, (150.0, "bf16", 4e9, {})), command="batch bert --switches")
    _, questions = advise(evidence)
    limit = next(question for question in questions if question.id == "batch_limit")
    assert "--switches" not in limit.command
    assert "batch bert --minutes 10" in limit.command


@pytest.fixture
def execute():
    torch = pytest.importorskip("torch")
    before = (torch.get_float32_matmul_precision(), torch.backends.cudnn.benchmark, torch.backends.cudnn.allow_tf32)

    def run(code):
        torch.manual_seed(0)
        nn = torch.nn
        model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2))
        names = {
            "model": model, "blocks": [model[0]], "loss_fn": torch.nn.functional.cross_entropy,
            "Optimizer": torch.optim.AdamW, "settings": {"lr": 1e-2},
            "optimizer": torch.optim.AdamW(model.parameters(), lr=1e-2),
            "loader": [(torch.randn(4, 3, 8, 8), torch.randint(0, 2, (4,))) for _ in range(2)],
        }  # fmt: skip
        start = model[3].weight.clone()
        exec(compile(code, "snippet", "exec"), names)
        assert torch.isfinite(names["loss"])
        assert not torch.equal(start, model[3].weight)
        return names

    yield run
    torch.set_float32_matmul_precision(before[0])
    torch.backends.cudnn.benchmark, torch.backends.cudnn.allow_tf32 = before[1:]


@pytest.mark.parametrize("precision", ["fp32", "tf32", "bf16", "fp16"])
def test_a11_a12_only_fp16_has_a_scaler_a_dynamic_one_and_no_weights_are_halved(precision):
    code = training(Setting(precision=precision), cpu=False)
    assert ('torch.amp.GradScaler("cuda")' in code) == (precision == "fp16")
    assert ".half()" not in code
    assert ".bfloat16()" not in code


SWITCHES = [
    (),
    (("checkpointing", True),),
    (("optimizer_kind", "fused"), ("sdpa", "math")),
    (("autotune", True), ("optimizer_kind", "plain")),
    (("checkpointing", True), ("sdpa", "math")),
]


@pytest.mark.torch
@pytest.mark.parametrize("switches", SWITCHES, ids=str)
@pytest.mark.parametrize("precision", ["fp32", "tf32", "bf16", "fp16"])
def test_the_code_to_paste_trains(execute, precision, switches):
    execute(training(Setting(precision=precision, channels_last=precision == "bf16", switches=switches), cpu=True))


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_compiled_code_trains(execute):
    names = execute(training(Setting(precision="fp32", switches=(("compile", True),)), cpu=True))
    assert "0.weight" in names["model"].state_dict(), "checkpoints keep their names"


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_what_needs_a_card_is_right_as_code(precision):
    """A capture, and what must stand before torch is imported."""
    switches = (("cuda_graph", True), ("expandable_segments", True), ("fp16_accumulate", True))
    code = training(Setting(precision=precision, channels_last=True, switches=switches), cpu=False)
    tree = ast.parse(code)
    lines = [ast.unparse(node) for node in tree.body]
    assert any("PYTORCH_CUDA_ALLOC_CONF" in line for line in lines[: lines.index("import torch")])
    loop = tree.body[-1]
    assert isinstance(loop, ast.For)
    assert ("scaler.step(optimizer)" in ast.unparse(loop)) == (precision == "fp16")
    if precision == "fp16":
        assert "# where gradients are clipped: scaler.unscale_(optimizer) first" in code
    assert 'torch.set_float32_matmul_precision("high")' in code, "measured with TF32 where autocast leaves FP32"


def test_a_captured_step_is_left_to_torchs_own_guide():
    """A capture depends on schedule and optimizer: no code of ours that freezes the one or breaks the other."""
    switches = (("cuda_graph", True), ("optimizer_kind", "fused"))
    code = training(Setting(precision="bf16", switches=switches), cpu=False)
    assert "https://pytorch.org/docs/stable/notes/cuda.html#whole-network-capture" in code
    assert "learning rate must then be a tensor" in code
    assert "CUDAGraph()" not in code
    assert "capturable=True" not in code
    assert sum(isinstance(node, ast.For) for node in ast.walk(ast.parse(code))) == 1, "no extra training of a batch"


def test_a_captured_step_saves_no_memory_whatever_its_peak_says(lab):
    graph = (150.0, "fp32", 1e9, {"cuda_graph": True})
    assert memory_rule(compared(lab, graph)) == []
    slow = (70.0, "fp32", 3e9, {"checkpointing": True})
    assert [each.params.get("checkpointing") for each in memory_rule(compared(lab, (99.0, *graph[1:]), slow))] == [True]


def test_accumulation_in_fp16_is_asked_and_not_advised(lab):
    fast = (190.0, "fp16", 4e9, {"fp16_accumulate": True})
    half = (150.0, "fp16", 4e9, {})
    evidence = compared(lab, half, half, fast, fast)
    (best,) = switches_rule(evidence)
    assert best.params["precision"] == "fp16"
    assert "fp16_accumulate" not in best.params
    (asked,) = accumulate_rule(evidence)
    assert (asked.id, asked.risk, asked.gain, asked.change) == ("switches.accumulate", True, None, None)
    assert (asked.params["rate"], asked.params["base_rate"]) == (pytest.approx(190.0), pytest.approx(150.0))
    assert accumulate_rule(compared(lab, half, half, (150.0, "fp16", 4e9, {"fp16_accumulate": True}))) == []
