"""Loading: the search over a host that is played: so many samples/s for each process, so much room."""

from dataclasses import dataclass, field, replace

import pytest

from gputuner.experiments.loading import Loading
from gputuner.model.errors import UsageError, UserCodeError
from gputuner.model.steps import Cancelled, Done, Lost, Part, Trial, UserCodeFailed

RECIPE = {"recipe": "mine.py:make", "folder": "/home/someone", "batch": 64}
MIB = 1 << 20


@dataclass
class Host:
    """What loads: rates in samples/s, and the facts that a worker tells of its machine."""

    demand: float = 1000.0
    each: float = 150.0
    """Of one process."""
    most: float = 1e9
    """Of all."""
    contention: float = 0.0
    """The training loses this much of its rate for each process."""
    pin_gain: float = 1.0
    facts: dict = field(default_factory=lambda: {"cores": 16})
    start_s: float = 0.3
    fails: dict = field(default_factory=dict)
    """Processes → reason."""
    busy_each: float = 0.9
    """Cores that one process keeps busy."""
    repeats: int = 30
    now_s: float = 10.0
    asked: list = field(default_factory=list)

    def rates(self, params) -> tuple[float, float]:
        workers = params["workers"]
        supply = min(self.most, self.each * max(1, workers)) * (0.9 if not workers else 1.0)
        eaten = self.demand * (1.0 - self.contention * workers) * (self.pin_gain if params["pin"] else 1.0)
        return supply, min(supply, eaten, self.demand)

    def __call__(self, work):
        if work.workload != "loading":
            return None
        params = work.params
        if params["part"] == "demand":
            facts = {"loader_batch_bytes": 8 * MIB, "source": "loader", "threads": 8, **self.facts}
            return self.done(work, [("demand", self.demand, {})], facts)
        self.asked.append((params["workers"], params["prefetch"], params["pin"], params["persistent"]))
        if params["workers"] in self.fails:
            part = Part(params={"part": "supply"}, iteration_s=(), t0_ns=self.ns(), t1_ns=self.ns(),
                        notes={"gap": self.fails[params["workers"]], "message": "it died"})  # fmt: skip
            return Done(trials=(Trial(iteration_s=(), t0_ns=self.ns(), t1_ns=self.ns(), parts=(part,)),))
        supply, fed = self.rates(params)
        border_s = 0.1 if params["persistent"] else 0.1 + self.start_s * params["workers"]
        seen = {"start_s": border_s, "workers_cores_busy": self.busy_each * params["workers"]}
        parts = [("alone", supply, seen)] if params["alone"] else []
        return self.done(work, [*parts, ("fed", fed, {"restart_s": border_s} if params["workers"] else {})], {})

    def ns(self) -> int:
        return int(self.now_s * 1e9)

    def done(self, work, rates, notes):
        start = self.ns()
        self.now_s += work.measure_s + 1.0
        parts = tuple(
            Part(
                params={"part": work.params["part"], "phase": phase},
                iteration_s=(work.params["batch"] / rate,) * self.repeats,
                t0_ns=start,
                t1_ns=self.ns(),
                work={"samples": float(work.params["batch"])},
                notes=told,
            )
            for phase, rate, told in rates
        )
        return Done(trials=(Trial(iteration_s=(), t0_ns=start, t1_ns=self.ns(), parts=parts, notes=notes),))


def played(lab, host, *, minutes=6.0, cpu=False, **changes):
    spec = Loading(**{**RECIPE, "minutes": minutes, **changes})
    card = lab.two_cores() if cpu else lab.h200()
    return lab.Performer(card, host).perform(spec.plan(lab.context_of(card, cpu=cpu, minutes=minutes)))


def workers_tried(host):
    return list(dict.fromkeys(workers for workers, *_ in host.asked))


