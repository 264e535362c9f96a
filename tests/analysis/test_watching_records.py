"""Totals from the lines of a watched process: sums, what is left out, and lines that are torn or foreign."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputuner.analysis.watching_records import NOTE_S, gather, window_of

HELLO = {"k": "hello", "pid": 70, "ppid": 7, "program": "train.py", "torch": "2.9.1", "rank": 1, "t": 1000.0}
FACTS = {
    "k": "facts",
    "device": "cuda",
    "uuid": "GPU-1f2e",
    "memory_total": 24 << 30,
    "memory_fraction": 0.5,
    "autocast": "bfloat16",
    "loaders": [{"workers": 2, "batch": 32, "prefetch": 2, "pin": True, "persistent": False, "start": None}],
    "graphs": 0,
}


def window(t: float, steps: int, step_s: float, **more: object) -> dict[str, object]:
    span = steps * step_s
    base = {
        "k": "window",
        "t": t,
        "s": span,
        "seen": steps,
        "steps": steps,
        "training_s": span,
        "step_us": [round(step_s * 1e6)] * steps,
    }
    return base | {"cpu_s": span, "thread_s": span, "minor": 0, "major": 0} | more


def lines(*records: dict[str, object]) -> list[str]:
    return [json.dumps(record) for record in records]


def test_the_start_of_a_second_epoch_is_a_share_of_both():
    """Two epochs of 10 s, a line each; workers that live on would save the 4 s between them: 4 of 20 s, not 4 of 10."""
    told = lines(HELLO, FACTS, window(1010.0, 10, 1.0), window(1020.0, 10, 1.0, waited_s=4.0, first_s=4.0, batches=10))
    seen = gather(told)
    assert seen is not None
    assert seen.waited_first_s / seen.training_s == pytest.approx(0.4)
    assert seen.epoch_starts == pytest.approx(0.2)


def test_sums_leave_out_the_line_with_the_first_steps():
    told = lines(
        HELLO,
        FACTS,
        window(1001.0, 2, 2.0, waited_s=3.0, samples=64, batches=2),
        window(1002.0, 10, 0.1, waited_s=0.2, first_s=0.05, samples=320, batches=10, operations=1000, own_s=0.001),
        window(1003.0, 10, 0.1, waited_s=0.1, samples=320, batches=10, operations=1000, other_s=0.5),
        {"k": "end", "t": 1003.0},
    )
    seen = gather(told)
    assert seen is not None
    assert (seen.pid, seen.ppid, seen.rank, seen.program, seen.torch) == (70, 7, 1, "train.py", "2.9.1")
    assert (seen.steps, seen.timed_steps, seen.covered_steps) == (22, 20, 10)
    assert seen.training_s == pytest.approx(2.0)
    assert seen.waited_s == pytest.approx(0.3)
    assert seen.waited_first_s == pytest.approx(0.05)
    assert seen.rate_per_s == pytest.approx(320)
    assert seen.operations_per_step == pytest.approx(100)
    assert seen.accumulated == pytest.approx(1)
    assert seen.cpu_s == pytest.approx(1.0)  # of the line without an evaluation
    assert seen.own_s == pytest.approx(0.001 + NOTE_S * 30)
    assert seen.step_s is not None
    assert seen.step_s.median == pytest.approx(0.1)
    assert seen.ended
    assert window_of([seen]) == (997.0, 1003.0)


def test_facts_are_the_last_ones_told():
    seen = gather(
        lines(HELLO, FACTS, window(1, 4, 0.1), {**FACTS, "autocast": None, "graphs": 3, "memory_fraction": 1.0})
    )
    assert seen is not None
    assert (seen.autocast, seen.compiled, seen.graphs, seen.memory_fraction) == ("off", True, 3, 1.0)
    assert (seen.device, seen.uuids) == ("cuda", ("GPU-1f2e",))
    assert [(each.num_workers, each.batch_size, each.pin_memory) for each in seen.loaders] == [(2, 32, True)]


def test_four_batches_a_step_are_accumulation():
    seen = gather(lines(HELLO, window(1, 4, 0.1), window(2, 5, 0.1, batches=20, samples=160)))
    assert seen is not None
    assert seen.accumulated == pytest.approx(4)


@pytest.mark.parametrize(("batches", "told"), [(21, 2.0), (18, 2.0), (25, 2.5), (30, 3.0)])
def test_a_line_that_ends_between_the_batches_of_a_step_is_no_accumulation_of_its_own(batches, told):
    """Ten steps of two batches; a line held one batch of a step that came in another: 21, not 2.1 a step."""
    seen = gather(lines(HELLO, window(1, 4, 0.1), window(2, 10, 0.1, batches=batches, samples=8 * batches)))
    assert seen is not None
    assert seen.accumulated == pytest.approx(told)


def test_retries_of_the_first_steps_are_no_sign():
    told = lines(
        HELLO, window(1, 2, 1.0, retries=3, reserved=9), window(2, 10, 0.1, retries=3), window(3, 10, 0.1, retries=8)
    )
    seen = gather(told)
    assert seen is not None
    assert (seen.retries, seen.reserved_peak_bytes) == (5, 9)


def test_a_process_that_switched_us_off_says_why():
    seen = gather(lines({"k": "off", "pid": 9, "why": "OSError: No space left on device"}))
    assert seen is not None
    assert (seen.pid, seen.off, seen.steps) == (9, "OSError: No space left on device", 0)


def test_a_torn_last_line_is_skipped():
    told = lines(HELLO, window(1, 4, 0.1), window(2, 4, 0.1))
    assert gather([*told, told[-1][:40]]) == gather(told)


@pytest.mark.parametrize(
    "foreign", ["", "null", "[]", "{}", '{"k": 3}', "\x00", '{"k":"window"}', '{"k":"facts","loaders":7}']
)
def test_foreign_lines_are_skipped(foreign: str):
    told = lines(HELLO, window(1, 4, 0.1))
    mixed = gather([told[0], foreign, told[1]])
    assert mixed is not None
    assert mixed.steps == 4


def test_nothing_usable_is_none():
    assert gather([]) is None
    assert gather(["no record"]) is None


values = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.lists(st.integers(), max_size=3)
)


@given(
    st.lists(st.dictionaries(st.sampled_from([*window(1, 1, 1), "waited_s", "sizes", "retries"]), values), max_size=4)
)
def test_whatever_stands_in_a_window_totals_are_finite(windows: list[dict[str, object]]):
    told = [json.dumps({**each, "k": "window"}) for each in windows]
    seen = gather([json.dumps(HELLO), *told])
    assert seen is not None
    assert 0 <= seen.waited_s <= max(seen.training_s, 0) < float("inf")
