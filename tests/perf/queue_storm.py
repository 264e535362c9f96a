"""500 short jobs on 4 cards made of files, with kill -9 of the runner at random moments; prints Markdown.

``python -m tests.perf.queue_storm [JOBS] [CARDS] [SEED]``
"""

import sys
import tempfile
from pathlib import Path

from tests.jobs.storm import storm


def main(jobs=500, cards=4, seed=1):
    with tempfile.TemporaryDirectory() as folder:
        found = storm(
            Path(folder, "data"), Path(folder, "cards"), jobs=jobs, cards=cards, seed=seed, starts_between=(0, 12)
        )
    states = ", ".join(f"{number} {state.value}" for state, number in sorted(found.states.items()))
    print("| jobs | cards | kills of the runner | starts | ended | memory given twice | faults | took |")
    print("|---|---|---|---|---|---|---|---|")
    print(
        f"| {found.jobs} | {cards} | {found.kills} | {found.starts} | {states} | {found.overflows} | "
        f"{len(found.faults)} | {found.seconds:.0f} s |"
    )
    print(f"\nMost of a card that was ever held: {found.most_held_share:.0%}")
    for fault in found.faults:
        print(f"- {fault}")
    return 1 if found.faults or found.overflows else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