def test_processes_grow_to_the_knee_and_the_fewest_that_feed_the_training_are_taken(lab):
    host = Host()
    told = played(lab, host)
    assert workers_tried(host) == [0, 1, 2, 4, 8, 6, 7]
    (best,) = told.of("loader_best")
    assert (best.params["workers"], best.value) == (7, pytest.approx(1000.0))
    (demand,) = told.of("loader_demand")
    assert demand.value == pytest.approx(1000.0)
    starved = {p.params["workers"]: p.extra["starvation_fraction"] for p in told.of("loader_fed", phase="workers")}
    assert starved[4] == pytest.approx(0.4)
    assert starved[7] == 0.0
    advice = {each.id: each for each in told.advised.advice}
    assert advice["loading.setting"].gain.value == pytest.approx(1000.0 / 135.0 - 1.0)
    assert "num_workers=7" in advice["loading.setting"].snippet
    assert not {each for each in advice if each.startswith(("batch.", "precision."))}


def test_what_was_chosen_and_the_present_setting_are_measured_again_in_turn(lab):
    told = played(lab, Host())
    order = [p.params["workers"] for p in told.of("loader_fed")]
    assert order[0] == order[-1] == 0
    assert order[-2] == told.of("loader_best")[0].params["workers"]
    assert all(p.params["phase"] == "again" for p in told.of("loader_fed")[-2:])
    assert not told.of("loader_supply", phase="again")


def test_the_present_setting_is_the_recipes_own(lab):
    host = Host(facts={"cores": 16, "usual_workers": 2, "usual_prefetch": 4, "usual_pin": True})
    told = played(lab, host)
    assert host.asked[0] == (2, 4, True, False)
    usual = [p for p in told.of("loader_fed") if p.extra.get("usual") is True]
    assert {p.params["workers"] for p in usual} == {2}
    assert {(prefetch, pin) for _, prefetch, pin, _ in host.asked[:6]} == {(4, True)}


def test_a_loader_that_keeps_up_is_kept(lab):
    host = Host(demand=100.0)
    told = played(lab, host)
    assert "loading.keep" in [each.id for each in told.advised.advice]
    assert told.of("loader_best")[0].extra["usual"] is True
    assert max(workers for workers, *_ in host.asked) == 0


def test_pinned_memory_is_taken_where_it_gains_and_not_tried_on_a_processor(lab):
    told = played(lab, Host(demand=1000.0, pin_gain=1.0))
    assert told.of("loader_best")[0].params["pin"] is False
    told = played(lab, Host(demand=1000.0, contention=0.02, pin_gain=1.15))
    assert told.of("loader_best")[0].params["pin"] is True
    host = Host(demand=1000.0, facts={"cores": 4, "usual_pin": True})
    played(lab, host, cpu=True)
    assert not any(pin for *_, pin, _ in host.asked)


def test_one_lucky_trial_of_a_switch_is_no_gain(lab):
    """Pinned memory was 6 % faster in its first trial and 0 % in its second: tried again in turn, and not taken."""

    class Lucky(Host):
        pinned = 0

        def rates(self, params):
            supply, fed = super().rates(params)
            self.pinned += params["pin"]
            return supply, fed * (1.06 if params["pin"] and self.pinned == 1 else 1.0)

    host = Lucky(contention=0.01)
    told = played(lab, host)
    assert told.of("loader_best")[0].params["pin"] is False
    pins = [pin for *_, pin, _ in host.asked]
    first = pins.index(True)
    assert pins[first - 1 : first + 3] == [False, True, True, False], "A B B A"
    (unsure,) = [w for w in told.warned if w.code == "loading_unsure"]
    assert (unsure.params["pin"], unsure.params["gain"] > 0.02) == (True, True)


def test_kept_processes_are_advised_by_what_their_start_costs_an_epoch(lab):
    """8 processes need 2.5 s to start; an epoch of 1000 batches takes 64 s."""
    host = Host(facts={"cores": 16, "epoch_batches": 1000})
    told = played(lab, host)
    best = told.of("loader_best")[0]
    assert best.params["persistent"] is True
    advice = {each.id: each for each in told.advised.advice}["loading.persistent"]
    saved = 0.3 * best.params["workers"]
    assert advice.gain.value == pytest.approx(saved / (64.0 + 0.1), rel=0.01)
    told = played(lab, Host(facts={"cores": 16, "epoch_batches": 1_000_000}))
    assert told.of("loader_best")[0].params["persistent"] is False


