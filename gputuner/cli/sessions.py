"""``sessions``: the stored sessions: list, show, export, delete."""

import os
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal, cast, get_args

from cyclopts import Parameter

from gputuner.advice.sources import naming_sources
from gputuner.analysis.telemetry_quality import QualityNote
from gputuner.analysis.told_command import told_line
from gputuner.cli import bench_results, document, results, watch_page
from gputuner.cli.alerts_view import alert_document, line
from gputuner.cli.context import Injected
from gputuner.cli.options import Options, no_session_file
from gputuner.cli.output import Output
from gputuner.cli.ports import Setup, Stored, Summary
from gputuner.language import numbers, sentences
from gputuner.language.words import N_, _, listed
from gputuner.model.advice import Advice, Question
from gputuner.model.errors import StoreError, UsageError
from gputuner.model.events import Outcome
from gputuner.model.points import Point

ABOUT = N_("Stored sessions: list, show, compare, export, delete.")
BENCH = "bench"
"""Sessions of benchmarks have a table of their own."""
WATCH = "watch"
OWN_TABLES = ("cooling", "health", "power")
_LIST = N_("List the stored sessions, the newest first.")
_SHOW = N_("Show what a session found.")
_EXPORT = N_("Write a session as CSV, JSON or Parquet.")
_DELETE = N_("Delete sessions for good.")

Which = Annotated[
    str | None, Parameter(help=N_("Session by id, unique beginning of it, or file; by default the newest."))
]
Form = Literal["csv", "json", "parquet"]


def list_sessions(
    *,
    options: Options = Options(),  # noqa: B008
    context: Injected,
) -> int:
    """List the stored sessions.

    Args:
        options: the common options.
        context: streams and the way to the program.
    """
    output = context.output(options)
    with context.setup(options) as setup:
        entries = setup.sessions.entries()
        stored = [entry.summary for entry in entries if entry.summary is not None]
        for entry in entries:
            if entry.error is not None:
                output.warn(sentences.error(entry.error))
        if output.json:
            body = document.head("sessions.list", None)
            body["sessions"] = [_summary(entry) for entry in stored]
            document.write(body, output.out)
        elif not stored:
            output.line(_("No sessions yet. Make one: gputuner --cli tune"))
        else:
            headers = (_("session"), _("began"), _("took"), _("cards"), _("origin"), _("figures"), _("ended"))
            rows = [_row(entry) for entry in stored]
            output.table(headers, rows, right=(2, 5), wraps=(3, 6), least=(1, 2))
    return 0


def show(
    session: Which = None,
    /,
    *,
    markdown: Annotated[
        bool, Parameter(name="--markdown", negative="", help=N_("Write the figures of benchmarks as Markdown."))
    ] = False,
    options: Options = Options(),  # noqa: B008
    context: Injected,
) -> int:
    """Show what a session found.

    Args:
        session: which.
        markdown: figures of benchmarks as Markdown.
        options: the common options.
        context: streams and the way to the program.
    """
    output = context.output(options)
    with context.setup(options) as setup:
        path = find(setup, session)
        stored = setup.sessions.open(path)
        try:
            summary = stored.summary()
            disputed = setup.sessions.disagreements(path)
            if output.json:
                document.write(session_document("sessions.show", stored, disputed), output.out)
                return 0
            if markdown:
                bench_results.show_markdown(output, summary.cards, stored.points())
                return 0
            words = _command(stored)
            output.pairs([*_about(summary), *([(_("command"), words)] if words else [])])
            if summary.experiment == BENCH:
                bench_results.show_points(output, stored.points())
            elif summary.experiment == WATCH and (ended := stored.command_ended()) is not None:
                watch_page.show_ended(output, ended)
                watch_page.show_judged(output, ended, *stored.advice())
            else:
                _show_findings(output, stored, disputed)
            for told in stored.alerts():
                since = numbers.clock((told.t_ns - stored.started.t_ns) / 1e9)
                output.line(f"{since}  {line(told, summary.cards)}")
            for warned in (*stored.warnings(), *disputed):
                output.line(_("Note: {text}").format(text=sentences.warning(warned.code, warned.params)))
            results.show_end(output, summary.outcome or Outcome.COMPLETED, summary.origin, summary.path)
        finally:
            stored.close()
    return 0


