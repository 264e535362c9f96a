"""A queue made up for pictures of the window on simulated cards: jobs in every state, and real reasons to wait.

Commands, times and ends are invented. Which jobs stand on which card, and why the others wait, is what
``analysis.placement`` decides for them on the cards that are handed in.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gputuner.analysis.placement import Candidate, Line, Placement, decide
from gputuner.analysis.placement_room import Resident, Room
from gputuner.model.cards import CardInfo
from gputuner.model.jobs import (
    Job,
    JobState,
    MemoryHolder,
    Needs,
    NeedSource,
    QueueCard,
    QueueView,
    Reason,
    RunnerInfo,
)

FOLDER = "/home/you/trainings"
OTHERS_SHARE = 0.06
"""Share of the first card that somebody else's process holds."""
USED_SHARE = 0.9
"""Of what is kept for a running job it holds so much."""
_GIB = 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class _Alive:
    """A job that is placed or waits: its command, the share of the first card that it needs, since how many seconds."""

    words: str
    share: float
    since_s: float
    minutes: float | None = None
    beside: bool = False
    alone: bool = False
    after: tuple[int, ...] = ()


_ENDED: tuple[tuple[str, JobState, Reason | None, int | None, float, float], ...] = (
    ("resnet50 --epochs 5", JobState.DONE, None, 0, 9000.0, 5340.0),
    ("bert --batch 96", JobState.FAILED, Reason(code="out_of_memory"), 1, 5300.0, 41.0),
    ("unet --epochs 40", JobState.TIMED_OUT, None, 143, 5200.0, 3600.0),
    ("gpt2 --layers 24", JobState.INTERRUPTED, Reason(code="rebooted"), None, 5000.0, 1270.0),
    ("edsr --epochs 2", JobState.CANCELLED, None, 143, 3100.0, 610.0),
)
"""Command, state, reason, exit code, how many seconds ago it started, and how many it took."""
_ALIVE = (
    _Alive(words="resnet50 --epochs 20", share=0.4, since_s=2520.0, minutes=120.0, beside=True),
    _Alive(words="lstm --epochs 4", share=0.2, since_s=4.0, minutes=30.0, beside=True),
    _Alive(words="bert --batch 64", share=0.55, since_s=1980.0, minutes=240.0),
    _Alive(words="edsr --epochs 2", share=0.08, since_s=840.0),
    _Alive(words="gpt2 --layers 12", share=0.7, since_s=600.0, alone=True),
)
_FOLLOWS = _Alive(words="evaluate.py --all", share=0.1, since_s=300.0)


def pretended(cards: Sequence[CardInfo], now_unix_s: float) -> QueueView:
    """The queue that pictures show.

    Args:
        cards: simulated cards; those without memory of their own (``cpu``) take no part.
        now_unix_s: now.
    """
    rooms = tuple(_rooms(cards))
    if not rooms:
        return QueueView(pretended=True)
    ended = [_ended_job(number, rooms[0].uuid, now_unix_s) for number in range(1, len(_ENDED) + 1)]
    first = len(ended) + 1
    alive = [_alive_job(first + place, entry, rooms[0], now_unix_s) for place, entry in enumerate(_ALIVE)]
    placed, waiting, rooms = _placed(alive, rooms, now_unix_s)
    follows = _alive_job(first + len(alive), replace(_FOLLOWS, after=(first,)), rooms[0], now_unix_s)
    waiting.append(replace(follows, reason=Reason(code="after", params={"jobs": str(first)})))
    jobs = (*placed, *waiting, *reversed(ended))
    return QueueView(
        jobs=jobs,
        cards=tuple(_card(room, now_unix_s) for room in rooms),
        runner=RunnerInfo(pid=0, since_unix_s=now_unix_s - 9100.0),
        counts=dict(Counter(job.state for job in jobs)),
        pretended=True,
    )


