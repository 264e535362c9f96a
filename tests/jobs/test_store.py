"""The line: order, places, who may be moved; privacy of what is kept; older and foreign files."""

import json
import sqlite3
import stat

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gputuner.jobs.claims import database
from gputuner.jobs.schema import VERSION
from gputuner.jobs.store import JobStore
from gputuner.model.errors import StoreError, UsageError
from gputuner.model.jobs import JobState, Needs, Request


def order(store):
    return [job.id for job in store.jobs("WHERE state = 'waiting' ORDER BY priority DESC, position, id")]


def test_jobs_wait_in_the_order_of_priority_then_of_arrival(queue):
    ids = [queue.add("true", priority=priority) for priority in (0, 5, 0, -1, 5)]
    assert order(queue.store) == [ids[1], ids[4], ids[0], ids[2], ids[3]]


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(moves=st.lists(st.tuples(st.integers(0, 5), st.integers(-1, 5), st.booleans()), max_size=12))
def test_moving_is_as_in_a_list(tmp_path_factory, moves):
    with JobStore(tmp_path_factory.mktemp("queue")) as store:
        store.connection.execute("PRAGMA synchronous = OFF")
        request = Request(command=("true",), folder="/", needs=Needs())
        ids = [store.add(request)[0] for _each in range(6)]
        model = list(ids)
        for which, other, behind in moves:
            job = ids[which]
            if other == -1:
                store.move(job)
                model = [job, *(each for each in model if each != job)]
            else:
                target = ids[other]
                store.move(job, None if behind else target, after=target if behind else None)
                if target != job:
                    model.remove(job)
                    model.insert(model.index(target) + behind, job)
            assert order(store) == model


def test_a_place_is_found_however_often_one_is_put_between_two(queue):
    first, second, third = (queue.add("true") for _each in range(3))
    queue.store.connection.execute("PRAGMA synchronous = OFF")
    for _each in range(40):
        queue.store.move(third, before=second)
        queue.store.move(second, before=third)
    assert order(queue.store) == [first, second, third]


def test_beside_a_job_of_other_priority_it_takes_that_priority(queue):
    low, high = queue.add("true"), queue.add("true", priority=7)
    queue.store.move(low, before=high)
    assert order(queue.store) == [low, high]
    assert queue.store.job(low).priority == 7


@pytest.mark.parametrize("state", ["running", "done"])
def test_only_what_waits_can_be_moved(queue, state):
    job = queue.add("true")
    queue.store.connection.execute("UPDATE jobs SET state = ?", (state,))
    with pytest.raises(UsageError, match="does not wait"):
        queue.store.move(job)


def test_environment_and_secrets_are_kept_but_never_told(queue):
    job = queue.add("train", "--api-key", "hush-word", environment={"TOKEN": "hush-value"})
    assert queue.store.raw_command(job) == ("train", "--api-key", "hush-word")
    assert "hush" not in repr(queue.store.job(job))
    for path in database(queue.data_dir).parent.glob("*.sqlite*"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0
    assert stat.S_IMODE(database(queue.data_dir).parent.stat().st_mode) == 0o700


def test_an_environment_is_kept_once_for_all_jobs_that_share_it(queue):
    for _each in range(5):
        queue.add("true", environment={"A": "1"})
    queue.add("true", environment={"A": "2"})
    assert queue.store.value("SELECT count(*) FROM environments") == 2


def test_an_array_is_a_job_for_each_index(queue):
    request = Request(command=("run", "--seed={index}"), folder="/", array=(3, 5))
    first, second = queue.store.add(request)
    jobs = [queue.store.job(first), queue.store.job(second)]
    assert [(job.command, job.array_index, job.array_id) for job in jobs] == [
        (("run", "--seed=3"), 3, first),
        (("run", "--seed=5"), 5, first),
    ]


def test_following_a_job_that_is_not_there_is_refused_and_adds_nothing(queue):
    with pytest.raises(UsageError, match="no job 99"):
        queue.add("true", after=(99,))
    assert queue.store.counts() == {}


def test_what_has_ended_can_be_tried_again_and_nothing_else(queue):
    job = queue.add("true")
    with pytest.raises(UsageError, match="has not ended"):
        queue.store.retry(job)
    queue.store.ask_cancel(job)
    with pytest.raises(UsageError, match="has ended"):
        queue.store.ask_cancel(job)
    queue.store.retry(job)
    assert queue.store.job(job).state is JobState.WAITING
    assert queue.store.job(job).ended_unix_s is None


def test_a_newer_database_is_left_alone(queue):
    queue.store.connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    with pytest.raises(StoreError) as caught:
        JobStore(queue.data_dir)
    assert caught.value.code == "queue_newer"


@pytest.mark.parametrize("content", [b"this is no database" * 100, None])
def test_a_foreign_file_is_no_queue(tmp_path, content):
    path = database(tmp_path)
    path.parent.mkdir()
    if content is None:
        with sqlite3.connect(path) as foreign:
            foreign.execute("PRAGMA application_id = 7")
            foreign.execute("CREATE TABLE t(x)")
        foreign.close()
    else:
        path.write_bytes(content)
    before = path.read_bytes()
    with pytest.raises(StoreError) as caught:
        JobStore(tmp_path)
    assert caught.value.code == "queue_malformed"
    assert path.read_bytes() == before


def test_many_processes_may_make_the_queue_at_once(tmp_path):
    stores = [JobStore(tmp_path) for _each in range(3)]
    for store in stores:
        store.add(Request(command=("true",), folder="/"))
    assert stores[0].counts() == {JobState.WAITING: 3}
    for store in stores:
        store.close()


def test_words_that_are_no_text_survive(queue):
    environment = {"ODD": b"\xff\xfe".decode("utf-8", "surrogateescape")}
    job = queue.add("sh", environment=environment)
    row = queue.store.connection.execute("SELECT json FROM environments").fetchone()
    assert json.loads(row[0]) == environment
    assert queue.store.job(job).command == ("sh",)
