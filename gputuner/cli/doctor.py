"""``doctor``: what on this machine stands in the way, and the remedy."""

from gputuner.cli import document
from gputuner.cli.context import Injected
from gputuner.cli.options import Options
from gputuner.language import sentences
from gputuner.language.words import N_, _
from gputuner.model.errors import ExitCode
from gputuner.model.findings import Finding, Level

ABOUT = N_("What on this machine stands in the way, and the remedy.")
_SIGNS = {Level.FINE: "✓", Level.NOTE: "!", Level.BLOCKING: "✗"}


def doctor(
    *,
    options: Options = Options(),  # noqa: B008
    context: Injected,
) -> int:
    """Look at the machine; ends with 9 if something stands in the way.

    Args:
        options: the common options.
        context: streams and the way to the program.
    """
    output = context.output(options)
    with context.setup(options) as setup:
        findings = setup.doctor()
        blocked = [entry for entry in findings if entry.level is Level.BLOCKING]
        if output.json:
            body = document.head("doctor", None)
            body["findings"] = [_finding(entry) for entry in findings]
            document.write(body, output.out)
        else:
            for entry in findings:
                output.line(f"{_SIGNS[entry.level]} {sentences.finding(entry)}")
                if remedy := sentences.remedy(entry):
                    output.line(f"    → {remedy}")
            output.line()
            output.line(_("Something stands in the way; see ✗ above.") if blocked else _("Nothing stands in the way."))
    return int(ExitCode.CHECK_FAILED if blocked else ExitCode.DONE)


def _finding(entry: Finding) -> document.Json:
    return {
        "code": entry.code,
        "level": entry.level.value,
        "params": dict(entry.params),
        "message": sentences.finding(entry),
        "remedy": sentences.remedy(entry) or None,
    }
