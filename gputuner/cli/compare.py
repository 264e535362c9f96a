"""``sessions compare``: two stored sessions figure by figure, with what differs between the machines."""

from typing import Annotated

from cyclopts import Parameter

from gputuner.cli import document
from gputuner.cli.context import Injected
from gputuner.cli.options import Options
from gputuner.cli.sessions import find
from gputuner.language.words import N_

ABOUT = N_("Compare two sessions: which figures became better or worse, and what differs between the machines.")


def compare_sessions(
    before: Annotated[str, Parameter(help=N_("The earlier session, by id, unique beginning of it, or file."))],
    after: Annotated[str, Parameter(help=N_("The newer one."))],
    /,
    *,
    markdown: Annotated[
        bool, Parameter(name="--markdown", negative="", help=N_("Write the comparison as Markdown."))
    ] = False,
    options: Options = Options(),  # noqa: B008
    context: Injected,
) -> int:
    """Compare two sessions.

    Args:
        before: the earlier one.
        after: the newer one.
        markdown: as Markdown.
        options: the common options.
        context: streams and the way to the program.
    """
    from gputuner.analysis.likeness import unlike
    from gputuner.analysis.regression import compare, stored_spread
    from gputuner.cli import comparison
    from gputuner.language.comparisons import comparison_markdown
    from gputuner.sessions.earlier import telling_spread

    output = context.output(options)
    with context.setup(options) as setup:
        paths = find(setup, before), find(setup, after)
        first, second = setup.sessions.open(paths[0]), setup.sessions.open(paths[1])
        try:
            points, started, other = first.points(), first.started, second.started.run_id
            known = setup.sessions
            earlier = telling_spread(known, started.cards[0], started, points, but=other) if started.cards else []
            found = compare(points, second.points(), stored_spread(earlier))
            differs = unlike(first.started, second.started, (first.torch(), second.torch()))
        finally:
            first.close()
            second.close()
    names = paths[0].stem, paths[1].stem
    if output.json:
        body = document.head("sessions.compare", None)
        body["sessions"] = [{"session_id": path.stem, "session_path": str(path)} for path in paths]
        document.write(body | comparison.comparison_document(found, differs), output.out)
    elif markdown:
        output.line(comparison_markdown(found, differs, *names))
    else:
        comparison.show_comparison(output, found, differs, *names)
    return 0
