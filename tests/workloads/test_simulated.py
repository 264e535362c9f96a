import statistics

import pytest

from gputuner.catalog import load
from gputuner.devices.simulated import SimulatedCards, SimulatedClock
from gputuner.model.codec import from_builtins
from gputuner.model.quantities import Quantity, Tier
from gputuner.model.steps import Trial
from gputuner.workloads.simulated import SimulatedWorker
from gputuner.workloads.simulated_costs.chip import flop_per_cycle
from gputuner.workloads.simulated_costs.resnet50 import MEMORY_LINE, UNRELEASABLE

S = 10**9
GIB = 2**30
CATALOG = load()


class Bench:
    """Cards, workers and a clock that jumps to whatever happens next."""

    def __init__(self, card_id, seed=0, workers=1, faults=(), **options):
        self.clock = SimulatedClock()
        self.cards = SimulatedCards([card_id], self.clock, seed=seed, faults=faults)
        self.card = self.cards.models[0]
        self.workers = [SimulatedWorker(self.card, seed, f"w{i + 1}", **options) for i in range(workers)]
        self.log = []
        self.run()

    def run(self, until_s=None):
        """Everything that happens until nothing more does (or until ``until_s``); the messages of each worker."""
        said = [[] for _ in self.workers]
        while True:
            times = [t for t in (w.next_event_ns() for w in self.workers) if t is not None]
            if not times or (until_s is not None and min(times) > until_s * S):
                break
            self.clock.advance_to_ns(min(times))
            for i, worker in enumerate(self.workers):
                said[i] += [m for _, m in worker.step(self.clock.now_ns())]
        if until_s is not None:
            self.clock.advance_to_ns(int(until_s * S))
            for i, worker in enumerate(self.workers):
                said[i] += [m for _, m in worker.step(self.clock.now_ns())]
        self.log += said
        return said

    def ask(self, workload, measure_s=2.0, budget_s=60.0, warmup_s=None, barrier=False, trial="t1", **params):
        message = {
            "kind": "trial",
            "id": trial,
            "workload": workload,
            "params": params,
            "measure_s": measure_s,
            "budget_s": budget_s,
            "warmup_s": warmup_s,
            "barrier": barrier,
            "seed": 0,
        }
        for worker in self.workers:
            worker.request(message)

    def go(self, trial="t1"):
        for worker in self.workers:
            worker.request({"kind": "go", "id": trial})

    def trial(self, workload, **options):
        """Results of one trial on all workers (started from a barrier)."""
        self.ask(workload, barrier=True, **options)
        before = self.run()
        self.go(options.get("trial", "t1"))
        return [(set_up + measured)[-1] for set_up, measured in zip(before, self.run(), strict=True)]


def rate(message):
    assert message["kind"] == "result", message
    return next(iter(message["work"].values())) / statistics.median(message["iteration_s"])


def as_trial(message):
    return from_builtins({k: v for k, v in message.items() if k not in ("kind", "id")}, Trial)


# --- messages ---------------------------------------------------------------------------------------------------------


def test_a_worker_introduces_itself_opens_the_card_and_reports_a_trial():
    bench = Bench("rtx-4090-48g")
    (ready,) = bench.log[0]
    assert ready["kind"] == "ready"
    assert ready["capability"] == "8.9"
    assert ready["total_bytes"] == 49140 * 2**20
    assert "simulated" in ready["torch"]
    bench.ask("matmul", precision="bf16", n=8192)
    (messages,) = bench.run()
    kinds = [m["kind"] for m in messages]
    assert kinds[0] == "device"
    assert kinds[-1] == "result"
    assert set(kinds[1:-1]) == {"progress"}
    assert {m["phase"] for m in messages if m["kind"] == "progress"} == {"setup", "warmup", "measure"}
    trial = as_trial(messages[-1])
    assert trial.notes["simulated"] is True
    assert trial.work == {"flop": 2.0 * 8192**3}
    assert trial.steady
    assert len(trial.iteration_s) >= 50
    assert (trial.t1_ns - trial.t0_ns) / S == pytest.approx(2.0, abs=0.2)
    measured = [m for m in messages if m["kind"] == "progress" and m["phase"] == "measure"]
    assert len(measured) <= 2.0 / 0.25 + 1


