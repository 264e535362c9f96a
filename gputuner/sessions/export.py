"""A session as CSV, JSON or Parquet. Each file says in a column or at its head where its numbers come from."""

import csv
import json
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from gputuner.model.errors import StoreError
from gputuner.model.points import Point
from gputuner.sessions import document, table
from gputuner.sessions.reader import SessionReader

POINT_COLUMNS = (
    "origin", "source", "id", "card", "metric", "workload", "params", "value", "unit",
    "n", "median", "iqr", "ci95_low", "ci95_high", "flags",
)  # fmt: skip


def export(reader: SessionReader, form: str, target: Path, overwrite: bool = False) -> tuple[Path, ...]:
    """Write a session to ``target`` and return the files written.

    Args:
        reader: the session.
        form: ``csv`` (telemetry; figures beside it in ``<name>.points.csv``), ``json`` (the whole session in one
            document), ``parquet`` (as csv; needs pyarrow).
        target: file to write; complete or not there.
        overwrite: replace files that are there.

    Raises:
        StoreError: ``export_form``, ``export_exists``, ``export_extra_missing``, ``export_failed`` (disk full, no
            permission, no such folder), or the session is damaged.
    """
    if form not in FORMS:
        raise StoreError("export_form", f"no such form {form}; there are {', '.join(FORMS)}", form=form)
    return FORMS[form](reader, target, overwrite)


def export_csv(reader: SessionReader, target: Path, overwrite: bool = False) -> tuple[Path, ...]:
    """Telemetry and figures as two CSV files; see ``export``."""
    beside = _points_file(target)
    with _whole(beside, overwrite) as points_part, _whole(target, overwrite) as part:
        with part.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow([column.name for column in table.COLUMNS])
            for rows in table.rows(reader):
                writer.writerows(rows)
        with points_part.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(POINT_COLUMNS)
            writer.writerows(_point_row(point, reader.source) for point in reader.points())
    return target, beside


def export_json(reader: SessionReader, target: Path, overwrite: bool = False) -> tuple[Path, ...]:
    """The whole session as one JSON document, telemetry last; see ``export``."""
    with _whole(target, overwrite) as part, part.open("w", encoding="utf-8") as file:
        text = json.dumps(document.session(reader), ensure_ascii=False, allow_nan=False)
        file.write(text.removesuffix("}"))
        columns = [{"name": column.name, "unit": column.unit or None} for column in table.COLUMNS]
        file.write(f', "telemetry": {{"columns": {json.dumps(columns)}, "rows": [')
        separator = ""
        for rows in table.rows(reader):
            file.write(separator + json.dumps(rows, ensure_ascii=False, allow_nan=False)[1:-1])
            separator = ", "
        file.write("]}}\n")
    return (target,)


def export_parquet(reader: SessionReader, target: Path, overwrite: bool = False) -> tuple[Path, ...]:
    """Telemetry and figures as two Parquet files; see ``export``."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise StoreError(
            "export_extra_missing",
            'Parquet needs the package pyarrow; install it (pip install "gputuner[parquet]"), or export as csv or json',
            extra="parquet",
            package="pyarrow",
        ) from error
    arrow: Any = pa
    parquet: Any = pq
    head = {
        "origin": str(reader.origin),
        "source": reader.source,
        "session_id": reader.started.run_id,
        "program": "gputuner",
    }
    text = arrow.dictionary(arrow.int32(), arrow.string())

    def field(column: table.Column) -> Any:
        words = column.name in ("origin", "source", "card", "missing")
        kind = text if words else arrow.int64() if column.whole else arrow.float64()
        return arrow.field(column.name, kind, metadata={"unit": column.unit})

    schema = arrow.schema([field(column) for column in table.COLUMNS], metadata=head)
    beside = _points_file(target)
    with _whole(beside, overwrite) as points_part, _whole(target, overwrite) as part:
        with parquet.ParquetWriter(str(part), schema) as writer:
            for rows in table.rows(reader):
                arrays = [arrow.array(c, f.type) for c, f in zip(_columns(rows), schema, strict=True)]
                writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))
        points = [_point_row(point, reader.source) for point in reader.points()]
        figures = arrow.table({name: [row[i] for row in points] for i, name in enumerate(POINT_COLUMNS)})
        parquet.write_table(figures.replace_schema_metadata(head), str(points_part))
    return target, beside


FORMS: dict[str, Callable[[SessionReader, Path, bool], tuple[Path, ...]]] = {
    "csv": export_csv,
    "json": export_json,
    "parquet": export_parquet,
}


def _columns(rows: list[tuple[Any, ...]]) -> Generator[list[Any], None, None]:
    """Columns of a chunk; a whole quantity kept as a float (a nonsense reading) is missing here."""
    for column, cells in zip(table.COLUMNS, zip(*rows, strict=True), strict=True):
        yield [cell if isinstance(cell, int) else None for cell in cells] if column.whole else list(cells)


def _points_file(target: Path) -> Path:
    return target.with_name(f"{target.stem}.points{target.suffix}")


def _point_row(point: Point, source: str) -> tuple[Any, ...]:
    spread = point.spread
    return (
        str(point.origin),
        source,
        point.id,
        point.card,
        point.metric,
        point.workload,
        json.dumps(point.params, ensure_ascii=False, sort_keys=True),
        point.value,
        point.unit,
        spread.n if spread else None,
        spread.median if spread else None,
        spread.iqr if spread else None,
        spread.ci95_low if spread else None,
        spread.ci95_high if spread else None,
        " ".join(point.flags),
    )


@contextmanager
def _whole(target: Path, overwrite: bool) -> Generator[Path, None, None]:
    """A path to write to that becomes ``target`` at the end; on any failure nothing is left behind."""
    if os.path.exists(target) and not overwrite:
        raise StoreError("export_exists", f"{target} exists already", path=str(target))
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        yield part
        part.replace(target)
    except OSError as error:
        message = error.strerror or str(error)
        raise StoreError(
            "export_failed", f"{target} cannot be written: {message}", path=str(target), message=message
        ) from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