def _show_findings(output: Output, stored: Stored, disputed: Sequence[QualityNote]) -> None:
    """Figures, limits, advice and open questions."""
    from gputuner.advice.tried import gain_point
    from gputuner.cli import trying

    points = stored.points()
    advice, questions = stored.advice()
    summary = stored.summary()
    if summary.experiment in OWN_TABLES:
        _show_own(output, summary.experiment, points)
    else:
        results.show_figures(output, points)
        for card in summary.cards:
            results.show_limit(output, points, card)
    of_a_try = gain_point(points)
    if of_a_try is not None:
        trying.show_tried(output, of_a_try)
    elif points:
        results.show_advice(output, naming_sources(advice, disputed), model=results.model_of(points))
    results.show_questions(output, questions)


def _show_own(output: Output, experiment: str, points: Sequence[Point]) -> None:
    """The tables that the command of this experiment shows."""
    from gputuner.analysis.health import verdict
    from gputuner.cli import cooling_results, health_results, power_results

    match experiment:
        case "cooling":
            cooling_results.show_found(output, points)
        case "health":
            health_results.show_found(output, points, verdict(points))
        case _:
            power_results.show_found(output, points)


def export(
    session: Which = None,
    /,
    *,
    form: Annotated[
        Form | None,
        Parameter(
            name="--format", metavar="FORM", help=N_("csv, json or parquet; by default as --out ends, else csv.")
        ),
    ] = None,
    out: Annotated[
        Path | None,
        Parameter(name="--out", metavar="FILE", help=N_("Where to write; by default a name in the current folder.")),
    ] = None,
    options: Options = Options(),  # noqa: B008
    context: Injected,
) -> int:
    """Write a session in another form.

    Args:
        session: which.
        form: ``csv``, ``json`` or ``parquet``; None: as ``out`` ends, else csv.
        out: target; None: ``<session>.<form>`` in the current folder.
        options: the common options.
        context: streams and the way to the program.
    """
    output = context.output(options)
    chosen = _form(form, out)
    with context.setup(options) as setup:
        path = find(setup, session)
        target = Path(f"{path.stem}.{chosen}") if out is None else out
        written = setup.sessions.export(path, chosen, target)
        if output.json:
            body = document.head("sessions.export", None, session_path=path)
            body["files"] = [str(each) for each in written]
            document.write(body, output.out)
        else:
            for each in written:
                output.line(_("Written: {path}").format(path=each))
    return 0


def delete(
    sessions: Annotated[str, Parameter(help=N_("Session by id, unique beginning of it, or file."))],
    /,
    *more: Annotated[str, Parameter(help=N_("Further sessions."))],
    options: Options = Options(),  # noqa: B008
    context: Injected,
) -> int:
    """Delete sessions. All names are looked up before the first file goes.

    Args:
        sessions: which.
        more: further ones.
        options: the common options.
        context: streams and the way to the program.
    """
    output = context.output(options)
    with context.setup(options) as setup:
        paths = dict.fromkeys(find(setup, name) for name in (sessions, *more))
        for path in paths:
            setup.sessions.delete(path)
            output.line(_("Deleted: {path}").format(path=path))
        if output.json:
            body = document.head("sessions.delete", None)
            body["sessions"] = [{"session_id": path.stem, "session_path": str(path)} for path in paths]
            document.write(body, output.out)
    return 0


COMMANDS: tuple[tuple[str, Callable[..., int], str], ...] = (
    ("list", list_sessions, _LIST),
    ("show", show, _SHOW),
    ("export", export, _EXPORT),
    ("delete", delete, _DELETE),
)
"""Name, function, one line of help."""


