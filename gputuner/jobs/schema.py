"""The queue's database, and older ones brought to this version.

============  =====================================================================================================
table         what it holds
============  =====================================================================================================
jobs          one row per job: what was asked for, how it stands, who runs it
starts        one row per claimed start of a job: proof that nothing ran twice, and what each attempt came to
environments  the environments jobs run in, each once however many jobs share it; private
cards         the cards as the runner saw them last
facts         single values: ``line`` counts changes of the waiting line, ``ended`` ends (and second tries) of jobs, so
              that their reader knows when to read anew
============  =====================================================================================================

Standard library only: the supervisor of every job reads this too.
"""

import sqlite3

VERSION = 1
"""``PRAGMA user_version`` of what this program writes."""
APPLICATION_ID = 0x67707571
"""``PRAGMA application_id``: "gpuq"."""

_JOBS = """
CREATE TABLE jobs(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL DEFAULT '', command TEXT NOT NULL, told TEXT NOT NULL, digest TEXT NOT NULL, folder TEXT NOT NULL,
  environment INTEGER NOT NULL REFERENCES environments(id),
  priority INTEGER NOT NULL DEFAULT 0, position REAL NOT NULL,
  memory_bytes INTEGER, cards_wanted INTEGER NOT NULL DEFAULT 1, minutes REAL, need_source TEXT NOT NULL,
  alone INTEGER NOT NULL DEFAULT 0, share INTEGER NOT NULL DEFAULT 0, pinned TEXT NOT NULL DEFAULT '[]',
  label TEXT NOT NULL DEFAULT '',
  after TEXT NOT NULL DEFAULT '[]', retries INTEGER NOT NULL DEFAULT 0, timeout_s REAL, start_within_s REAL,
  on_reboot TEXT NOT NULL, array_id INTEGER, array_index INTEGER,
  state TEXT NOT NULL DEFAULT 'waiting', ticket TEXT, attempt INTEGER NOT NULL DEFAULT 0,
  failures INTEGER NOT NULL DEFAULT 0, unclaimed INTEGER NOT NULL DEFAULT 0,
  cards TEXT NOT NULL DEFAULT '[]', reserved_bytes INTEGER,
  reason TEXT, added REAL NOT NULL, waiting_since REAL NOT NULL, placed REAL, started REAL, ended REAL,
  pid INTEGER, pid_start TEXT, command_pid INTEGER, command_start TEXT, boot TEXT,
  exit_code INTEGER, cancel_asked REAL, used_bytes INTEGER, peak_bytes INTEGER, tail TEXT NOT NULL DEFAULT ''
)"""

_STATEMENTS = (
    "CREATE TABLE environments(id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, json TEXT NOT NULL)",
    _JOBS,
    "CREATE INDEX jobs_line ON jobs(priority DESC, position, id) WHERE state = 'waiting'",
    "CREATE INDEX jobs_state ON jobs(state, ended)",
    "CREATE INDEX jobs_digest ON jobs(digest, ended) WHERE peak_bytes IS NOT NULL",
    "CREATE TABLE starts(id INTEGER PRIMARY KEY, job INTEGER NOT NULL, attempt INTEGER NOT NULL, ticket TEXT NOT NULL "
    "UNIQUE, pid INTEGER, boot TEXT, cards TEXT NOT NULL, reserved_bytes INTEGER, started REAL NOT NULL, ended REAL, "
    "state TEXT, exit_code INTEGER, peak_bytes INTEGER)",
    "CREATE INDEX starts_job ON starts(job)",
    "CREATE TABLE cards(uuid TEXT PRIMARY KEY, json TEXT NOT NULL)",
    "CREATE TABLE facts(key TEXT PRIMARY KEY, value INTEGER NOT NULL)",
    "INSERT INTO facts VALUES('line', 0), ('ended', 0)",
    "CREATE TRIGGER line_joined AFTER INSERT ON jobs BEGIN UPDATE facts SET value = value + 1 WHERE key = 'line'; END",
    "CREATE TRIGGER line_changed AFTER UPDATE OF state, priority, position, alone ON jobs "
    "WHEN new.state = 'waiting' OR old.state = 'waiting' "
    "BEGIN UPDATE facts SET value = value + 1 WHERE key = 'line'; END",
    "CREATE TRIGGER job_ended AFTER UPDATE OF state ON jobs WHEN new.state <> old.state "
    "AND (new.ended IS NOT NULL OR old.ended IS NOT NULL) "
    "BEGIN UPDATE facts SET value = value + 1 WHERE key = 'ended'; END",
)

STEPS: dict[int, tuple[str, ...]] = {0: _STATEMENTS}
"""``STEPS[n]`` turns a database of version n into one of version n + 1; 0 is an empty one."""


class NewerQueue(Exception):
    """The database was written by a newer program; it is left as it is."""


def bring_up(connection: sqlite3.Connection) -> None:
    """Bring a database to this version, each step all or nothing.

    Raises:
        NewerQueue: it is of a later version.
        sqlite3.Error: it cannot be written.
    """
    if _version(connection) == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")  # another process may just be doing it
    try:
        found = _version(connection)
        if found > VERSION:
            raise NewerQueue(str(found))
        for version in range(found, VERSION):
            for statement in STEPS[version]:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
