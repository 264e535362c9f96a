"""Jobs as rows of the database, there and back."""

import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from gputuner.analysis.told_command import without_secrets
from gputuner.jobs.claims import log_path
from gputuner.model.jobs import Job, JobState, Needs, NeedSource, OnReboot, Reason
from gputuner.model.readings import Scalar

COLUMNS = (
    "id, name, command, told, folder, priority, memory_bytes, cards_wanted, minutes, need_source, alone, share, "
    "pinned, label, after, retries, timeout_s, start_within_s, on_reboot, array_id, array_index, state, attempt, "
    "cards, reserved_bytes, reason, added, waiting_since, started, ended, pid, command_pid, exit_code, used_bytes, "
    "peak_bytes, tail"
)
NOTHING = "[]"


def job_of(row: sqlite3.Row, data_dir: Path) -> Job:
    """The job of a row of ``COLUMNS``."""
    attempt = int(row["attempt"])
    return Job(
        id=row["id"],
        name=row["name"],
        command=tuple(json.loads(row["told"])),
        whole=without_secrets(json.loads(row["command"])),
        folder=row["folder"],
        needs=needs_of(row),
        state=JobState(row["state"]),
        priority=row["priority"],
        after=numbers(row["after"]),
        retries=row["retries"],
        timeout_s=row["timeout_s"],
        start_within_s=row["start_within_s"],
        on_reboot=OnReboot(row["on_reboot"]),
        array_id=row["array_id"],
        array_index=row["array_index"],
        attempt=attempt,
        cards=words(row["cards"]),
        reserved_bytes=row["reserved_bytes"],
        reason=reason_of(row["reason"]),
        added_unix_s=row["added"],
        waiting_since_unix_s=row["waiting_since"],
        started_unix_s=row["started"],
        ended_unix_s=row["ended"],
        exit_code=row["exit_code"],
        pid=row["command_pid"] if row["command_pid"] is not None else row["pid"],
        used_bytes=row["used_bytes"],
        peak_bytes=row["peak_bytes"],
        log=str(log_path(data_dir, row["id"], attempt)) if attempt else "",
        tail=row["tail"],
    )


def needs_of(row: sqlite3.Row) -> Needs:
    """What the job of a row needs."""
    return Needs(
        memory_bytes=row["memory_bytes"],
        cards=row["cards_wanted"],
        minutes=row["minutes"],
        source=NeedSource(row["need_source"]),
        alone=bool(row["alone"]),
        share=bool(row["share"]),
        pinned=words(row["pinned"]),
        label=row["label"],
    )


def words(text: str) -> tuple[str, ...]:
    """A list of words as it is stored."""
    return () if text == NOTHING else tuple(cast("list[str]", json.loads(text)))


def numbers(text: str) -> tuple[int, ...]:
    """A list of whole numbers as it is stored."""
    return () if text == NOTHING else tuple(cast("list[int]", json.loads(text)))


def reason_of(text: str | None) -> Reason | None:
    """A reason as it is stored."""
    if text is None:
        return None
    found = cast("Mapping[str, object]", json.loads(text))
    return Reason(code=str(found["code"]), params=cast("dict[str, Scalar]", found.get("params", {})))


def reason_text(reason: Reason | None) -> str | None:
    """A reason as it is stored."""
    return None if reason is None else json.dumps({"code": reason.code, "params": reason.params})
