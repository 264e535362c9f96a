"""The certificate of a health test: one JSON document with a fingerprint, and the same as a page to read.

The fingerprint is the SHA-256 of the document's canonical form (keys sorted, no blanks, ASCII) without the fingerprint
itself, so that whoever has the JSON can compute it again. It proves that nothing was changed since, not who made it.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from typing import Any

from gputuner.analysis.health import Verdict, as_sold, verdict
from gputuner.language import health, health_tables, sentences
from gputuner.language.tables import Table
from gputuner.language.words import _
from gputuner.model import document_parts
from gputuner.model.cards import CardInfo
from gputuner.model.events import Outcome, RunFinished, RunStarted, Warned
from gputuner.model.points import Point

SCHEMA = "gputuner.health.certificate/1"
READINGS = ("vbios", "driver", "power_limit_default_w", "power_limit_enforced_w", "ecc_enabled", "l2_bytes")
"""What of a card's readings the certificate keeps."""
STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:960px;margin:32px auto;padding:0 16px;color:#1b1f24}"
    "table{border-collapse:collapse;width:100%;margin:8px 0 24px}"
    "td,th{border-bottom:1px solid #d0d7de;padding:4px 10px;text-align:left}"
    "td.n,th.n{text-align:right}code{word-break:break-all}.pass{color:#1a7f37}.fail{color:#cf222e}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """What a health test told of its card; ``started`` and ``finished`` None where the run never came to them."""

    run_id: str
    card: CardInfo
    points: Sequence[Point]
    started: RunStarted | None
    finished: RunFinished | None
    warnings: Sequence[Warned] = ()

    @property
    def outcome(self) -> Outcome:
        """How the run ended."""
        return self.finished.outcome if self.finished else Outcome.FAILED

    @property
    def verdict(self) -> Verdict:
        """The verdict on the card."""
        return verdict(self.points, self.finished.error_code if self.finished else "bug")


def certificate(tested: Tested) -> dict[str, Any]:
    """The document of one run, with its fingerprint."""
    card, started = tested.card, tested.started
    body: dict[str, Any] = {
        "schema": SCHEMA,
        "run_id": tested.run_id,
        "origin": card.origin.value,
        "outcome": tested.outcome.value,
        "verdict": tested.verdict,
        "as_sold": as_sold(tested.points),
        "started": datetime.fromtimestamp(started.unix_s, UTC).isoformat(timespec="seconds") if started else None,
        "gputuner": started.version if started else None,
        "spec": dict(started.spec) if started else {},
        "card": {
            "uuid": card.uuid,
            "name": card.name,
            "catalog_id": card.catalog.catalog_id if card.catalog else None,
            "memory_total_bytes": card.memory_total_bytes,
            "sm_count": card.sm_count,
            "readings": document_parts.readings({k: v for k, v in card.readings.items() if k in READINGS}),
        },
        "points": [document_parts.point(point) for point in tested.points],
        "warnings": [{"code": entry.code, "params": dict(entry.params)} for entry in tested.warnings],
    }
    return {**body, "fingerprint": fingerprint(body)}


def fingerprint(body: Mapping[str, Any]) -> str:
    """SHA-256 of the canonical form of a certificate, its own entry left out."""
    rest = {name: value for name, value in body.items() if name != "fingerprint"}
    return hashlib.sha256(
        json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()
    ).hexdigest()


def written(body: Mapping[str, Any]) -> str:
    """The document as a file has it."""
    return json.dumps(body, indent=2, sort_keys=True, allow_nan=False) + "\n"


def page(tested: Tested, body: Mapping[str, Any]) -> str:
    """The certificate as one page of HTML that needs nothing else."""
    points = tested.points
    told = tested.verdict
    lines = [(told == "pass", _("Health: {verdict}.").format(verdict=health.verdict(told)))]
    lines += [
        (bool(body["as_sold"]), _("Identity: {verdict}.").format(verdict=health.identity(p)))
        for p in points
        if p.metric == "identity_verdict"
    ]
    notes: list[str] = []
    if body["origin"] != "measured":
        notes.append(_("These figures are {origin}.").format(origin=sentences.origin(tested.card.origin)))
    card = body["card"]
    facts = [
        (_("Card"), f"{tested.card.title} ({card['uuid']})"),
        (_("Name, by the driver"), str(card["name"])),
        (_("VBIOS"), str(card["readings"].get("vbios", {}).get("value") or "—")),
        (_("Tested"), _time(tested.started)),
        (_("Program"), f"gputuner {body['gputuner'] or ''}"),
        (_("Fingerprint"), str(body["fingerprint"])),
    ]
    heading = escape(_("Health certificate"))
    parts = [f"<h1>{heading}</h1>"]
    parts += [f'<p class="{"pass" if good else "fail"}"><strong>{escape(line)}</strong></p>' for good, line in lines]
    parts += [f"<p><strong>{escape(note)}</strong></p>" for note in notes]
    parts.append(_html(Table(headers=("", ""), rows=tuple(facts))))
    for title, table in (
        (_("Video memory"), health_tables.memory_table(points)),
        (_("Products, bit for bit"), health_tables.burn_table(points)),
        (_("Against the sheet"), health_tables.identity_table(points)),
        (_("Stages"), health_tables.stages_table(points)),
    ):
        if table.rows:
            parts.append(f"<h2>{escape(title)}</h2>{_html(table)}")
    parts += [f"<p>{escape(line)}</p>" for line in health_tables.memory_lines(points)]
    text = _("The fingerprint is the SHA-256 of the JSON beside this page; it shows that nothing was changed since.")
    parts.append(f"<p>{escape(text)}</p>")
    head = f"<meta charset='utf-8'><title>{heading}</title><style>{STYLE}</style>"
    return f"<!doctype html><html><head>{head}</head><body>{''.join(parts)}</body></html>\n"


def _time(started: RunStarted | None) -> str:
    """The beginning to the minute, in UTC, for who reads it may be elsewhere."""
    return f"{datetime.fromtimestamp(started.unix_s, UTC):%Y-%m-%d %H:%M} UTC" if started else "—"


def _html(table: Table) -> str:
    def cells(kind: str, texts: Sequence[str]) -> str:
        sides = [" align='right' class='n'" if number in table.right else "" for number in range(len(texts))]
        return "".join(f"<{kind}{side}>{escape(text)}</{kind}>" for side, text in zip(sides, texts, strict=True))

    head = cells("th", table.headers)
    rows = "".join(f"<tr>{cells('td', row)}</tr>" for row in table.rows)
    return f"<table><tr>{head}</tr>{rows}</table>" if any(table.headers) else f"<table>{rows}</table>"