def test_a_worker_serves_many_trials_and_ends_on_exit():
    bench = Bench("rtx-3090")
    for i in range(3):
        (result,) = bench.trial("copy", bytes=GIB, trial=f"t{i}", measure_s=0.5)
        assert result["id"] == f"t{i}"
    assert [p.pid for p in bench.cards.processes(bench.card.uuid, bench.clock.now_ns()).processes]
    bench.workers[0].request({"kind": "exit"})
    assert bench.workers[0].exit_code == 0
    assert bench.workers[0].next_event_ns() is None
    assert not bench.cards.processes(bench.card.uuid, bench.clock.now_ns()).processes


def test_the_barrier_waits_idle_until_go():
    bench = Bench("rtx-3090")
    bench.ask("matmul", precision="fp16", n=8192, barrier=True)
    (messages,) = bench.run()
    assert messages[-1]["kind"] == "armed"
    assert bench.workers[0].next_event_ns() is None
    waited = bench.clock.now_ns() / S + 30
    bench.run(until_s=waited)
    assert bench.cards.sample(bench.card.uuid, Tier.FAST, bench.clock.now_ns()).values[Quantity.GPU_UTILISATION] == 0
    bench.go()
    (messages,) = bench.run()
    assert messages[-1]["kind"] == "result"
    assert messages[-1]["t0_ns"] == int(waited * S)


def test_stop_keeps_what_was_measured_or_says_that_nothing_was():
    bench = Bench("rtx-3090")
    bench.ask("matmul", precision="fp16", n=8192, measure_s=60)
    bench.run(until_s=bench.clock.now_ns() / S + 10)
    bench.workers[0].request({"kind": "stop", "id": "t1"})
    (messages,) = bench.run()
    assert messages[-1]["kind"] == "result"
    assert messages[-1]["notes"]["stopped"] is True
    bench.ask("matmul", precision="fp16", n=8192, trial="t2")
    bench.workers[0].request({"kind": "stop", "id": "t2"})
    (messages,) = bench.run()
    assert (messages[-1]["kind"], messages[-1]["error"]) == ("failed", "stopped")
    bench.workers[0].request({"kind": "stop", "id": "nobody"})
    assert rate(bench.trial("copy", bytes=GIB, trial="t3")[0]) > 0


def test_a_trial_over_its_budget_is_too_slow_and_never_hangs():
    bench = Bench("tesla-p40")
    started = bench.clock.now_ns()
    bench.ask("matmul", precision="fp32", n=40960, budget_s=4.0)  # 2 · 40960³ FLOP at 11 TFLOP/s: 13 s each
    (messages,) = bench.run()
    result = messages[-1]
    assert result["too_slow"] is True
    assert len(result["iteration_s"]) == 1
    bench.ask("resnet50", precision="fp32", batch=64, budget_s=3.0, measure_s=60.0, trial="t2")
    (messages,) = bench.run()
    assert messages[-1]["too_slow"] is True
    assert messages[-1]["steady"] is False
    assert (bench.clock.now_ns() - started) / S < 80


def test_what_the_chip_cannot_do_is_unsupported_and_the_worker_goes_on():
    bench = Bench("rtx-2080-ti-22g")
    (failed,) = bench.trial("matmul", precision="tf32", n=1024)
    assert (failed["kind"], failed["error"]) == ("failed", "unsupported")
    (failed,) = bench.trial("knitting", trial="t2")
    assert failed["error"] == "unsupported"
    (failed,) = bench.trial("matmul", precision="fp32", trial="t3")
    assert failed["error"] == "user_code"
    assert bench.trial("matmul", precision="bf16", n=4096, trial="t4")[0]["notes"]["emulated"] is True


