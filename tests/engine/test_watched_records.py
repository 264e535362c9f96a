"""Records are read while they grow: whole lines only, none twice, and the newest figures from the newest lines."""

import json

from gputuner.engine.watched_records import RECENT, RecordTail, read_records

HELLO = {"k": "hello", "pid": 77, "program": "train.py", "rank": 1, "t": 1000.0}


def window(number, steps=10, step_s=0.05, waited_s=0.1):
    seconds = steps * step_s
    return {
        "k": "window",
        "t": 1000.0 + number,
        "s": seconds,
        "seen": steps,
        "steps": steps,
        "training_s": seconds,
        "waited_s": waited_s,
        "samples": steps * 32,
        "batches": steps,
        "sizes": [[32, steps]],
        "step_us": [step_s * 1e6] * steps,
    }


def lines(*records):
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def test_no_folder_and_no_file_tell_nothing(tmp_path):
    assert RecordTail(None).look() == ()
    assert read_records(None) == ()
    assert RecordTail(tmp_path).look() == ()
    assert read_records(tmp_path / "missing") == ()


def test_what_is_added_is_counted_once_and_a_torn_line_waits_for_its_end(tmp_path):
    path = tmp_path / "77-1.jsonl"
    tail = RecordTail(tmp_path)
    path.write_bytes(lines(HELLO, window(1), window(2)))
    (first,) = tail.look()
    assert (first.pid, first.rank, first.steps) == (77, 1, 20)
    whole = lines(window(3, step_s=0.2), window(4, step_s=0.2))
    with path.open("ab") as file:
        file.write(whole[:-30])
    (second,) = tail.look()
    assert second.steps == 30
    with path.open("ab") as file:
        file.write(whole[-30:])
    (third,) = tail.look()
    assert third.steps == 40
    assert third.step_s == 0.2
    (again,) = tail.look()
    assert again == third


def test_waiting_and_rate_are_of_the_newest_lines(tmp_path):
    path = tmp_path / "77-1.jsonl"
    old = [window(i, waited_s=0.0) for i in range(50)]
    new = [window(50 + i, waited_s=0.25) for i in range(RECENT)]
    path.write_bytes(lines(HELLO, *old, *new))
    (now,) = RecordTail(tmp_path).look()
    assert now.steps == (50 + RECENT) * 10
    assert now.waiting == 0.5
    assert now.batch == 32


def test_the_longest_training_comes_first_and_all_are_read_at_the_end(tmp_path):
    (tmp_path / "77-1.jsonl").write_bytes(lines(HELLO, window(1), window(2)))
    (tmp_path / "78-1.jsonl").write_bytes(lines({**HELLO, "pid": 78, "rank": 0}, *(window(i) for i in range(1, 6))))
    (tmp_path / "79-1.jsonl").write_bytes(b"\x00\xff torn")
    assert [now.pid for now in RecordTail(tmp_path).look()] == [78, 77]
    assert [seen.pid for seen in read_records(tmp_path)] == [78, 77]