def test_c061_shared_memory_is_counted_before_and_the_sweep_goes_on(lab):
    """64 MiB and batches of 36.75 MiB: one process with two batches ready does not fit, with one it does."""
    facts = {"cores": 8, "shared_memory_bytes": 64 * MIB, "loader_batch_bytes": 38_535_168}
    host = Host(facts=facts)
    told = played(lab, host)
    assert host.asked[:2] == [(0, 2, False, False), (1, 1, False, False)]
    assert told.of("loader_best")[0].params["workers"] == 1
    gap = next(w for w in told.warned if w.code == "loading_gap")
    assert gap.params["reason"] == "shared_memory"
    assert gap.params["needs_bytes"] == 73.5 * MIB
    advice = {each.id: each for each in told.advised.advice}["loading.shared_memory"]
    assert "--shm-size=" in advice.snippet


def test_c061_processes_that_die_of_a_bus_error_end_the_sweep_not_the_run(lab):
    told = played(lab, Host(fails={2: "shared_memory", 4: "shared_memory"}))
    assert told.of("loader_best")[0].params["workers"] == 1
    assert [w.params["reason"] for w in told.warned if w.code == "loading_gap"] == 2 * ["shared_memory"]
    assert "loading.shared_memory" in [each.id for each in told.advised.advice]


def test_c062_processes_on_one_core_are_told_and_not_called_a_slow_loader(lab):
    class Pinned(Host):
        def done(self, work, rates, notes):
            told = super().done(work, rates, notes)
            (trial,) = told.trials
            seen = {"worker_cores": 1} if work.params.get("workers") else {}
            parts = tuple(replace(p, notes={**p.notes, **seen}) for p in trial.parts)
            return replace(told, trials=(replace(trial, parts=parts),))

    told = played(lab, Pinned(each=410.0, most=412.0, demand=3000.0, facts={"cores": 64}))
    advice = {each.id: each for each in told.advised.advice}
    assert advice["loading.one_core"].params["cores"] == 64
    assert "sched_setaffinity" in advice["loading.one_core"].snippet
    assert "loading.starved" not in advice


def test_c063_loader_and_training_that_share_cores_are_told_apart_from_a_slow_loader(lab):
    """Alone the loader delivers plenty, together they are slow: not the card's fault, nor the loader's."""
    facts = {"cores": 4, "threads": 4}
    told = played(lab, Host(demand=100.0, each=200.0, contention=0.3, facts=facts), cpu=True)
    ids = [each.id for each in told.advised.advice]
    assert "loading.contended" not in ids, "without processes it keeps up"
    host = Host(demand=400.0, each=200.0, contention=0.2, facts={**facts, "usual_workers": 4})
    host.rates = lambda params: (600.0 * max(1, params["workers"]), 240.0 if params["workers"] else 150.0)
    told = played(lab, host, cpu=True)
    advice = {each.id: each for each in told.advised.advice}
    assert "loading.starved" not in advice
    assert "torch.set_num_threads(" in advice["loading.contended"].snippet


def test_more_processes_than_cores_are_measured_where_the_present_setting_has_them(lab):
    host = Host(each=100.0, facts={"cores": 4, "usual_workers": 8})
    told = played(lab, host)
    assert workers_tried(host) == [8, 0, 1, 2, 4, 6, 7]
    host = Host(facts={"cores": 4, "usual_workers": 17})
    played(lab, host)
    assert max(workers_tried(host)) == 4, "more than four times the cores are not"
    (setting,) = [each for each in told.advised.advice if each.id in ("loading.setting", "loading.keep")]
    assert setting.params["cores_exceeded"] == 4


def test_processes_that_wait_for_files_may_be_more_than_the_cores(lab):
    """Each keeps a tenth of a core busy: 16 processes fit on four cores, and feed what four cannot."""
    host = Host(each=60.0, busy_each=0.1, facts={"cores": 4})
    told = played(lab, host)
    assert workers_tried(host)[:6] == [0, 1, 2, 4, 8, 16]
    assert told.of("loader_best")[0].params["workers"] == 16
    host = Host(each=60.0, busy_each=0.4, facts={"cores": 4})
    played(lab, host)
    assert max(workers_tried(host)) == 8, "16 would need 6.4 cores"
    host = Host(each=60.0, busy_each=0.9, facts={"cores": 4})
    played(lab, host)
    assert max(workers_tried(host)) == 4


