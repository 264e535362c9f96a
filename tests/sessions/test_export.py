"""Exports hold what the session holds, in units, marked with where it comes from."""

import csv
import json
import math
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gputuner.model.cards import Origin
from gputuner.model.errors import StoreError
from gputuner.model.events import Event, RunStarted
from gputuner.model.quantities import QUANTITIES, Quantity
from gputuner.model.readings import Reason
from gputuner.sessions import export as exporting
from gputuner.sessions.export import export
from gputuner.sessions.library import SessionLibrary
from gputuner.sessions.reader import SessionReader

from .streams import CARDS, RUN, S, run, sample, started, store, tick

T0 = 5 * S


def telemetry() -> list[Event]:
    """Started at 5 s on its clock; one card by one."""
    values = {Quantity.POWER_AVERAGE_W: 61.234, Quantity.LIMIT_BITS: 4.0, Quantity.GPU_UTILISATION: 0.07}
    missing = {Quantity.FAN_RPM: Reason.NOT_SUPPORTED, Quantity.BAR1_USED_BYTES: Reason.NO_PERMISSION}
    return [
        started(t_ns=T0),
        tick(1, T0 + S // 2, sample(T0 + S // 2, values), sample(T0 + S // 2, {}, CARDS[1], missing)),
        tick(2, T0 + S, sample(T0 + S, {Quantity.GPU_UTILISATION: 0.0})),
    ]


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_csv_holds_units_zeros_blanks_and_reasons(tmp_path: Path) -> None:
    with SessionReader(store(tmp_path, telemetry())) as reader:
        files = export(reader, "csv", tmp_path / "out.csv")
    assert [f.name for f in files] == ["out.csv", "out.points.csv"]
    first, second, third = rows_of(files[0])
    assert list(first) == ["origin", "source", "card", "t_s", *map(str, QUANTITIES), "missing"]
    assert {k: v for k, v in first.items() if v} == {
        "origin": "measured",
        "source": "nvml",
        "card": CARDS[0],
        "t_s": "0.5",
        "power_average_w": "61.234",
        "limit_bits": "4",
        "gpu_utilisation": "0.07",
    }
    assert second["missing"] == "bar1_used_bytes:no_permission fan_rpm:not_supported"
    assert second["power_average_w"] == ""
    assert (third["t_s"], third["gpu_utilisation"], third["missing"]) == ("1.0", "0.0", "")


def test_csv_equals_the_stream(tmp_path: Path) -> None:
    events = run(seconds=30)
    with SessionReader(store(tmp_path, events)) as reader:
        files = export(reader, "csv", tmp_path / "out.csv")
        told = [s for e in reader.events({"telemetry_sampled"}) for s in e.samples]
    rows = rows_of(files[0])
    assert len(rows) == len(told) == 120
    for row, expected in zip(rows, told, strict=True):
        assert row["card"] == expected.card
        assert math.isclose(float(row["t_s"]), expected.t_ns / 1e9)
        assert {q: float(row[q]) for q in Quantity if row[q]} == expected.values
    (figure,) = rows_of(files[1])
    assert (figure["metric"], figure["params"], figure["flags"]) == (
        "matmul_rate",
        '{"n": 8192, "precision": "bf16"}',
        "throttled:power",
    )
    assert float(figure["ci95_high"]) == 1.5e14 * 1.01


@pytest.mark.parametrize("origin", list(Origin))
def test_every_export_says_where_numbers_come_from(tmp_path: Path, origin: Origin) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    with SessionReader(store(tmp_path, run(origin=origin))) as reader:
        table, figures = export(reader, "csv", tmp_path / "a.csv")
        (document,) = export(reader, "json", tmp_path / "a.json")
        columns, _ = export(reader, "parquet", tmp_path / "a.parquet")
    assert {row["origin"] for row in rows_of(table)} == {origin.value}
    assert {row["origin"] for row in rows_of(figures)} == {"measured"}  # streams.point() says so itself
    head = json.loads(document.read_text())
    assert (head["origin"], head["simulated"]) == (origin.value, origin is Origin.SIMULATED)
    assert set(pq.read_table(columns)["origin"].to_pylist()) == {origin.value}
    assert pq.read_schema(columns).metadata[b"origin"] == origin.value.encode()


def test_every_export_names_its_source(tmp_path: Path) -> None:
    """C-021: two tools, two labels."""
    pq = pytest.importorskip("pyarrow.parquet")
    for source in ("nvml", "gputemps"):
        events = [replace(event, source=source) if isinstance(event, RunStarted) else event for event in run()]
        with SessionReader(store(tmp_path, events, source)) as reader:
            table, figures = export(reader, "csv", tmp_path / f"{source}.csv")
            (document,) = export(reader, "json", tmp_path / f"{source}.json")
            columns, points = export(reader, "parquet", tmp_path / f"{source}.parquet")
        for file in (table, figures):
            assert {row["source"] for row in rows_of(file)} == {source}
        assert json.loads(document.read_text())["source"] == source
        for file in (columns, points):
            assert pq.read_schema(file).metadata[b"source"] == source.encode()
            assert set(pq.read_table(file)["source"].to_pylist()) == {source}


def test_json_is_the_whole_session(tmp_path: Path) -> None:
    def refuse(name: str) -> None:
        raise AssertionError(name)

    with SessionReader(store(tmp_path, run(seconds=5))) as reader:
        (file,) = export(reader, "json", tmp_path / "a.json")
    document = json.loads(file.read_text(encoding="utf-8"), parse_constant=refuse)
    assert document["schema"] == "gputuner.session/1"
    assert (document["session_id"], document["outcome"]) == (RUN, "completed")
    assert [card["uuid"] for card in document["devices"]] == list(CARDS)
    assert document["devices"][0]["readings"]["bar1_total_bytes"] == {
        "value": None,
        "unit": "bytes",
        "reason": "not_supported",
    }
    (point,) = document["points"]
    assert (point["n"], point["ci95"], point["flags"]) == (30, [1.5e14 * 0.99, 1.5e14 * 1.01], ["throttled:power"])
    assert [entry["id"] for entry in document["advice"]] == ["precision.best", "batch.fastest"]
    assert document["to_measure"][0]["command"] == "gputuner --cli tune"
    assert [entry["code"] for entry in document["warnings"]] == ["no_telemetry"]
    assert [event["kind"] for event in document["events"]][::5] == ["run_started", "run_finished"]
    names = [column["name"] for column in document["telemetry"]["columns"]]
    assert len(document["telemetry"]["rows"]) == 20
    row = dict(zip(names, document["telemetry"]["rows"][0], strict=True))
    assert (row["t_s"], row["core_temperature_c"], row["memory_temperature_c"]) == (0.0, 40, None)
    assert row["missing"] == "memory_temperature_c:not_supported"


def test_json_of_a_session_without_telemetry_is_a_document(tmp_path: Path) -> None:
    with SessionReader(store(tmp_path, [started()])) as reader:
        (file,) = export(reader, "json", tmp_path / "a.json")
    assert json.loads(file.read_text())["telemetry"]["rows"] == []
    assert json.loads(file.read_text())["outcome"] is None


def test_parquet_has_types_and_units(tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    with SessionReader(store(tmp_path, telemetry())) as reader:
        files = export(reader, "parquet", tmp_path / "a.parquet")
    table = pq.read_table(files[0])
    assert table["power_average_w"].to_pylist() == [61.234, None, None]
    assert table["gpu_utilisation"].to_pylist() == [0.07, None, 0.0]
    assert str(table.schema.field("memory_used_bytes").type) == "int64"
    assert table.schema.field("power_average_w").metadata[b"unit"] == b"W"
    assert pq.read_table(files[1]).num_rows == 0


def test_parquet_without_pyarrow_names_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = store(tmp_path, telemetry())
    with pytest.raises(StoreError) as caught:
        SessionLibrary(tmp_path).export(path, "parquet", tmp_path / "a.parquet")
    assert caught.value.code == "export_extra_missing"
    assert "gputuner[parquet]" in str(caught.value)
    assert not list(tmp_path.glob("*parquet*"))


@pytest.mark.parametrize("form", ["csv", "json"])
def test_a_target_that_is_there_is_kept_unless_told(tmp_path: Path, form: str) -> None:
    target = tmp_path / f"a.{form}"
    target.write_text("precious")
    path = store(tmp_path, run())
    library = SessionLibrary(tmp_path)
    with pytest.raises(StoreError) as caught:
        library.export(path, form, target)
    assert caught.value.code == "export_exists"
    assert target.read_text() == "precious"
    library.export(path, form, target, overwrite=True)
    assert target.stat().st_size > 100


def test_an_unknown_form_is_refused(tmp_path: Path) -> None:
    path = store(tmp_path, run())
    with pytest.raises(StoreError) as caught:
        SessionLibrary(tmp_path).export(path, "xlsx", tmp_path / "a.xlsx")
    assert caught.value.code == "export_form"


def test_an_export_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = store(tmp_path, run())
    out = tmp_path / "out"
    out.mkdir()

    def broken(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(exporting, "_point_row", broken)
    with pytest.raises(StoreError) as caught:
        SessionLibrary(tmp_path).export(path, "csv", out / "a.csv")
    assert caught.value.code == "export_failed"
    assert "No space left" in str(caught.value)
    assert list(out.iterdir()) == []
    with pytest.raises(StoreError) as caught:
        SessionLibrary(tmp_path).export(path, "json", tmp_path / "nowhere" / "a.json")
    assert caught.value.code == "export_failed"
