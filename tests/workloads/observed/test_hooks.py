"""What becomes of errors within the hooks: ours end ours, the user's go on to the user."""

import json
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from gputuner.workloads.observed import hooks  # noqa: E402
from gputuner.workloads.observed.batches import Measure, entries  # noqa: E402
from gputuner.workloads.observed.card import Card  # noqa: E402
from gputuner.workloads.observed.folding import BATCH, BEGIN, DRAWN, EVALUATION, SCALED, STEP, Folding  # noqa: E402
from gputuner.workloads.observed.record import MOST_BYTES, Record  # noqa: E402
from gputuner.workloads.observed.tally import Period, Tally  # noqa: E402
from gputuner.workloads.observed.watch import Watch  # noqa: E402


class Alarmed(list):
    """Notes in whose midst a signal handler of the user's raises."""

    def append(self, note: object) -> None:
        raise TimeoutError("the user's alarm")


def stepping(watch: Watch):
    return hooks._after_step(watch, lambda: False)


def test_an_alarm_of_the_users_that_rings_within_a_hook_reaches_the_user(tmp_path: Path):
    watch = Watch(torch, str(tmp_path))
    watch.notes = Alarmed()
    with pytest.raises(TimeoutError, match="the user's alarm"):
        stepping(watch)(object(), (), {})
    assert watch.on


def test_an_error_of_ours_switches_us_off_and_is_told_once(tmp_path: Path):
    watch = Watch(torch, str(tmp_path))
    watch.notes = None
    for _ in range(3):
        stepping(watch)(object(), (), {})
    assert not watch.on
    (file,) = tmp_path.glob("*.jsonl")
    (line,) = file.read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["k"] == "off"
    assert "AttributeError" in json.loads(line)["why"]


def test_an_optimizer_that_steps_late_is_told_however_soon_the_training_ends(tmp_path: Path):
    optimizer = torch.optim.AdamW([torch.nn.Parameter(torch.ones(1))])
    watch = Watch(torch, str(tmp_path))
    now_s = time.perf_counter()
    watch.notes.append((DRAWN, now_s, threading.get_ident(), 0.1, 0.0, None, BATCH, None))
    watch.flush(now_s)  # a start so slow that a line was due before any optimizer stepped
    for _ in range(2):
        stepping(watch)(optimizer, (), {})
    watch.end()
    (file,) = tmp_path.glob("*.jsonl")
    told = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [line["optimizer"] for line in told if line.get("optimizer")][-1:] == ["AdamW"]


class Device:
    """A CUDA device as torch shows it, whose work is done when the test says so."""

    def __init__(self, number: int = 0) -> None:
        self.number, self.done, self.capturing, self.made = number, True, False, 0

    def is_initialized(self) -> bool:
        return True

    def is_current_stream_capturing(self) -> bool:
        return self.capturing

    def current_device(self) -> int:
        return self.number

    def Event(self):
        self.made += 1
        return Event(self)


class Event:
    def __init__(self, device: Device) -> None:
        self.device, self.of = device, None

    def record(self) -> None:
        assert not self.device.capturing
        assert self.of in (None, self.device.number)
        self.of = self.device.number

    def query(self) -> bool:
        assert not self.device.capturing
        return self.device.done


def card_of(device: Device) -> Card:
    return Card(SimpleNamespace(cuda=device, version=SimpleNamespace(cuda="12.8")))


def test_a_card_that_still_works_when_the_host_has_launched_all_is_behind():
    device = Device()
    card = card_of(device)
    for done in (True, False):
        device.done = done
        card.before_step()
        assert card.behind_after_step() is not done
        assert card.busy() is not done
    assert device.made == 2


def test_a_capture_is_never_disturbed():
    device = Device()
    card = card_of(device)
    card.before_step()
    device.capturing = True
    assert (card.behind_after_step(), card.busy()) == (None, None)
    card.before_step()
    device.capturing = False
    assert card.behind_after_step() is None
    card.before_step()
    asked: list[bool | None] = []
    other = threading.Thread(target=lambda: asked.append(card.busy()))
    other.start()
    other.join()
    assert asked == [None]
    assert card.busy() is False


def test_each_device_has_its_own_marks():
    device = Device()
    card = card_of(device)
    for number in (0, 1, 0):
        device.number = number
        card.before_step()
        assert card.behind_after_step() is False
    card.before_step()
    device.number = 1  # changed within the step
    assert card.behind_after_step() is None


def test_an_allocator_without_statistics_leaves_only_its_figures_out():
    device = Device()
    device.memory_stats = torch.ones(2).view  # fails within torch: two numbers are not none
    with pytest.raises(RuntimeError):
        device.memory_stats(0)
    assert card_of(device).memory() == {}


class Boobytrap:
    """A batch whose every attribute of its class raises."""

    def __init__(self) -> None:
        self.inputs = torch.ones(5, 2)

    @property
    def shape(self) -> None:
        raise AssertionError("user code ran")

    def __iter__(self):
        raise AssertionError("user code ran")

    def __len__(self) -> int:
        raise AssertionError("user code ran")


class Trapped(dict):
    def values(self):
        raise AssertionError("user code ran")

    def __getitem__(self, key: object):
        raise AssertionError("user code ran")