def test_host_memory_of_the_processes_that_were_seen_counts(lab):
    class Heavy(Host):
        def done(self, work, rates, notes):
            told = super().done(work, rates, notes)
            (trial,) = told.trials
            seen = {"worker_bytes": 2 << 30} if work.params.get("workers") else {}
            parts = tuple(replace(p, notes={**p.notes, **seen}) for p in trial.parts)
            return replace(told, trials=(replace(trial, parts=parts),))

    host = Heavy(facts={"cores": 16, "host_memory_bytes": 8 << 30})
    told = played(lab, host)
    assert max(workers for workers, *_ in host.asked) == 2
    assert "loading.host_memory" in [each.id for each in told.advised.advice]


def test_a_short_budget_skips_what_cannot_feed_half_and_says_what_it_left_out(lab):
    host = Host(each=60.0)
    told = played(lab, host, minutes=1.0)
    tried = workers_tried(host)
    assert tried[0] == 0
    assert 1 not in tried
    assert host.now_s < 10.0 + 1.2 * 60.0
    assert "time" in [w.params["reason"] for w in told.warned if w.code == "loading_gap"]
    assert told.of("loader_best")


def test_a_loader_that_fails_in_this_process_is_the_users_error(lab):
    failed = UserCodeFailed(message="KeyError: 'image'", traceback='  File "/x/mine.py", line 3, in get\nKeyError: 1')

    def script(work):
        return failed if work.workload == "loading" else None

    with pytest.raises(UserCodeError, match="KeyError") as raised:
        played(lab, script)
    assert raised.value.params["workload"] == "mine.py:make"


def test_a_worker_that_is_lost_costs_its_setting_only(lab):
    host = Host()

    def script(work):
        lost = work.params.get("workers") == 2 and work.params["alone"]
        return Lost(message="exit code -11") if lost else host(work)

    told = played(lab, script)
    assert "worker_lost" in told.codes()
    assert told.of("loader_best")[0].params["workers"] == 7


def test_cancelled_keeps_what_was_measured(lab):
    host = Host()

    def script(work):
        return Cancelled() if work.params.get("workers") == 2 else host(work)

    told = played(lab, script)
    assert {p.params["workers"] for p in told.of("loader_fed")} == {0, 1}


def test_decoding_on_the_card_is_compared_or_said_to_be_missing(lab):
    reasons = [w.params["reason"] for w in played(lab, Host()).warned if w.code == "loading_decode"]
    assert reasons == ["own_decoding"]
    there = {"cores": 8, "source": "photographs", "torchvision": True, "dali": False}
    told = played(lab, Host(facts=there), recipe="", folder=".")
    assert told.of("loader_fed", decode="torchvision_card")
    assert [w.params["reason"] for w in told.warned if w.code == "loading_decode"] == ["not_installed"]
    told = played(lab, Host(facts=there), cpu=True, recipe="", folder=".")
    assert [w.params["reason"] for w in told.warned if w.code == "loading_decode"] == ["needs_card", "needs_card"]


def test_without_a_batch_the_fastest_is_found_first(lab):
    host = Host(demand=5000.0)
    told = played(lab, host, batch=0, precision="bf16")
    assert told.works("train_probe")
    assert told.of("loader_demand")[0].params["batch"] > 2
    assert {each.id.split(".")[0] for each in told.advised.advice} <= {"loading", "host", "limit"}


@pytest.mark.parametrize(
    ("changes", "code"),
    [({"workload": "bert"}, "loading_no_loader"), ({"workload": "none"}, "workload_unknown"),
     ({"recipe": "nothing"}, "recipe_malformed"), ({"batch": 1 << 21}, "value_out_of_range")],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(changes, code):
    with pytest.raises(UsageError) as raised:
        Loading(**changes)
    assert raised.value.code == code


def test_the_command_names_question_and_batch():
    assert Loading(**RECIPE).command() == "batch --recipe mine.py:make --loader --batch-size 64"
    assert Loading().command() == "batch resnet50 --loader"
