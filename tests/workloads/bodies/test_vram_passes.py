"""The VRAM test's passes over a memory that fails as planned: every planted place is found, sound memory is silent."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputuner.workloads.bodies.survey import Pace
from gputuner.workloads.bodies.vram_findings import Seen
from gputuner.workloads.bodies.vram_passes import Passes
from gputuner.workloads.bodies.vram_patterns import (
    ROW_BYTES,
    ROW_WORDS,
    TRAFFIC,
    WORD,
    WORD_BYTES,
    Pattern,
    mix,
    passes,
    signed,
    unmix,
)
from tests.workloads.bodies.faulty_memory import FaultyMemory

BLOCKS = (4, 4, 2)
ROWS = sum(BLOCKS)
WORDS = ROWS * ROW_WORDS
words = st.integers(0, WORDS - 1)
LITTLE = settings(max_examples=5, deadline=None)


def cycle(memory, heat="cold", pace=None):
    """One cycle's parts by order."""

    def hold(seconds, stopped):
        assert seconds == 3.0
        memory.hot = heat == "hot"

    made = Passes(memory, heat=heat, hold_s=3.0, hold=hold, seed=5)
    pace = pace or Pace(measure_s=0.0, left_s=lambda: 0.0, stopped=lambda: False)
    return list(made.parts(pace))


def spans(part):
    return [tuple(int(n, 16) for n in span.split("+")) for span in str(part.notes.get("spans", "")).split()]


def holds(part, word):
    return any(start <= word * WORD_BYTES < start + length for start, length in spans(part))


def aliases(part):
    found = []
    for run in str(part.notes.get("aliases", "")).split():
        offset, _, rest = run.partition("<")
        source, _, length = rest.partition("+")
        found.append((int(offset, 16), int(source, 16), int(length, 16)))
    return found


def test_sound_memory_is_silent_and_moves_what_is_told():
    memory = FaultyMemory(BLOCKS)
    parts = cycle(memory)
    assert [p.params["pass"] for p in parts] == [
        "address", "inversions", "checkerboard", "inversions", "random", "retention",
    ]  # fmt: skip
    assert all(p.notes["errors"] == 0 and p.notes["checked_bytes"] == ROWS * ROW_BYTES for p in parts)
    assert sum(p.work["bytes"] for p in parts) == memory.moved
    assert memory.moved == ROWS * ROW_BYTES * sum(TRAFFIC[str(p.params["pass"])] for p in parts)


def test_words_are_kept_from_when_the_last_was_written():
    memory, told = FaultyMemory(BLOCKS), []
    memory.settle = lambda: told.append("settled")

    def hold(seconds, stopped):
        told.append("held")

    made = Passes(memory, heat="cold", hold_s=3.0, hold=hold, seed=5)
    list(made.parts(Pace(measure_s=0.0, left_s=lambda: 0.0, stopped=lambda: False)))
    assert told == ["settled", "held"], "what a queue still writes must not count as kept, nor its time as none"


@given(st.integers(0, WORD))
def test_the_mixer_has_an_inverse(word):
    assert unmix(mix(word)) == word
    assert signed(word) & WORD == word


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, ROWS - 1), st.integers(0, ROW_WORDS - 1), st.booleans())
def test_a_word_tells_where_it_was_written(seed, row, column, inverted):
    pattern = Pattern(seed=seed, inverted=inverted)
    plain = Pattern(seed=seed)
    word = (pattern.template()[column] + pattern.key(row)) & WORD
    assert pattern.row_at(word, pattern.template()[column]) == row
    assert word ^ (WORD if inverted else 0) == (plain.template()[column] + plain.key(row)) & WORD
    with np.errstate(over="ignore"):
        keys = pattern.keys_in_place(np.arange(ROWS, dtype=np.int64))
    assert [int(key) & WORD for key in keys] == [pattern.key(each) for each in range(ROWS)]


def test_no_two_places_hold_the_same_word():
    for _, patterns in passes(3, 9):
        for pattern in patterns:
            if pattern.constant is None:
                found = {(t + pattern.key(row)) & WORD for row in range(ROWS) for t in pattern.template()}
                assert len(found) == WORDS


