"""C-021: two tools, one card, one minute, two temperatures. The real program over two session files."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from gputuner.model.advice import Advice, Confidence
from gputuner.model.events import AdviceGiven, PointMeasured
from gputuner.model.quantities import Quantity
from tests.sessions.streams import CARDS, S, card, finished, point, sample, started, store, tick

pytestmark = pytest.mark.e2e
MEMORY = Quantity.MEMORY_TEMPERATURE_C
RUNS = {"nvml": "20261130-142200-record-a001", "gputemps": "20261130-142210-record-b002"}
NOTE = (
    "Sources disagree by 14 °C on the memory temperature of NVIDIA GeForce RTX 4090: {source}, used here, says "
    "{value} °C; {other} said {other_value} °C at the same time (session {session})."
)
HEAT = Advice(
    id="memory_heat.suspected",
    card=CARDS[0],
    params={"share": 0.3, "core_c": 62.0, "memory_c": 86.0, "target_c": 83.0},
    evidence=("p1",),
    confidence=Confidence.MODEL,
)


def write(folder: Path, source: str, memory_c: float, begin_s: float) -> None:
    run_id = RUNS[source]
    head = started(run_id=run_id, source=source, cards=(card(),), unix_s=1_796_000_000.0 + begin_s)
    values = {MEMORY: memory_c, Quantity.CORE_TEMPERATURE_C: 62.0}
    ticks = [tick(n + 1, n * S, sample(n * S, values), run_id=run_id) for n in range(40)]
    end = 41 * S
    told = [
        PointMeasured(run_id=run_id, seq=41, t_ns=end, point=point()),
        AdviceGiven(run_id=run_id, seq=42, t_ns=end, advice=(HEAT,)),
        replace(finished(43, end), run_id=run_id),
    ]
    store(folder, [head, *ticks, *told], run_id)


@pytest.fixture
def two(fresh):
    write(fresh.data_dir, "nvml", 86.0, 0.0)
    write(fresh.data_dir, "gputemps", 100.0, 10.0)
    return fresh


def flat(text: str) -> str:
    return " ".join(text.split())


def test_c021_advise_names_both_sources_and_14_degrees(two):
    ended = two("advise", RUNS["nvml"])
    assert (ended.code, ended.err) == (0, "")
    assert "Telemetry from NVML" in ended.out
    session = RUNS["gputemps"]
    assert NOTE.format(source="NVML", value=86, other="gputemps", other_value=100, session=session) in flat(ended.out)
    assert "The memory temperature is from NVML; gputemps differs by 14 °C." in flat(ended.out)
    assert "The core temperature is from" not in ended.out
    back = two("advise", RUNS["gputemps"])
    session = RUNS["nvml"]
    assert NOTE.format(source="gputemps", value=100, other="NVML", other_value=86, session=session) in flat(back.out)
    assert "The memory temperature is from gputemps; NVML differs by 14 °C." in flat(back.out)


@pytest.mark.parametrize("command", [("advise",), ("sessions", "show")])
def test_c021_the_document_names_source_other_and_session(two, command):
    document = two(*command, RUNS["nvml"], "--json").document
    assert document["source"] == "nvml"
    (warning,) = document["warnings"]
    assert warning["code"] == "sources_disagree"
    told = {name: warning["params"][name] for name in ("quantity", "source", "other", "difference", "other_session")}
    assert told == {
        "quantity": "memory_temperature_c",
        "source": "nvml",
        "other": "gputemps",
        "difference": 14.0,
        "other_session": RUNS["gputemps"],
    }
    (advice,) = document["advice"]
    assert "gputemps differs by 14" in advice["why"]


def test_c021_show_tells_the_same_and_each_session_keeps_its_label(two):
    shown = two("sessions", "show", RUNS["gputemps"]).out
    assert "telemetry from gputemps" in flat(shown)
    assert "Sources disagree by 14 °C" in flat(shown)
    sessions = two("sessions", "list", "--json").document["sessions"]
    assert {entry["session_id"]: entry["source"] for entry in sessions} == {run: name for name, run in RUNS.items()}


def test_c021_exports_keep_the_label_and_their_own_readings(two, tmp_path):
    for source, memory_c in (("nvml", "86"), ("gputemps", "100")):
        target = tmp_path / f"{source}.csv"
        assert two("sessions", "export", RUNS[source], "--out", str(target)).code == 0
        with target.open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert {(row["source"], row[MEMORY]) for row in rows} == {(source, memory_c)}
        document = tmp_path / f"{source}.json"
        assert two("sessions", "export", RUNS[source], "--format", "json", "--out", str(document)).code == 0
        assert json.loads(document.read_text())["source"] == source


def test_c021_in_chinese(two, chinese):
    out = flat(two("advise", RUNS["nvml"], "--lang", "zh_CN").out)
    assert "显存温度说法相差 14 °C" in out
    assert "显存温度来自 NVML；gputemps 与之相差 14 °C。" in out


def test_a_session_from_one_source_has_no_such_warning(fresh):
    write(fresh.data_dir, "nvml", 86.0, 0.0)
    document = fresh("advise", "--json").document
    assert document["warnings"] == []
    assert "differs by" not in document["advice"][0]["why"]
