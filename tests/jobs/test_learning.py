"""What a command is known to need: from its own earlier jobs, from ``watch``, from a named session."""

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from gputuner.jobs.learning import CONTEXT_BYTES, from_session, learned
from gputuner.model.errors import UsageError
from gputuner.model.events import CommandEnded, Outcome
from gputuner.model.jobs import Needs, NeedSource, Request
from gputuner.model.points import Point
from gputuner.model.watched import CardUse, TreeUse

GIB = 2**30
COMMAND = ("python", "/home/me/train.py", "--token", "hush")


class Stored:
    """Stored sessions, as the library gives them."""

    def __init__(self, *, command=(), peak=None, exit_code=0, points=(), evidence=()):
        uses = (CardUse(uuid="GPU-0", tree_memory_peak_bytes=peak),)
        use = TreeUse(duration_s=600.0, cards=uses)
        self._ended = CommandEnded(
            run_id="r", seq=1, t_ns=1, exit_code=exit_code, signal=None, duration_s=600.0, hooks=True, use=use
        )
        self._watch = bool(command)
        self.started = SimpleNamespace(spec={"command": list(command)})
        self._points = points
        self._advice = [SimpleNamespace(evidence=tuple(evidence))]

    def entries(self):
        summary = SimpleNamespace(
            experiment="watch" if self._watch else "batch", outcome=Outcome.COMPLETED, path=Path("s.sqlite")
        )
        return [SimpleNamespace(summary=summary)]

    def find(self, _which):
        return Path("s.sqlite")

    @contextmanager
    def open(self, _path):
        yield self

    def command_ended(self):
        return self._ended if self._watch else None

    def points(self):
        return self._points

    def advice(self):
        return self._advice, []


def request(**needs):
    return Request(command=COMMAND, folder="/home/me", needs=Needs(**needs))


def point(name, reserved):
    return Point(
        id=name, card="GPU-0", metric="memory_peak", workload="x", params={}, value=1.0, unit="bytes",
        extra={"reserved_peak_bytes": reserved},
    )  # fmt: skip


def done(queue, peak, took_s, state="done"):
    number = queue.store.add(request())[0]
    queue.store.connection.execute(
        "UPDATE jobs SET state = ?, peak_bytes = ?, started = 100.0, ended = ? WHERE id = ?",
        (state, peak, 100.0 + took_s, number),
    )


def test_earlier_jobs_of_the_same_command_tell_need_and_time(queue):
    done(queue, 8 * GIB, 120.0)
    done(queue, 10 * GIB, 60.0)
    done(queue, 99 * GIB, 60.0, state="failed")
    needs = learned(request(), queue.store, Stored()).needs
    assert (needs.memory_bytes, needs.minutes, needs.source) == (int(10 * GIB * 1.05), 2.0, NeedSource.HISTORY)
    elsewhere = replace(request(), folder="/other")
    assert learned(elsewhere, queue.store, Stored()).needs.source is NeedSource.UNKNOWN


def test_what_was_given_is_not_learned_anew(queue):
    done(queue, 8 * GIB, 120.0)
    given = request(memory_bytes=GIB, source=NeedSource.GIVEN)
    assert learned(given, queue.store, Stored()) == given
    assert learned(request(minutes=7.0), queue.store, Stored()).needs.minutes == 7.0


def test_watch_of_the_same_command_tells_by_what_it_may_tell(queue):
    told = ("python", "train.py", "--token", "***")
    needs = learned(request(), queue.store, Stored(command=told, peak=4 * GIB)).needs
    assert (needs.memory_bytes, needs.minutes, needs.source) == (int(4 * GIB * 1.05), 10.0, NeedSource.WATCHED)
    for other in (
        Stored(command=("python", "other.py"), peak=4 * GIB),
        Stored(command=told, peak=4 * GIB, exit_code=1),
    ):
        assert learned(request(), queue.store, other).needs.memory_bytes is None


def test_a_named_session_tells_by_the_setting_that_it_advised():
    found = Stored(points=[point("small", 2 * GIB), point("limit", 20 * GIB)], evidence=["small"])
    assert from_session(Needs(), found, "s").memory_bytes == int((2 * GIB + CONTEXT_BYTES) * 1.05)
    unadvised = Stored(points=[point("small", 2 * GIB), point("limit", 20 * GIB)])
    assert from_session(Needs(), unadvised, "s").memory_bytes == int((20 * GIB + CONTEXT_BYTES) * 1.05)
    with pytest.raises(UsageError):
        from_session(Needs(), Stored(), "s")
