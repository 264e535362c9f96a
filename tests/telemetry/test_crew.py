"""Threads that make calls: one is enough until one is stuck."""

import threading
import time
from collections.abc import Callable

import pytest

from gputuner.telemetry.calls import Job, Joint
from gputuner.telemetry.crew import Crew

S = 1_000_000_000


class Stuck:
    """A sweep over parts whose second one does not come back before ``gate`` is open."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.since: int | None = None
        self.was_cut = False

    def read(self, _t_ns: int) -> None:
        self.since = time.monotonic_ns()
        self.gate.wait(30)

    def since_ns(self) -> int | None:
        return self.since

    def cut(self) -> int:
        self.was_cut = True
        return 1


def lead(crew: Crew, jobs: list[Job[object]], enough: Callable[[list[Job[object]]], bool]) -> list[Job[object]]:
    """The jobs that are back once there are enough of them, from a loop that the crew runs."""
    back: list[Job[object]] = []
    asked: list[bool] = []
    deadline = time.monotonic_ns() + 30 * S

    def loop() -> None:
        if not asked:
            asked.append(True)
            crew.ask(jobs, 1)
        while not enough(back):
            got = crew.wait(deadline)
            assert got is not None
            assert time.monotonic_ns() < deadline
            back.extend(got)

    crew.run(loop)
    return back


def test_a_stuck_call_does_not_hold_the_rest_of_its_round() -> None:
    gate = threading.Event()
    taken: list[object] = []
    calls: list[Callable[[int], object]] = [lambda _t: 0, lambda _t: gate.wait(600), lambda _t: 2, lambda _t: 3]
    jobs = [Job("fast", str(i), call, taken.append) for i, call in enumerate(calls)]
    left: list[bool] = []

    def enough(got: list[Job[object]]) -> bool:
        if len(got) == 3:
            left[:] = [job.idle for job in jobs]
            gate.set()
        return len(got) == 4

    back = lead(Crew(time.monotonic_ns), jobs, enough)
    assert [job.card for job in back] == ["0", "2", "3", "1"]
    assert left == [True, False, True, True]
    for job in back:
        assert job.error is None
        job.take(job.value)
    assert taken == [0, 2, 3, True]


def test_while_nothing_is_stuck_the_first_thread_leads() -> None:
    threads: set[int] = set()
    jobs: list[Job[object]] = [
        Job("who", str(i), lambda _t: threads.add(threading.get_ident()), lambda _v: None) for i in range(8)
    ]
    crew = Crew(time.monotonic_ns)
    lead(crew, jobs, lambda got: len(got) == 8)
    assert len(threads) < 8  # a busy machine may change the lead now and then


def test_errors_come_back_with_their_job() -> None:
    def fails(_t_ns: int) -> object:
        raise ValueError("no")

    taken: list[object] = []
    (job,) = lead(Crew(time.monotonic_ns), [Job("scan", "", fails, taken.append)], bool)
    assert isinstance(job.error, ValueError)
    assert job.idle
    assert not taken


def test_what_the_loop_raises_is_raised_where_it_was_started() -> None:
    gate = threading.Event()
    crew = Crew(time.monotonic_ns)
    asked: list[bool] = []

    def loop() -> None:
        if asked:
            gate.set()
            raise KeyError("in another thread")
        asked.append(True)
        crew.ask([Job("fast", "", lambda _t: gate.wait(600), print)], 1)
        crew.wait(time.monotonic_ns() + 30 * S)

    with pytest.raises(KeyError):
        crew.run(loop)


def test_stopping_ends_a_rest() -> None:
    crew = Crew(time.monotonic_ns)
    crew.stop()
    ended: list[object] = []
    crew.run(lambda: ended.append(crew.wait(time.monotonic_ns() + 30 * S)))
    assert ended == [None]


def test_a_joint_job_that_is_stuck_is_back_without_a_value_and_its_stuck_part_is_made_anew() -> None:
    sweep = Stuck()
    threads: dict[str, int] = {}

    def call(name: str) -> Callable[[int], object]:
        def note(_t_ns: int) -> object:
            threads[name] = threading.get_ident()
            return name

        return note

    parts: list[Job[object]] = [Job("fast", name, call(name), lambda _v: None) for name in "abc"]
    joint = Joint("fast", parts, sweep, lambda _v: None)
    crew = Crew(time.monotonic_ns)
    seen: list[tuple[str, object, bool]] = []
    begun: list[int] = []

    def loop() -> None:
        if not begun:
            begun.append(threading.get_ident())
            crew.make(joint, 7)
        while len(seen) < 2:
            for job in crew.wait(time.monotonic_ns() + 30 * S) or ():
                seen.append((job.card, job.value, parts[1].idle))
                sweep.gate.set()

    crew.run(loop)
    assert sweep.was_cut
    assert seen == [("", None, False), ("b", "b", True)]
    assert threads == {"b": begun[0]}, "by the thread that was stuck, and only that part"
    assert crew.out == 0


def test_a_joint_job_in_time_tells_its_value_at_once() -> None:
    class Quick(Stuck):
        def read(self, _t_ns: int) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
            return "all"

    crew = Crew(time.monotonic_ns)
    joint = Joint("fast", [], Quick(), lambda _v: None)  # pyright: ignore[reportArgumentType]
    told: list[object] = []
    crew.run(lambda: told.append(crew.make(joint, 7)))
    assert told == ["all"]
    assert (joint.idle, crew.out) == (True, 0)
