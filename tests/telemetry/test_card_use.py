"""One card while a command runs: the command's part of it, in bounded room."""

import pytest

from gputuner.model.cards import CardInfo
from gputuner.model.quantities import Quantity
from gputuner.model.readings import Reason
from gputuner.model.samples import CardProcesses, ProcessOnCard, Sample
from gputuner.telemetry.card_use import FILLED_BYTES, MOST_SAMPLES, CardTally

NS = 10**9
GIB = 2**30


@pytest.fixture
def tally():
    return CardTally(CardInfo(uuid="GPU-1", index=0, name="Card", memory_total_bytes=24 * GIB))


def sample(t_s, **values):
    return Sample(card="GPU-1", t_ns=int(t_s * NS), values={Quantity(name): value for name, value in values.items()})


def process(pid, held, *, compute=True, busy=None):
    return ProcessOnCard(
        pid=pid, name="x", user=None, command=None, memory_bytes=held, compute=compute, sm_utilisation=busy
    )


def table(*processes, reason=None):
    return CardProcesses(card="GPU-1", t_ns=0, processes=processes, reason=reason)


def test_means_and_conditions_are_of_the_window_asked_for(tally):
    for second in range(60):
        busy = 20 <= second < 40
        tally.take(sample(second, power_average_w=300.0 if busy else 50.0, sm_active=0.8 if busy else 0.0))
    use = tally.use(20 * NS, 39 * NS)
    assert use.sm_active == pytest.approx(0.8)
    assert use.tensor_active is None
    assert use.conditions.power_w == pytest.approx(300.0)
    assert use.conditions.duration_s == 19


def test_a_window_without_a_reading_has_no_conditions(tally):
    tally.take(sample(1, power_average_w=50.0))
    assert tally.use(5 * NS, 6 * NS).conditions is None


def test_a_week_stays_in_bounded_room_and_covers_all_of_it(tally):
    seconds = 5 * MOST_SAMPLES
    for second in range(seconds):
        tally.take(sample(second, power_average_w=100.0 + second % 2, memory_used_bytes=float(second)))
    assert len(tally._samples) <= MOST_SAMPLES + 1
    use = tally.use(0, seconds * NS)
    assert use.conditions.power_w == pytest.approx(100.0, abs=1.0)
    assert use.memory_used_peak_bytes == seconds - 1
    assert tally._samples[0].t_ns == 0
    assert tally._samples[-1].t_ns > 0.99 * seconds * NS


def test_peaks_of_the_command_and_of_others_are_apart(tally):
    tally.take_table(table(process(7, 5 * GIB), process(9, 1 * GIB, busy=0.0)), {7}, 5 * GIB)
    tally.take_table(table(process(7, 2 * GIB), process(9, 3 * GIB, busy=0.4)), {7}, 2 * GIB)
    use = tally.use(0, NS)
    assert tally.used
    assert (use.tree_memory_peak_bytes, use.others_memory_bytes) == (5 * GIB, 3 * GIB)
    assert use.others_computed is True
    assert (tally.held.own_bytes, tally.held.others_bytes) == (2 * GIB, 3 * GIB)


def test_others_that_hold_memory_idly_or_draw_the_desktop_do_not_compute(tally):
    tally.take_table(table(process(9, GIB, busy=0.0), process(8, GIB, compute=False)), {7}, 0)
    use = tally.use(0, NS)
    assert not tally.used
    assert use.others_computed is False
    assert use.tree_memory_peak_bytes is None


def test_what_the_driver_does_not_tell_is_not_made_up(tally):
    tally.take_table(table(process(7, None)), {7}, None)
    tally.take_table(table(reason=Reason.NO_PERMISSION), {7}, None)
    use = tally.use(0, NS)
    assert tally.used
    assert use.tree_memory_peak_bytes is None
    assert tally.held.own_bytes is None


def test_processes_that_this_system_does_not_have_may_be_its_own_in_a_container(tally):
    unseen = ProcessOnCard(pid=4_000_000, name=None, user=None, command=None, memory_bytes=GIB)
    tally.take_table(table(unseen), {7}, 0)
    use = tally.use(0, NS)
    assert (use.others_memory_bytes, use.others_computed) == (None, None)
    assert (tally.held.own_bytes, tally.held.others_bytes) == (None, None)
    tally.take_table(table(unseen, process(9, GIB, busy=0.5)), {7}, 0)
    assert tally.use(0, NS).others_computed is True


def test_memory_that_grows_is_taken_as_the_commands_where_nobody_is_named(tally):
    tally.take(sample(0, memory_used_bytes=float(GIB)))
    tally.take(sample(1, memory_used_bytes=float(GIB + FILLED_BYTES - 1)))
    assert not tally.filled
    tally.take(sample(2, memory_used_bytes=float(GIB + FILLED_BYTES)))
    assert tally.filled
