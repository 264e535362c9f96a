"""The page of a watched command says what was seen, and leaves out what was not."""

import ast
from pathlib import Path

import pytest

from gputuner.language import watch
from gputuner.language.watch_causes import CAUSES
from gputuner.language.words import set_language
from gputuner.model.events import CommandEnded, CommandSampled
from gputuner.model.followed import CardHeld, FollowedProcess, TrainingNow, TreeNow
from gputuner.model.points import Conditions, Spread
from gputuner.model.watched import CardUse, LoaderSeen, Observed, Sign, TimePart, TimeSpent, TreeUse, WatchCause

GIB = 2**30
PACKAGE = Path(__file__).resolve().parents[2] / "gputuner"


@pytest.fixture(autouse=True)
def english():
    set_language("en")


def spent(cause=WatchCause.DATA, **more):
    return TimeSpent(**{"cause": cause, "sure": True, "by": "hooks", **more})


def ended(*cards, **more):
    use = TreeUse(duration_s=60.0, processes=3, cpu_s=90.0, cards=cards)
    known = {"exit_code": 0, "signal": None, "duration_s": 60.0, "hooks": True, "use": use}
    return CommandEnded(run_id="r", seq=1, t_ns=0, **{**known, **more})


def test_every_cause_has_words_of_its_own():
    assert set(CAUSES) == set(watch.SENTENCES) == set(WatchCause)
    assert len(set(CAUSES.values())) == len(set(watch.SENTENCES.values())) == len(WatchCause)


