"""The queue of the window: made up for pictures of simulated cards, and a job needs a folder that is there."""

from pathlib import Path

import pytest

from gputuner.assembly.pretended_queue import pretended
from gputuner.assembly.setup import open_setup
from gputuner.assembly.window_queue import WindowQueue
from gputuner.cli.app import main
from gputuner.language import jobs as words
from gputuner.model.errors import DoesNotFit, StoreError, UsageError
from gputuner.model.jobs import PLACED, JobState, Request
from gputuner.sessions.library import SessionLibrary

NOW = 1_800_000_000.0


@pytest.mark.parametrize("cards", [("rtx-4090-48g",), ("rtx-4090-48g", "rtx-3090"), ("gtx-1080-ti",)])
def test_a_made_up_queue_has_jobs_in_every_state_and_reasons_that_are_the_placement_s(
    cards: tuple[str, ...], tmp_path: Path
) -> None:
    queue = WindowQueue(open_setup(simulate=cards, data_dir=tmp_path))
    assert queue.read().jobs == ()
    queue.pretend()
    view = queue.read()
    assert view.pretended
    assert {job.state for job in view.jobs} == set(JobState)
    assert sum(view.counts.values()) == len(view.jobs) == len({job.id for job in view.jobs})
    for card in view.cards:
        held = [job for job in view.jobs if card.uuid in job.cards and job.state in PLACED]
        assert [job.id for job in held] == list(card.jobs)
        assert 0 <= (card.free_bytes or 0) <= (card.total_bytes or 0)
        assert card.reserved_bytes <= (card.total_bytes or 0)
    waiting = [job for job in view.jobs if job.state is JobState.WAITING]
    assert waiting
    assert all(words.reason(job) for job in waiting)
    assert len({job.reason.code for job in waiting if job.reason}) >= 2, "not all for the same reason"
    assert not list(tmp_path.glob("*queue*")), "nothing of it is stored"
    with pytest.raises(UsageError):
        queue.cancel(1)


def test_a_processor_has_no_made_up_queue() -> None:
    assert pretended((), NOW).jobs == ()


def test_real_cards_never_show_made_up_jobs(tmp_path: Path) -> None:
    queue = WindowQueue(open_setup(data_dir=tmp_path))
    queue.pretend()
    assert not queue.read().pretended


def test_a_job_like_a_session_needs_what_that_measured(tmp_path: Path) -> None:
    queue = WindowQueue(open_setup(data_dir=tmp_path))
    assert queue.sessions() == ()
    request = Request(command=("true",), folder=str(tmp_path))
    with pytest.raises(StoreError, match="no-such"):
        queue.add(request, "no-such")
    assert queue.read().jobs == ()
    command = ["batch", "resnet50", "--simulate", "rtx-4090-48g", "--minutes", "1", "--quiet"]
    assert main([*command, "--data-dir", str(tmp_path)]) == 0
    (entry,) = queue.sessions()
    assert entry.summary is not None
    with SessionLibrary(tmp_path).open(entry.path) as stored:
        peaks = [point.extra.get("reserved_peak_bytes") for point in stored.points()]
    peak = max(value for value in peaks if isinstance(value, float | int))
    try:
        needed = queue.add(request, entry.summary.run_id)[0].needs.memory_bytes
    except DoesNotFit as error:  # a machine with less memory than the card that was simulated
        needed = error.params["need_bytes"]
    assert isinstance(needed, float | int)
    assert 0.5 * peak < needed <= 1.1 * peak + 2**30


def test_a_job_of_a_folder_that_is_not_there_is_not_added(tmp_path: Path) -> None:
    queue = WindowQueue(open_setup(data_dir=tmp_path))
    with pytest.raises(UsageError, match="nowhere"):
        queue.add(Request(command=("true",), folder=str(tmp_path / "nowhere")))
