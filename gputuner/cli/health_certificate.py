"""Where the command line puts the certificates of health tests."""

from collections.abc import Sequence
from pathlib import Path

from gputuner.cli.experiment import Finished
from gputuner.language.health_certificate import Tested, certificate, page, written
from gputuner.model.errors import StoreError


def check_folder(folder: Path) -> None:
    """Refuse a folder that cannot be written to, before anything is measured.

    Raises:
        StoreError: it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as err:
        raise StoreError("certificate_unwritable", str(err), path=str(folder), reason=err.strerror or "") from err


def write_all(folder: Path, ended: Sequence[Finished]) -> tuple[Path, ...]:
    """A page and a document for each run that told something; their paths.

    Raises:
        StoreError: they cannot be written.
    """
    files: list[Path] = []
    for each in ended:
        if not each.found.points:
            continue
        tested = tested_of(each)
        body = certificate(tested)
        stem = folder / f"health-{each.found.run_id}"
        for path, text in (
            (stem.with_suffix(".json"), written(body)),
            (stem.with_suffix(".html"), page(tested, body)),
        ):
            try:
                path.write_text(text, encoding="utf-8")
            except OSError as err:
                raise StoreError("certificate_unwritable", str(err), path=str(path), reason=err.strerror or "") from err
            files.append(path)
    return tuple(files)


def tested_of(each: Finished) -> Tested:
    """A run as its certificate takes it."""
    found = each.found
    return Tested(
        run_id=found.run_id,
        card=found.started.cards[0] if found.started else each.cards[0],
        points=found.points,
        started=found.started,
        finished=found.finished,
        warnings=found.warnings,
    )