def _rooms(cards: Sequence[CardInfo]) -> Iterator[Room]:
    for place, card in enumerate(each for each in cards if each.memory_total_bytes and not each.is_cpu):
        total = card.memory_total_bytes or 0
        others = 0 if place else round(OTHERS_SHARE * total)
        holder = MemoryHolder(pid=4711, name="jupyter", memory_bytes=others, idle_s=7200.0)
        yield Room(
            uuid=card.uuid,
            title=card.title,
            index=card.index,
            total_bytes=total,
            free_bytes=total - others,
            others_bytes=others,
            holders=() if place else (holder,),
        )


def _placed(
    jobs: Sequence[Job], rooms: tuple[Room, ...], now_s: float
) -> tuple[list[Job], list[Job], tuple[Room, ...]]:
    """Those that stand on a card, those that wait, and the cards with what stands there."""
    running, waiting = jobs[:2], jobs[2:]  # the queue takes what it can of the first, and then looks at the rest
    placed: list[Job] = []
    for group in (running, waiting):
        line = Line(Candidate(id=job.id, needs=job.needs) for job in group)
        decision = decide(line, rooms)
        where = {placement.job: placement for placement in decision.placements}
        started = [_started(job, where[job.id], now_s) for job in group if job.id in where]
        rooms = tuple(_with(room, started, where) for room in rooms)
        placed += started
        waiting = [_waits(job, decision.reasons) for job in group if job.id not in where]
    return placed, waiting, rooms


def _started(job: Job, placement: Placement, now_s: float) -> Job:
    starts = now_s - job.waiting_since_unix_s < 10.0
    kept = placement.reserved_bytes
    used = None if starts or kept is None else round(USED_SHARE * kept)
    return replace(
        job,
        state=JobState.STARTING if starts else JobState.RUNNING,
        cards=placement.cards,
        reserved_bytes=kept,
        started_unix_s=None if starts else job.waiting_since_unix_s,
        used_bytes=used,
        peak_bytes=used,
        attempt=1,
    )


def _with(room: Room, started: Sequence[Job], where: Mapping[int, Placement]) -> Room:
    for job in started:
        if room.uuid in where[job.id].cards:
            held = job.used_bytes or 0
            resident = Resident(
                job=job.id, reserved_bytes=job.reserved_bytes, used_bytes=held, alone=job.needs.alone,
                share=job.needs.share, age_s=600.0,
            )  # fmt: skip
            free = (room.free_bytes or 0) - held
            room = replace(room, residents=(*room.residents, resident), free_bytes=free)
    return room


def _waits(job: Job, reasons: Mapping[int, Reason]) -> Job:
    return replace(job, reason=reasons.get(job.id))


def _alive_job(number: int, entry: _Alive, room: Room, now_s: float) -> Job:
    needs = Needs(
        memory_bytes=max(_GIB // 2, round(entry.share * room.total_bytes)),
        source=NeedSource.GIVEN,
        minutes=entry.minutes,
        alone=entry.alone,
        share=entry.beside,
    )
    since = now_s - entry.since_s
    return Job(
        id=number, command=_command(entry.words), folder=FOLDER, needs=needs, state=JobState.WAITING, after=entry.after,
        added_unix_s=since, waiting_since_unix_s=since,
    )  # fmt: skip


def _ended_job(number: int, card: str, now_s: float) -> Job:
    words, state, reason, code, ago_s, took_s = _ENDED[number - 1]
    start = now_s - ago_s
    return Job(
        id=number, command=_command(words), folder=FOLDER, needs=Needs(), state=state, reason=reason, exit_code=code,
        added_unix_s=start - 60.0, waiting_since_unix_s=start - 60.0, started_unix_s=start,
        ended_unix_s=start + took_s, attempt=1, cards=(card,),
    )  # fmt: skip


def _command(words: str) -> tuple[str, ...]:
    script, *rest = words.split()
    return ("python", script, *rest) if script.endswith(".py") else ("python", "train.py", script, *rest)


def _card(room: Room, now_s: float) -> QueueCard:
    return QueueCard(
        uuid=room.uuid, title=room.title, index=room.index, total_bytes=room.total_bytes, free_bytes=room.free_bytes,
        reserved_bytes=sum(each.reserved_bytes or 0 for each in room.residents),
        jobs=tuple(each.job for each in room.residents), holders=room.holders, seen_unix_s=now_s,
    )  # fmt: skip
