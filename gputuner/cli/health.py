"""``health``: is the card sound, and is it what was sold?"""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from gputuner.cli.context import Injected
from gputuner.cli.experiment import Finished, in_turn, run
from gputuner.cli.options import Options
from gputuner.cli.planned import dry_run
from gputuner.cli.streams import last_words
from gputuner.language.words import N_
from gputuner.model.cards import CardInfo
from gputuner.model.errors import ExitCode, UsageError
from gputuner.model.events import Outcome

if TYPE_CHECKING:
    from gputuner.analysis.health import Verdict

ABOUT = N_("Is the card sound, and the one that was sold? VRAM cold and hot, products bit for bit, identity.")
BURN_IN_HELP = N_("The two-hour protocol for a card that was just bought: longer, with load and rest by turns.")
SOLD_AS = N_("What the seller called it: a card of the catalogue, such as rtx-4090-48g.")
CERTIFICATE = N_("Write a certificate into this folder: a page to read and a JSON document, with a fingerprint.")


def health(
    *,
    burn_in: Annotated[bool, Parameter(name="--burn-in", negative="", help=BURN_IN_HELP)] = False,
    sold_as: Annotated[str, Parameter(name="--sold-as", metavar="CATALOG_ID", help=SOLD_AS)] = "",
    certificate: Annotated[Path | None, Parameter(name="--certificate", metavar="FOLDER", help=CERTIFICATE)] = None,
    options: Options = Options(),  # noqa: B008
    context: Injected,
) -> int:
    """Test memory and arithmetic of a card and hold it against its sheet; ends with 9 where anything is wrong.

    Args:
        burn_in: the stages of the two-hour protocol.
        sold_as: id of the card that the seller named.
        certificate: folder for the certificate.
        options: the common options.
        context: streams and the way to the program.

    Raises:
        UsageError: there is no such card in the catalogue.
        StoreError: the certificate cannot be written.
    """
    from gputuner.cli import health_certificate, health_results
    from gputuner.experiments.health import Health
    from gputuner.experiments.health_stages import BURN_IN_MINUTES, SIMULATED_BURN_IN_MINUTES, USUAL_MINUTES

    options.check(experiment=True)
    if sold_as:
        _known(sold_as)
    usual = (SIMULATED_BURN_IN_MINUTES if options.simulate else BURN_IN_MINUTES) if burn_in else USUAL_MINUTES
    spec = Health(
        minutes=usual if options.minutes is None else options.minutes,
        burn_in=burn_in,
        sold_as=sold_as,
    )
    output = context.output(options)
    with context.setup(options, experiment=True) as setup:
        cards = setup.select(options.gpu, for_experiment=True)
        if burn_in and any(card.is_cpu for card in cards):
            raise UsageError("burn_in_card", "the two-hour protocol is for cards")
        if options.dry_run:
            return dry_run(output, setup, spec, cards, options)
        if certificate is not None:
            health_certificate.check_folder(certificate)

        def one(card: CardInfo) -> Finished:
            return checked(run(output, setup, spec, (card,), options))

        ended, code = in_turn(output, cards, one)
        files = health_certificate.write_all(certificate, ended) if certificate is not None else ()
        with last_words(output.out):
            health_results.tell(output, setup.origin, spec.name, ended, options, files)
        return code


def checked(ended: Finished) -> Finished:
    """A run with 9 as its exit code where the card failed, was not tested, or is another than was sold."""
    from gputuner.analysis.health import as_sold

    told = told_verdict(ended)
    wrong = told == "fail" or not as_sold(ended.found.points)
    untested = told == "not_tested" and ended.outcome is Outcome.COMPLETED
    return replace(ended, check_code=int(ExitCode.CHECK_FAILED)) if wrong or untested else ended


def told_verdict(ended: Finished) -> "Verdict":
    """The verdict on the card of a run."""
    from gputuner.analysis.health import verdict

    last = ended.found.finished
    return verdict(ended.found.points, last.error_code if last else "bug")


def _known(sold_as: str) -> None:
    """Refuse what the catalogue does not know.

    Raises:
        UsageError: no such id.
    """
    from gputuner.catalog import load

    if sold_as not in load().ids:
        raise UsageError("sold_as_unknown", "no such card", card=sold_as)