@pytest.mark.parametrize(
    ("card_id", "cuda", "code"),
    [
        ("v100-sxm2-32g", "13.0", "no_kernels_for_card"),
        ("rtx-5090", "12.6", "no_kernels_for_card"),
        ("rtx-3090", "14.0", "driver_too_old_for_torch"),
    ],
)
def test_a_build_that_cannot_run_on_the_card_is_said_before_anything_runs(card_id, cuda, code):
    bench = Bench(card_id, cuda=cuda)
    (said,) = bench.log[0]
    assert (said["kind"], said["code"]) == ("unusable", code)
    assert bench.workers[0].exit_code == 3


@pytest.mark.parametrize("card_id", CATALOG.ids)
def test_every_card_gets_a_build_that_runs_and_trains(card_id):
    bench = Bench(card_id)
    (result,) = bench.trial("resnet50", precision="fp32", batch=16, measure_s=1.0)
    assert 30 < rate(result) < 3000


def test_a_card_that_is_lost_in_mid_trial_breaks_the_worker():
    bench = Bench("rtx-3090", faults=[(6, "lost", {})])
    bench.ask("matmul", precision="fp16", n=8192, measure_s=60)
    (messages,) = bench.run()
    assert (messages[-1]["kind"], messages[-1]["error"]) == ("failed", "sticky")
    assert bench.workers[0].exit_code == 6
    assert bench.clock.now_ns() / S < 7


# --- memory -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("card_id", ["rtx-2080-ti-22g", "rtx-4090-48g", "rtx-3090"])
def test_memory_ends_where_the_line_says(card_id, precision):
    bench = Bench(card_id)
    (small,) = bench.trial("resnet50", precision=precision, batch=8, measure_s=0.2)
    fixed, per_sample = MEMORY_LINE[precision]
    assert small["memory"]["allocated_peak_bytes"] == pytest.approx(fixed + 8 * per_sample, abs=1)
    capacity = small["memory"]["capacity_bytes"]
    assert capacity == bench.card.facts.memory_total_mib * 2**20 - bench.card.model.reserved_bytes - (
        bench.card.model.context_bytes
    )
    limit = int((capacity / UNRELEASABLE - fixed) / per_sample)
    (fits,) = bench.trial("resnet50", precision=precision, batch=limit, measure_s=0.2, trial="t2")
    assert fits["kind"] == "result"
    assert fits["memory"]["allocator_retries"] > 0
    assert fits["memory"]["reserved_peak_bytes"] <= capacity
    (failed,) = bench.trial("resnet50", precision=precision, batch=limit + 1, measure_s=0.2, trial="t3")
    assert (failed["kind"], failed["error"]) == ("failed", "out_of_memory")
    assert failed["needed_bytes"] > failed["free_bytes"]
    assert bench.workers[0].exit_code == 5
    assert bench.card.free_bytes > capacity


def test_a_neighbour_takes_memory_away_while_it_trains_and_gives_it_back():
    bench = Bench("rtx-3090", workers=2)
    first, second = bench.workers
    bench.workers = [first]
    (alone,) = bench.trial("resnet50", precision="fp32", batch=64, measure_s=0.2)
    bench.ask("resnet50", precision="fp32", batch=64, measure_s=20, trial="t2")
    bench.run(until_s=bench.clock.now_ns() / S + 5)
    bench.workers = [second]
    bench.ask("resnet50", precision="fp32", batch=8, measure_s=0.2, trial="t3")
    bench.workers = [first, second]
    beside = bench.run()[1][-1]
    taken = alone["memory"]["capacity_bytes"] - beside["memory"]["capacity_bytes"]
    assert taken == pytest.approx(alone["memory"]["reserved_peak_bytes"] + bench.card.model.context_bytes, abs=2)
    bench.workers = [second]
    (after,) = bench.trial("resnet50", precision="fp32", batch=8, measure_s=0.2, trial="t4")
    assert alone["memory"]["capacity_bytes"] - after["memory"]["capacity_bytes"] == bench.card.model.context_bytes