@pytest.mark.parametrize(
    ("batch", "size"),
    [
        (torch.ones(7, 3), 7),
        ([torch.ones(4, 3), torch.ones(4)], 4),
        ({"name": "x", "inputs": torch.ones(6, 1)}, 6),
        (({"inputs": torch.ones(3)}, 1), 3),
        (Trapped(inputs=torch.ones(9)), 9),
        (Boobytrap(), 5),
        (torch.tensor(1.0), None),
        ("text", None),
        (object(), None),
        ([[[[[torch.ones(3)]]]]], None),
    ],
)
def test_the_size_of_a_batch_is_read_without_running_the_users_code(batch: object, size: int | None):
    assert Measure(torch).first_size(batch) == size


def test_a_large_container_is_not_walked_through():
    assert len(entries(list(range(100_000)))) == 32


def drawn(now: float, waited: float = 0.0, kind: int = BATCH, thread: int = 1) -> tuple:
    return DRAWN, now, thread, waited, 0.0, None, kind, 8


def folded(*notes: tuple) -> Tally:
    tally = Tally(0.0)
    Folding().fold(list(notes), tally)
    return tally


def stepped(now: float, optimizer: int = 5, thread: int = 1) -> list[tuple]:
    return [(BEGIN, now - 0.01, thread, optimizer), (STEP, now, thread, optimizer, 0, None)]


def test_an_optimizer_within_another_is_no_step():
    notes: list[tuple] = []
    for now in (1.0, 2.0, 3.0):
        notes += [(BEGIN, now, 1, 5), (BEGIN, now, 1, 6), (STEP, now, 1, 6, 0, None), (STEP, now, 1, 5, 0, None)]
    tally = folded(*notes)
    assert (tally.seen, tally.steps, tally.training_s) == (3, 2, 2.0)


def test_a_second_optimizer_beside_is_no_step_either():
    notes = [note for now in (1.0, 2.0, 3.0) for note in (*stepped(now), *stepped(now + 0.1, optimizer=6))]
    tally = folded(*notes)
    assert (tally.seen, tally.others, tally.training_s) == (3, 3, 2.0)


def test_an_optimizer_that_is_gone_gives_way_to_the_next():
    notes = [*stepped(1.0), *(note for now in range(2, 60) for note in stepped(float(now), optimizer=6))]
    assert folded(*notes).seen > 30


def test_a_step_that_raised_does_not_hide_the_later_ones():
    notes = [(BEGIN, 0.5, 1, 9), drawn(0.9), *stepped(1.0), drawn(1.5), *stepped(2.0)]
    assert folded(*notes).seen == 2


def test_waiting_of_another_thread_is_no_waiting_of_the_training():
    tally = folded(*stepped(1.0), drawn(1.5, waited=0.4, thread=2), drawn(1.6, waited=0.1), *stepped(2.0))
    assert tally.waited_s == pytest.approx(0.1)
    assert (tally.batches, tally.samples) == (2, 16)


def test_an_evaluation_between_two_steps_is_no_step_time():
    tally = folded(*stepped(1.0), drawn(1.2), *stepped(2.0), drawn(3.0, kind=EVALUATION), *stepped(9.0), *stepped(10.0))
    assert (tally.steps, tally.training_s, tally.other_s) == (2, 2.0, 7.0)


def test_an_evaluation_that_draws_with_gradients_on_is_found_by_its_many_batches():
    notes: list[tuple] = []
    for now in range(1, 6):
        notes += [drawn(now - 0.5), *stepped(float(now))]
    notes += [drawn(6.0 + index / 10) for index in range(9)]
    tally = folded(*notes, *stepped(9.0), drawn(9.5), *stepped(10.0))
    assert (tally.steps, tally.other_s) == (5, 4.0)


def test_batches_stand_in_for_steps_that_are_never_seen():
    tally = folded(*(drawn(float(now), waited=0.25) for now in range(100)))
    assert (tally.by_batches, tally.steps, tally.training_s) == (True, 50, 50.0)
    assert (tally.waited_s, tally.batches) == (0.25 * 50, 100)
    assert folded(*stepped(0.5), *(drawn(float(now)) for now in range(1, 100))).by_batches is False


def test_a_scaler_that_skips_has_no_step_within():
    notes = [*stepped(1.0), (SCALED, 1.1, 1, 0.5), (SCALED, 2.0, 1, 1.5)]
    tally = folded(*notes)
    assert (tally.scaled, tally.skipped) == (2, 1)
    assert tally.scaler_s == pytest.approx(0.49)


def test_a_long_line_keeps_few_step_times_and_all_sums():
    tally = folded(*(note for now in range(1, 100_001) for note in stepped(now / 10)))
    assert (tally.steps, len(tally.step_s) < 256) == (99_999, True)
    assert tally.training_s == pytest.approx(9999.9)
    assert len(tally.line(1.0)["step_us"]) <= 32


def test_a_record_has_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("gputuner.workloads.observed.record.MOST_BYTES", 50)
    record = Record(str(tmp_path))
    record.write({"k": "window", "pad": "x" * 10})
    with pytest.raises(OSError, match="bound"):
        record.write({"k": "window", "pad": "x" * 10})


def test_lines_grow_rare_in_a_long_training():
    period, seconds, lines = Period(), 0.0, 0
    while seconds < 30 * 86400:
        seconds += period.seconds
        period.passed()
        lines += 1
        assert period.seconds <= max(0.5, seconds / 200)
    assert lines * 1300 < MOST_BYTES