@LITTLE
@given(st.dictionaries(words, st.integers(0, 63), min_size=1, max_size=12), st.randoms())
def test_every_stuck_bit_is_found(bits, chance: random.Random):
    stuck = {word: (1 << bit, 0) if chance.random() < 0.5 else (0, 1 << bit) for word, bit in bits.items()}
    parts = cycle(FaultyMemory(BLOCKS, stuck=stuck))
    for word in stuck:
        assert any(holds(part, word) for part in parts)
    up = down = 0
    for part in parts:
        up |= int(str(part.notes.get("bits_up", "0")), 16)
        down |= int(str(part.notes.get("bits_down", "0")), 16)
    assert up == sum({ones for ones, _ in stuck.values()})
    assert down == sum({zeros for _, zeros in stuck.values()})
    assert not any(aliases(part) for part in parts)


@LITTLE
@given(st.integers(1, ROWS - 1), st.integers(0, ROWS - 1), st.integers(0, ROW_WORDS - 1), st.integers(1, 200))
def test_every_shared_cell_is_found_with_its_distance(apart, row, column, count):
    """Cells of a stretch are those of another stretch ``apart`` rows further on, as beyond a smaller memory's end."""
    first = (row % (ROWS - apart)) * ROW_WORDS + column
    count = min(count, apart * ROW_WORDS, WORDS - first - apart * ROW_WORDS)
    if count < 1:
        return
    distance = apart * ROW_WORDS
    shared = {first + distance + i: first + i for i in range(count)}
    parts = cycle(FaultyMemory(BLOCKS, aliases=shared))
    address = parts[0]
    # The later one of each pair was written last, so that the earlier one holds the later one's word.
    assert all(holds(address, cell) for cell in shared.values())
    assert sum(length for *_, length in aliases(address)) == count * WORD_BYTES
    assert {source - offset for offset, source, _ in aliases(address)} == {distance * WORD_BYTES}


@LITTLE
@given(st.sets(words, min_size=2, max_size=6))
def test_shared_cells_in_other_columns_are_found_too(pair):
    first, second = sorted(pair)[:2]
    address = cycle(FaultyMemory(BLOCKS, aliases={second: first}))[0]
    assert aliases(address) == [(first * WORD_BYTES, second * WORD_BYTES, WORD_BYTES)]


def test_a_cell_that_forgets_when_hot_fails_hot_only():
    memory = FaultyMemory(BLOCKS, forgets={3 * ROW_WORDS + 7})
    cold = cycle(memory, "cold")
    assert not any(part.notes["errors"] for part in cold)
    hot = cycle(memory, "hot")
    assert hot[-1].params["heat"] == "hot"
    assert holds(hot[-1], 3 * ROW_WORDS + 7)


def test_a_word_that_was_only_read_wrongly_is_transient():
    memory = FaultyMemory(BLOCKS, misread={4})
    (part, *others) = cycle(memory)
    assert (part.notes["errors"], part.notes["transient"]) == (1, 1)
    assert not any(each.notes["errors"] for each in others)


def test_a_lost_write_is_told_as_what_stood_there():
    pattern, before, seen = Pattern(seed=1), Pattern(seed=2), Seen()
    found = [(t + pattern.key(2)) & WORD for t in pattern.template()]
    found[9] = (before.template()[9] + before.key(2)) & WORD
    seen.take(2, found, found, pattern, before, ROWS)
    assert (seen.words, seen.stale, seen.aliased, seen.up, seen.down) == (1, 1, 0, 0, 0)


def test_a_memory_that_is_wrong_everywhere_ends_soon_and_is_counted(monkeypatch):
    """All rows behind a smaller memory's end: more than are looked at one by one."""
    monkeypatch.setattr("gputuner.workloads.bodies.vram_passes.MOST_ROWS", 20)
    blocks = (48, 48)
    shared = {word + 48 * ROW_WORDS: word for word in range(48 * ROW_WORDS)}
    memory = FaultyMemory(blocks, aliases=shared)
    made = Passes(memory, heat="cold", hold_s=0.0, hold=lambda *_: None, seed=1)
    part = next(iter(made.parts(Pace(measure_s=0.0, left_s=lambda: 0.0, stopped=lambda: False))))
    assert part.notes["bad_rows"] == 48
    assert part.notes["errors"] >= 48
    assert {source - offset for offset, source, _ in aliases(part)} == {48 * ROW_BYTES}


@pytest.mark.parametrize("after", [0, 4, 9])
def test_stopped_it_tells_how_far_it_came(after):
    asked = iter(range(10**6))
    pace = Pace(measure_s=9.0, left_s=lambda: 9.0, stopped=lambda: next(asked) >= after)
    parts = cycle(FaultyMemory(BLOCKS), pace=pace)
    assert len(parts) <= 2
    assert parts[-1].notes["checked_bytes"] < ROWS * ROW_BYTES
    assert all(part.notes["errors"] == 0 for part in parts)
