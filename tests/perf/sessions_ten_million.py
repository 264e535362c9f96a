"""Figures of a session of ten million samples: opening, recording, export. Prints them; never part of ``make test``.

    python tests/perf/sessions_ten_million.py                      # all but pandas
    python tests/perf/sessions_ten_million.py --rows 1000000
    python tests/perf/sessions_ten_million.py --pandas FOLDER   # a folder made by pip install --target FOLDER pandas

Eight cards at 10 Hz for 35 h are 10 080 000 rows, written by ``SessionWriter`` itself. The export is compared with
pandas on the samples table of a session of ``--export-rows`` rows (pandas holds all of it in memory).
"""

import argparse
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from gputuner.model.cards import CardInfo, Origin
from gputuner.model.events import ClockKind, Outcome, RunFinished, RunStarted, TelemetrySampled
from gputuner.model.fingerprint import Fingerprint, HostFingerprint
from gputuner.model.quantities import QUANTITIES, Quantity, Tier
from gputuner.model.readings import Reason
from gputuner.model.samples import Sample
from gputuner.sessions.export import export_csv
from gputuner.sessions.reader import SessionReader
from gputuner.sessions.writer import SessionWriter

CARDS = tuple(f"GPU-{n:08d}-aaaa-bbbb-cccc-000000000000" for n in range(8))
HZ = 10
RUN = "20261130-000000-record-perf"
FAST = [q for q, info in QUANTITIES.items() if info.tier is Tier.FAST and q is not Quantity.HOTSPOT_TEMPERATURE_C]
SLOW = [q for q, info in QUANTITIES.items() if info.tier is Tier.SLOW]
SHOWN = (
    Quantity.CORE_TEMPERATURE_C,
    Quantity.MEMORY_TEMPERATURE_C,
    Quantity.POWER_AVERAGE_W,
    Quantity.SM_CLOCK_MHZ,
    Quantity.GPU_UTILISATION,
    Quantity.MEMORY_USED_BYTES,
    Quantity.LIMIT_BITS,
)
T0 = 40 * 3600 * 10**9