def session_document(
    command: str,
    stored: Stored,
    disputed: Sequence[QualityNote],
    judged: tuple[Sequence[Advice], Sequence[Question]] | None = None,
) -> document.Json:
    """A stored session as the document of a command; ``disputed``: what other sources tell otherwise."""
    summary = stored.summary()
    advice, questions = judged or stored.advice()
    body = document.head(
        command,
        summary.origin,
        outcome=summary.outcome or Outcome.FAILED,
        session_id=summary.run_id,
        session_path=summary.path,
    )
    body["source"] = summary.source
    body["devices"] = [document.card(card) for card in summary.cards]
    body |= document.found(
        stored.points(), naming_sources(advice, disputed), questions, (*stored.warnings(), *disputed)
    )
    if alerts := [alert_document(event, summary.cards) for event in stored.alerts()]:
        body["alerts"] = alerts
    if summary.experiment == WATCH:
        body |= watch_page.ended_document(stored.command_ended())
    return body


def find(setup: Setup, session: str | None) -> Path:
    """The file of the session named, or of the newest.

    Raises:
        StoreError: there is none such.
        ImportLogError: there is something of that name that is no file.
    """
    try:
        return setup.sessions.find(session)
    except StoreError as error:
        if error.code == "session_unknown" and session and os.path.exists(session):
            raise no_session_file(session) from error
        raise


def newest(setup: Setup, session: str | None) -> Stored:
    """The session named, or the newest.

    Raises:
        StoreError: there is none such.
    """
    return setup.sessions.open(find(setup, session))


def _form(asked: Form | None, out: Path | None) -> Form:
    """The form that ``--format`` or the ending of ``--out`` names.

    Raises:
        UsageError: they name different ones.
    """
    ending = "" if out is None else out.suffix.lower().removeprefix(".")
    named = next((form for form in get_args(Form) if form == ending), None)
    if asked is not None and named is not None and asked != named:
        raise UsageError("export_form_differs", f"{out} is not named as {asked}", form=asked, ending=f".{ending}")
    return asked or named or "csv"


def _summary(entry: Summary) -> document.Json:
    return {
        "session_id": entry.run_id,
        "session_path": str(entry.path),
        "experiment": entry.experiment,
        "started_unix_s": entry.started_unix_s,
        "duration_s": entry.duration_s,
        "outcome": entry.outcome.value if entry.outcome else None,
        "running": entry.running,
        "origin": entry.origin.value,
        "simulated": entry.origin.value == "simulated",
        "source": entry.source,
        "devices": [{"uuid": card.uuid, "title": card.title} for card in entry.cards],
        "points": entry.point_count,
        "size_bytes": entry.size_bytes,
    }


def _row(entry: Summary) -> tuple[str, ...]:
    return (
        entry.run_id,
        _began(entry),
        numbers.value(entry.duration_s, "s"),
        listed(card.title for card in entry.cards),
        sentences.origin(entry.origin),
        str(entry.point_count),
        _ended(entry),
    )


def _about(entry: Summary) -> Sequence[tuple[str, str]]:
    return (
        (_("session"), entry.run_id),
        (_("began"), _began(entry)),
        (_("took"), numbers.value(entry.duration_s, "s")),
        (_("cards"), listed(card.title for card in entry.cards)),
        (_("origin"), sentences.origin(entry.origin)),
        (_("telemetry from"), sentences.source(entry.source)),
        (_("ended"), _ended(entry)),
    )


def _command(stored: Stored) -> str:
    """The command of a session of ``watch``, as it may be told."""
    words = stored.started.spec.get("command")
    if stored.summary().experiment != WATCH or not isinstance(words, (list, tuple)):
        return ""
    return told_line([str(word) for word in cast("Sequence[object]", words)])


def _began(entry: Summary) -> str:
    return datetime.fromtimestamp(entry.started_unix_s).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _ended(entry: Summary) -> str:
    if entry.outcome is not None:
        return sentences.outcome(entry.outcome)
    return _("running now") if entry.running else _("no end stored")