def test_a_memory_cap_is_the_limit():
    bench = Bench("h200-sxm", memory_cap_bytes=2 * GIB)
    (fits,) = bench.trial("resnet50", precision="bf16", batch=16, measure_s=0.2)
    assert fits["memory"]["capacity_bytes"] == 2 * GIB
    (failed,) = bench.trial("resnet50", precision="bf16", batch=64, measure_s=0.2, trial="t2")
    assert failed["error"] == "out_of_memory"


# --- rates ------------------------------------------------------------------------------------------------------------


def test_the_h200_runs_as_recorded():
    bench = Bench("h200-sxm")
    burst = rate(bench.trial("matmul", precision="bf16", n=8192, measure_s=0.2, warmup_s=0.0)[0])
    assert burst == pytest.approx(790e12, rel=0.03)
    sustained = bench.trial("matmul", precision="bf16", n=8192, measure_s=30, trial="t2")[0]
    assert rate(sustained) == pytest.approx(667e12, rel=0.02)
    assert sustained["notes"]["clock_mhz"] == pytest.approx(1485, rel=0.02)
    copied = bench.trial("copy", bytes=4 * GIB, trial="t3")[0]
    assert rate(copied) == pytest.approx(4.3e12, rel=0.02)
    assert bench.card.physics.window(1.0)[0] == pytest.approx(462, rel=0.03)
    single = bench.trial("matmul", precision="fp32", n=8192, trial="t4")[0]
    assert single["notes"]["clock_mhz"] == 1980
    assert bench.card.physics.window(1.0)[0] == pytest.approx(669, rel=0.03)


@pytest.mark.parametrize(
    ("precision", "batch", "images_per_s", "within"),
    [
        # contention-h200.json, resnet50_batch (its fp32 allowed TF32 in convolutions, torch's default then)
        ("tf32", 1, 76.6, 0.10),
        ("tf32", 16, 1169, 0.10),
        ("tf32", 64, 1995, 0.10),
        ("tf32", 256, 2216, 0.05),
        ("fp16", 8, 528, 0.10),
        ("fp16", 64, 2839, 0.10),
        ("fp16", 512, 3125, 0.05),
        ("bf16", 64, 2248, 0.10),
        ("bf16", 512, 2526, 0.05),
    ],
)
def test_the_h200_trains_as_recorded(precision, batch, images_per_s, within):
    bench = Bench("h200-sxm")
    (result,) = bench.trial("resnet50", precision=precision, batch=batch, channels_last=False)
    assert rate(result) == pytest.approx(images_per_s, rel=within)
    if precision == "bf16":
        # 23257600000 bytes at 512, 3216753152 at 64
        recorded = {512: 23257600000, 64: 3216753152}[batch]
        assert result["memory"]["allocated_peak_bytes"] == pytest.approx(recorded, rel=0.01)


def test_two_launch_bound_trainings_run_side_by_side_and_two_saturated_ones_halve():
    for batch, expected, near in ((16, 1.0, 0.1), (256, 2.0, 0.05)):
        bench = Bench("h200-sxm", workers=2)
        first, second = bench.workers
        bench.workers = [first]
        solo = rate(bench.trial("resnet50", precision="bf16", batch=batch, channels_last=False)[0])
        bench.workers = [first, second]
        both = bench.trial("resnet50", precision="bf16", batch=batch, channels_last=False, trial="t2")
        for result in both:
            assert solo / rate(result) == pytest.approx(expected, rel=near)


@pytest.mark.parametrize(
    ("card_id", "published"),
    [("rtx-3090", 77e12), ("rtx-4090-48g", 172e12), ("a100-sxm-80g", 265e12), ("rtx-5090", 242e12), ("h20", 142e12)],
)
def test_products_come_near_what_others_published(card_id, published):
    bench = Bench(card_id)
    assert rate(bench.trial("matmul", precision="bf16", n=8192)[0]) == pytest.approx(published, rel=0.15)


def rate_of_training(card_id, precision):
    return rate(Bench(card_id).trial("resnet50", precision=precision, batch=64, measure_s=0.5)[0])