def value(quantity: Quantity, n: int) -> float:
    """A plausible value of a quantity at tick ``n``: right in size, moving as sensors do."""
    wave = (n * 7919) % 600
    match quantity:
        case Quantity.ENERGY_J:
            return n * 41.237
        case Quantity.LIMIT_BITS:
            return float((4, 4, 36, 0)[wave // 150])
        case Quantity.MEMORY_USED_BYTES | Quantity.MEMORY_FREE_BYTES:
            return 2.1e10 + wave * 2**21
        case _ if quantity.endswith("_ns"):
            return float(n * 10**8)
        case _ if quantity.endswith("_w"):
            return 380.0 + wave / 7
        case _ if quantity.endswith("_mhz"):
            return 2400.0 + wave // 15 * 15
        case _ if QUANTITIES[quantity].unit == "fraction":
            return wave / 600
        case _:
            return float(50 + wave // 20)


def ticks(rows: int) -> Iterator[TelemetrySampled]:
    """``rows`` samples: fast quantities on every tick, slow ones every 5 s, one quantity that no card has."""
    missing = {Quantity.HOTSPOT_TEMPERATURE_C: Reason.NOT_SUPPORTED}
    moving = [q for q in FAST if q is not Quantity.ENERGY_J]
    bases = [{q: value(q, n) for q in moving} for n in range(600)]
    for n in range(rows // len(CARDS)):
        t_ns = T0 + n * 10**9 // HZ
        samples: list[Sample] = []
        for place, card in enumerate(CARDS):
            values = {**bases[(n + place * 37) % 600], Quantity.ENERGY_J: value(Quantity.ENERGY_J, n)}
            if n % (5 * HZ) == 0:
                values.update({q: value(q, n) for q in SLOW})
            samples.append(Sample(card=card, t_ns=t_ns + place * 1000, values=values, missing=missing))
        yield TelemetrySampled(run_id=RUN, seq=n + 1, t_ns=t_ns, samples=tuple(samples))


def started() -> RunStarted:
    """The begin of the made-up run."""
    cards = tuple(CardInfo(uuid=u, index=i, name="made-up card", origin=Origin.SIMULATED) for i, u in enumerate(CARDS))
    return RunStarted(
        run_id=RUN,
        seq=0,
        t_ns=T0,
        experiment="record",
        spec={},
        fingerprint=Fingerprint(host=HostFingerprint(readings={}), sampling_hz=HZ),
        cards=cards,
        clock=ClockKind.SIMULATED,
        origin=Origin.SIMULATED,
        unix_s=1_796_000_000.0,
        version="perf",
    )


def build(folder: Path, rows: int) -> Path:
    """Write a session of ``rows`` samples."""
    begin = time.perf_counter()
    writer = SessionWriter.create(folder, RUN)
    writer.write(started())
    for tick in ticks(rows):
        writer.write(tick)
    seq = rows // len(CARDS) + 1
    writer.write(RunFinished(run_id=RUN, seq=seq, t_ns=T0 + seq * 10**8, outcome=Outcome.COMPLETED, exit_code=0))
    size = writer.path.stat().st_size
    print(f"built {rows} rows in {time.perf_counter() - begin:.0f} s: {size / 1e6:.0f} MB, {size / rows:.0f} bytes/row")
    return writer.path


def forget(path: Path) -> None:
    """Drop the file from the page cache (this file only)."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def overview(path: Path) -> None:
    """Open the session and read what its page draws first, with cold and with warm page cache."""
    for state in ("cold", "warm", "warm"):
        if state == "cold":
            forget(path)
        begin, cpu = time.perf_counter(), time.process_time()
        with SessionReader(path) as reader:
            reader.summary(), reader.cards(), reader.points(), reader.advice()
            found = reader.overview(SHOWN, at_most_points=1000)
        points = sum(len(series.t_ns) for series in found.values())
        took, cpu = time.perf_counter() - begin, time.process_time() - cpu
        print(f"overview, {state}: {took:.3f} s, of it CPU {cpu:.3f} s ({len(found)} series, {points} points)")
    with SessionReader(path) as reader:
        end = reader.end_ns()
        for span_s in (60, 600, 3600, 6 * 3600):
            begin, cpu = time.perf_counter(), time.process_time()
            found = reader.overview(SHOWN, None, end - span_s * 10**9, end, 1000)
            series = next(iter(found.values()))
            took, cpu = time.perf_counter() - begin, time.process_time() - cpu
            print(
                f"zoom to {span_s} s: {took:.3f} s, of it CPU {cpu:.3f} s "
                f"({len(series.t_ns)} points, bucket {series.bucket_s} s)"
            )


def recording(folder: Path, seconds: int = 600) -> None:
    """CPU of writing 80 rows a second with live roll-ups and a commit a second."""
    stream = list(ticks(seconds * HZ * len(CARDS)))
    clock = [0.0]
    writer = SessionWriter.create(folder, RUN, now=lambda: clock[0])
    writer.write(started())
    usage = resource.getrusage(resource.RUSAGE_SELF)
    begin = usage.ru_utime + usage.ru_stime
    for tick in stream:
        clock[0] = (tick.t_ns - T0) / 1e9
        writer.write(tick)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    cost = (usage.ru_utime + usage.ru_stime - begin) / seconds
    writer.close()
    print(f"recording {HZ * len(CARDS)} rows/s with roll-ups: {100 * cost:.2f} % of a core")


PANDAS = """
import sys, time
sys.path.append(sys.argv[1])
import sqlite3, pandas
begin = time.perf_counter()
pandas.read_sql("SELECT * FROM samples", sqlite3.connect(sys.argv[2])).to_csv(sys.argv[3], index=False)
print(time.perf_counter() - begin, pandas.__version__)
"""


def export(path: Path, folder: Path, rows: int, pandas: str | None) -> None:
    """CSV export against pandas on the same table, taken in turns; the best of three each."""
    ours: list[float] = []
    theirs: list[float] = []
    version = ""
    for _ in range(3):
        begin = time.perf_counter()
        with SessionReader(path) as reader:
            export_csv(reader, folder / "ours.csv", overwrite=True)
        ours.append(time.perf_counter() - begin)
        if pandas:
            command = [sys.executable, "-c", PANDAS, pandas, str(path), str(folder / "pandas.csv")]
            out = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
            theirs.append(float(out[0]))
            version = out[1]
    print(f"export of {rows} rows to CSV: {min(ours):.1f} s, {rows / min(ours):.0f} rows/s")
    if theirs:
        ratio = min(theirs) / min(ours)
        print(
            f"pandas {version} read_sql + to_csv: {min(theirs):.1f} s; export runs at {100 * ratio:.0f} % of its speed"
        )


def layout(path: Path, folder: Path, rows: int) -> None:
    """Size and time of the samples table clustered by tick (as it is) and by card and time, a commit per 80 rows."""
    source = sqlite3.connect(path)
    data = source.execute("SELECT * FROM samples").fetchall()
    names = [row[1] for row in source.execute("PRAGMA table_info(samples)")]
    source.close()
    columns = ", ".join(names[1:])
    keys = {"by tick": "id INTEGER PRIMARY KEY, {}", "by card": "id, {}, PRIMARY KEY (card, t_ns)) WITHOUT ROWID --"}
    for name, key in keys.items():
        file = folder / f"{name}.sqlite"
        connection = sqlite3.connect(file, isolation_level=None)
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"CREATE TABLE samples({key.format(columns)}\n" + (")" if name == "by tick" else ""))
        insert = f"INSERT INTO samples VALUES ({', '.join('?' * len(names))})"
        begin = time.process_time()
        for at in range(0, len(data), 80):
            connection.execute("BEGIN")
            connection.executemany(insert, data[at : at + 80])
            connection.execute("COMMIT")
        took = time.process_time() - begin
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.close()
        print(f"samples {name}: {file.stat().st_size / rows:.0f} bytes/row, {took / rows * 1e6:.1f} us/row to insert")


def main() -> None:
    """Run the chosen measurements."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_080_000)
    parser.add_argument("--export-rows", type=int, default=1_000_000)
    parser.add_argument("--pandas", help="folder that has pandas")
    parser.add_argument("--only", choices=("open", "record", "export", "layout"))
    parser.add_argument("--session", type=Path, help="use this file instead of building one for 'open'")
    options = parser.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.only in (None, "record"):
            recording(folder / "record")
        if options.only in (None, "export", "layout"):
            path = build(folder / "export", options.export_rows)
            if options.only != "export":
                layout(path, folder, options.export_rows)
            if options.only != "layout":
                export(path, folder, options.export_rows, options.pandas)
        if options.only in (None, "open"):
            overview(options.session or build(folder / "open", options.rows))


if __name__ == "__main__":
    main()
