"""Threads that make calls: one is enough until one is stuck."""

import threading
import time
from collections.abc import Callable

from gputuner.telemetry.crew import Answer, Crew, Job

S = 1_000_000_000


def until(crew: Crew, enough: Callable[[list[Answer]], bool]) -> list[Answer]:
    answers: list[Answer] = []
    deadline = time.monotonic_ns() + 30 * S
    while not enough(answers):
        got = crew.wait(deadline)
        assert got is not None
        assert time.monotonic_ns() < deadline
        answers += got
    return answers


def test_a_stuck_call_does_not_hold_the_rest_of_its_round() -> None:
    gate = threading.Event()
    taken: list[object] = []
    calls: list[Callable[[int], object]] = [lambda _t: 0, lambda _t: gate.wait(30), lambda _t: 2, lambda _t: 3]
    jobs = [Job("fast", str(i), call, taken.append) for i, call in enumerate(calls)]
    crew = Crew(time.monotonic_ns)
    crew.ask(jobs, 1)
    answers = until(crew, lambda got: len(got) == 3)
    assert {answer.job.card for answer in answers} == {"0", "2", "3"}
    assert [job.idle for job in jobs] == [True, False, True, True]
    for answer in answers:
        assert answer.deliver is not None
        answer.deliver()
    assert sorted(map(str, taken)) == ["0", "2", "3"]
    gate.set()
    assert [answer.job.card for answer in until(crew, bool)] == ["1"]
    crew.stop()


def test_errors_come_back_with_their_job() -> None:
    def fails(_t_ns: int) -> object:
        raise ValueError("no")

    crew = Crew(time.monotonic_ns)
    crew.ask([Job("scan", "", fails, print)], 1)
    (answer,) = until(crew, bool)
    assert isinstance(answer.error, ValueError)
    assert answer.deliver is None
    crew.stop()
    assert crew.wait(time.monotonic_ns() + 30 * S) is None or crew.wait(time.monotonic_ns() + 30 * S) is None


def test_one_thread_serves_all_rounds_once_nothing_is_stuck() -> None:
    crew = Crew(time.monotonic_ns)
    jobs = [Job("fast", str(i), lambda _t: None, lambda _v: None) for i in range(8)]
    threads: set[int] = set()
    jobs.append(Job("who", "", lambda _t: threads.add(threading.get_ident()), lambda _v: None))
    for _ in range(50):
        crew.ask(jobs, 1)
        until(crew, lambda got: len(got) == len(jobs) or all(job.idle for job in jobs))
    assert crew.threads <= 4  # nine jobs; a busy machine may call for help now and then
    crew.stop()