def test_every_sign_that_is_made_has_words():
    """Signs are made in ``analysis/watching_*.py`` as tuples (name, value, unit) or ``Sign(name=…)``."""
    made = set()
    for path in sorted((PACKAGE / "analysis").glob("watching_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "signs_of":
                tuples = [entry for entry in node.args if isinstance(entry, ast.Tuple)]
                made |= {entry.elts[0].value for entry in tuples if isinstance(entry.elts[0], ast.Constant)}
    assert made, "the source is not read"
    assert made - set(watch.SIGNS) == set()


def test_what_is_likely_is_told_as_such_and_a_second_cause_beside():
    assert watch.bound_by(spent()) == "It waits for data: the loader does not keep up."
    told = watch.bound_by(spent(sure=False, beside=WatchCause.POWER))
    assert told == "Likely: It waits for data: the loader does not keep up. Beside it: the power limit."
    assert watch.bound_by(spent(WatchCause.UNKNOWN, sure=False)).startswith("What it is bound by cannot be told")


def test_an_idle_card_is_told_otherwise_than_an_idle_processor():
    outside = {"by": "telemetry", "sure": False}
    card = watch.bound_by(
        spent(WatchCause.HOST_OTHER, signs=(Sign(name="gpu_utilisation", value=0.1, unit="fraction"),), **outside)
    )
    host = watch.bound_by(spent(WatchCause.IDLE, **outside))
    assert "The card had nothing to do" in card
    assert "It mostly waited" in host


def test_parts_stand_in_order_and_little_ones_are_left_out():
    parts = (
        TimePart(cause=WatchCause.COMPUTE, share=0.299),
        TimePart(cause=WatchCause.DATA, share=0.7),
        TimePart(cause=WatchCause.HEAT, share=0.001),
    )
    assert watch.parts_table(spent(parts=parts)).rows == (("waiting for data", "70 %"), ("computing", "29.9 %"))


@pytest.mark.parametrize(
    ("sign", "told"),
    [
        (Sign(name="waiting", value=0.25, unit="fraction"), "waiting for data: 25 %"),
        (Sign(name="host_s_per_operation", value=12e-6, unit="s"), "host time per operation: 12 µs"),
        (Sign(name="operations_per_step", value=417.0, unit=""), "operations per step: 417"),
        (Sign(name="others_computed", value=1.0, unit=""), "others on the card"),
        (Sign(name="a_new_one", value=3.0, unit="1/s"), "a new one: 3/s"),
    ],
)
def test_a_sign_in_words(sign, told):
    assert watch.sign(sign) == told


def test_facts_of_a_training_on_a_card():
    observed = Observed(
        pid=7,
        rank=1,
        program="train.py",
        torch="2.13.0",
        device="cuda",
        steps=1000,
        step_s=Spread(n=1000, median=0.05, iqr=0.001),
        rate_per_s=640.0,
        batch_size=32,
        accumulated=4.0,
        skipped_steps=2,
        optimizer="AdamW",
        fused=True,
        foreach=False,
        parameter_dtype="float32",
        autocast="bfloat16",
        tf32_matmul=False,
        scaled=False,
        allocated_peak_bytes=6 * GIB,
        reserved_peak_bytes=7 * GIB,
        ended=True,
        loaders=(LoaderSeen(num_workers=4, prefetch_factor=2, pin_memory=True, persistent_workers=False),) * 2,
    )
    assert dict(watch.facts(observed)) == {
        "steps": "1000, median 50 ms, 640 samples/s, 2 skipped",
        "batch": "32, 4 accumulated for a step",
        "number format": "FP32, autocast BF16, TF32 off",
        "data loader": "4 workers (prefetch 2, pinned)",
        "optimizer": "AdamW, fused",
        "compiled": "no",
        "memory at the peak": "6 GiB allocated, 7 GiB reserved",
        "torch": "2.13.0, cuda",
    }
    assert watch.who(observed) == "train.py, rank 1"


def test_of_what_is_not_known_nothing_is_said():
    told = dict(watch.facts(Observed(pid=7)))
    assert set(told) == {"compiled", "torch"}
    assert watch.headroom(spent()) == ""
    assert watch.card_lines(ended(CardUse(uuid="GPU-1"))) == ("",)


def test_a_cards_line_tells_whose_memory_it_was():
    known = Conditions(duration_s=60.0, samples=120, gpu_utilisation=0.4, power_w=180.0, sm_clock_mhz=1900.0)
    own = CardUse(uuid="GPU-1", conditions=known, tree_memory_peak_bytes=6 * GIB, others_memory_bytes=2 * GIB)
    whole = CardUse(uuid="GPU-1", memory_used_peak_bytes=9 * GIB, others_computed=True)
    lines = watch.card_lines(ended(own, whole))
    assert lines == (
        "40 % busy, 180 W, 1900 MHz, 6 GiB of its own at the peak, 2 GiB of others",
        "9 GiB in use at the peak, whose is not told, others computed on it",
    )


def test_processes_are_named_by_kind():
    shell, *sleeps = (FollowedProcess(pid=i, name="sh" if i == 0 else "sleep") for i in range(3))
    assert watch.processes(ended(processes=(shell, *sleeps))) == "3 processes followed: sh, 2 × sleep"


def test_the_line_of_now():
    event = CommandSampled(
        run_id="r",
        seq=1,
        t_ns=0,
        tree=TreeNow(processes=5, cpu_cores=3.94, busiest_thread=1.0, memory_bytes=4 * GIB),
        cards=(CardHeld(card="GPU-1", own_bytes=6 * GIB, others_bytes=0),),
        trainings=(TrainingNow(pid=7, steps=120, step_s=0.05, waiting=0.3, rate_per_s=640.0),),
    )
    assert watch.now_line(event) == (
        "5 processes, 3.9 cores busy, 4 GiB, 6 GiB on the card, step 120, 50 ms a step, 640 samples/s, "
        "30 % waiting for data"
    )


@pytest.mark.parametrize(
    ("code", "number", "told"),
    [
        (0, None, "The command ended with exit code 0."),
        (137, 9, "The command was ended by signal 9 (exit code 137)."),
        (None, None, "The command goes on."),
    ],
)
def test_how_it_ended(code, number, told):
    assert watch.ending(code, number) == told


def test_ranks_with_the_same_settings_share_a_table():
    ranks = [
        Observed(
            pid=10 + rank,
            rank=rank,
            program="train.py",
            steps=100 + rank,
            training_s=10.0,
            waited_s=2.5,
            batches=9,
            ended=rank == 1,
        )
        for rank in range(2)
    ]
    table = watch.trainings_table(ranks)
    assert table.headers == ("training", "steps", "waiting for data")
    assert table.rows == (("train.py, rank 0", "at least 100", "25 %"), ("train.py, rank 1", "101", "25 %"))
    assert watch.settings_of(ranks[0]) == watch.settings_of(ranks[1])


def test_what_the_shares_are_of_is_told_where_it_is_not_all():
    signs = (Sign(name="judged_training", value=6.0, unit="s"),)
    told = watch.covered(spent(signs=signs), ended(observed=(Observed(pid=1, steps=9, other_s=2.0),)))
    assert (
        told == "This is about 6 s between training steps; the command took 1 min, at least 2 s of it for evaluations."
    )
    assert watch.covered(spent(signs=(Sign(name="judged_training", value=57.0, unit="s"),)), ended()) == ""
    assert watch.covered(spent(), ended()) == ""


def test_too_little_is_told_as_such():
    signs = (Sign(name="judged_training", value=0.3, unit="s"),)
    assert watch.bound_by(spent(WatchCause.UNKNOWN, sure=False, signs=signs)).startswith("Too little of its training")


def test_what_a_moments_command_cost_is_no_share():
    assert "core" in watch.cost(ended(own_cpu_s=0.6))
    moment = ended(use=TreeUse(duration_s=0.007), own_cpu_s=0.07)
    assert watch.cost(moment) == "70 ms"