def test_rates_per_clock_follow_the_chip():
    def per_cycle(card_id, precision):
        return flop_per_cycle(CATALOG.card(card_id), precision)

    assert per_cycle("rtx-4090-48g", "fp16") == 128 * 512  # FP32 accumulation at half rate on GeForce
    assert per_cycle("rtx-6000-ada", "fp16") == 142 * 1024
    assert per_cycle("h200-sxm", "bf16") == 132 * 4096
    assert per_cycle("rtx-3090", "tf32") == pytest.approx(82 * 256, rel=0.01)
    assert per_cycle("h20", "bf16") == pytest.approx(148e12 / 1.98e9, rel=0.01)  # export cap
    assert per_cycle("gtx-1080-ti", "fp16") == 2 * 3584  # no faster than FP32 there
    assert rate_of_training("rtx-4090-48g", "tf32") > 1.1 * rate_of_training("rtx-4090-48g", "fp32")
    assert per_cycle("v100-sxm2-32g", "bf16") < per_cycle("v100-sxm2-32g", "fp32")


def test_copy_reaches_most_of_the_memorys_peak():
    bench = Bench("rtx-4090-48g")
    assert rate(bench.trial("copy", bytes=GIB)[0]) == pytest.approx(0.92 * 1008e9, rel=0.01)


def test_the_same_seed_gives_the_same_run_and_another_does_not():
    def run(seed):
        bench = Bench("rtx-3090", seed=seed)
        return bench.trial("resnet50", precision="fp16", batch=32)[0]["iteration_s"]

    assert run(3) == run(3)
    assert run(3) != run(4)


def test_noise_is_small():
    (result,) = Bench("rtx-4090-48g").trial("resnet50", precision="bf16", batch=64, measure_s=5)
    spread = statistics.pstdev(result["iteration_s"]) / statistics.mean(result["iteration_s"])
    assert 0.001 < spread < 0.02


def test_one_trial_of_a_training_differs_from_the_next_by_a_part_in_three_hundred():
    bench = Bench("h200-sxm")
    rates = [
        rate(bench.trial("edsr", precision="bf16", batch=16, variant="baseline", patch=48, measure_s=0.5,
                         warmup_s=0.2, trial=f"t{i}")[0])
        for i in range(24)
    ]  # fmt: skip
    scatter = statistics.stdev(rates) / statistics.mean(rates)
    assert 0.0018 < scatter < 0.0048  # of 24 at 0.3 %, beside 0.5 % in each of the windows


@pytest.mark.parametrize("card_id", ["rtx-4090-48g", "h200-sxm"])
def test_convolutions_in_bursts_repeat_and_take_the_time_they_were_given(card_id):
    bench = Bench(card_id)
    (result,) = bench.trial("conv", measure_s=3.2, shapes="3x3-64-64-56", precision="bf16", batch=256)
    assert (result["t1_ns"] - result["t0_ns"]) / S == pytest.approx(3.2, rel=0.1)  # pauses included
    assert len(result["parts"]) == 4
    for part in result["parts"]:
        assert part["params"]["phase"] == "bursts"
        assert len(part["iteration_s"]) >= 20
        assert part["notes"]["clock_rest_mhz"] == pytest.approx(bench.card.model.clock_max_mhz, rel=0.02)
        loads_s = part["notes"]["loaded_share"] * (part["t1_ns"] - part["t0_ns"]) / S
        assert loads_s / len(part["iteration_s"]) < 0.025
        third = len(part["iteration_s"]) // 3
        first, last = (statistics.median(part["iteration_s"][at]) for at in (slice(0, third), slice(-third, None)))
        assert last == pytest.approx(first, rel=0.005)


def test_an_iteration_too_long_for_a_burst_is_timed_without_pauses():
    (result,) = Bench("gtx-1080-ti").trial("conv", measure_s=8.0, shapes="3x3-512-512-56", precision="fp32", batch=256)
    assert all("phase" not in part["params"] and "pause_s" not in part["notes"] for part in result["parts"])
