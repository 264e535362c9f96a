"""The words of the health test: names, steps, warnings, errors, advice and questions."""

from collections.abc import Sequence

from gputuner.language.advice_form import AdviceWords
from gputuner.language.words import N_, NN_, _
from gputuner.model.points import Point

METRICS: dict[str, str] = {
    "vram_errors": N_("wrong words in the VRAM"),
    "vram_coverage": N_("share of the VRAM that was tested"),
    "vram_test_rate": N_("rate of the VRAM test, written and read"),
    "vram_block_rate": N_("read rate of a block of the VRAM"),
    "vram_alias_distance": N_("distance at which the memory repeats itself"),
    "burn_errors": N_("wrong products"),
    "counter_change": N_("change of an error counter"),
    "health_stage": N_("stage of the health test"),
    "identity_check": N_("agrees with the sheet"),
    "identity_verdict": N_("is the card that was sold"),
}
STEPS: dict[str, str] = {
    "health_counters": N_("error counters"),
    "health_copy": N_("memory copy, for the width of the bus"),
    "health_memory_cold": N_("VRAM test, cold"),
    "health_memory_hot": N_("VRAM test, hot"),
    "health_burn": N_("the same product again and again"),
    "health_rest": N_("rest between two loads"),
}
WARNINGS: dict[str, str] = {
    "health_main_memory": N_(
        "This is no graphics card: a part of the main memory is tested, to try the test; it says nothing of a card."
    ),
    "health_stage_failed": N_("A stage of the health test ended early ({stage}). {message}"),
    "health_slow_area": N_(
        "{bytes:bytes} from {offset:bytes} on are read at {fraction:fraction} of the rate of the rest of the VRAM."
    ),
    "health_no_sheet": N_("The catalogue has no sheet of {card}, so nothing is said of what it was sold as."),
}
ERRORS: dict[str, str] = {
    "sold_as_unknown": N_("There is no card {card} in the catalogue; --sold-as takes one of its ids."),
    "sold_as_unlisted": N_("There is no card {card} in the catalogue; choose one of the list, or leave it empty."),
    "certificate_unwritable": N_("The certificate cannot be written to {path}: {reason}."),
    "burn_in_card": N_("The two-hour protocol is for graphics cards."),
}
ADVICE: dict[str, AdviceWords] = {
    "health.aliasing": AdviceWords(
        title=N_("The memory is not all there"),
        action=N_("Do not use this card as it is, and give it back if you can: two addresses share one cell."),
        why=(
            NN_(
                "What was written at one place stood at another when it was read ({errors} wrong word seen).",
                "What was written at one place stood at another when it was read ({errors} wrong words seen).",
                "errors",
            ),
            N_("It repeats itself {distance:bytes} further on."),
            N_("That is what a card of {donor:bytes} has: the rest of the {total:bytes} is pretended, or badly wired."),
        ),
    ),
    "health.vram": AdviceWords(
        title=N_("The memory makes errors"),
        action=N_(
            "Do not train on this card: losses go wrong silently. Take any memory overclock back, test again, then "
            "have it repaired or returned."
        ),
        why=(
            NN_(
                "{errors} wrong word was seen in {failed} of {passes} passes.",
                "{errors} wrong words were seen in {failed} of {passes} passes.",
                "errors",
            ),
            NN_(
                "{repeated} place failed again and again, so the fault is at fixed cells.",
                "{repeated} places failed again and again, so the fault is at fixed cells.",
                "repeated",
            ),
            N_("Bits that were wrongly 1: {bits_up}; wrongly 0: {bits_down}."),
        ),
    ),
    "health.vram_hot": AdviceWords(
        title=N_("The memory fails when it is hot"),
        action=N_(
            "Cool the memory: pads on both sides, more air; lower the power limit until then, and test again. Do not "
            "trust results meanwhile."
        ),
        why=(
            NN_(
                "{errors} wrong word was seen, under load; the same cell was sound when cold.",
                "{errors} wrong words were seen, all of them under load; the same cells were sound when cold.",
                "errors",
            ),
        ),
    ),
    "health.vram_read": AdviceWords(
        title=N_("Data is read wrongly now and then"),
        action=N_(
            "Take any overclock back, check the power supply and its cables, and test again; if it stays, the memory "
            "bus or its soldering is at fault."
        ),
        why=(
            NN_(
                "{errors} word was wrong once and right when read again, so the cell is sound and the way is not.",
                "{errors} words were wrong once and right when read again, so the cells are sound and the way is not.",
                "errors",
            ),
        ),
    ),
    "health.compute": AdviceWords(
        title=N_("The card computes wrongly"),
        action=N_(
            "Do not train on this card. Take any overclock or undervolt back and test again; if it stays, return it."
        ),
        why=(
            NN_(
                "{errors} of {products} product differed in some bit from the first one, which was right.",
                "{errors} of {products} products differed in some bit from the first one, which was right.",
                "products",
            ),
        ),
    ),
    "health.counters": AdviceWords(
        title=N_("The card counted memory errors of its own"),
        action=N_("Have the card replaced while it has a warranty, and back results up until then."),
        why=(
            N_("ECC errors that could not be corrected: {uncorrected}; rows of memory taken out of use: {remapped}."),
        ),
    ),
    "health.other_card": AdviceWords(
        title=N_("This may not be the card that was sold"),
        action=N_("Ask the seller, with this report; do not flash anything."),
        why=(
            NN_(
                "{differ} of {checks} checks differs from the sheet of {sheet}.",
                "{differ} of {checks} checks differ from the sheet of {sheet}.",
                "differ",
            ),
            N_("Chip and memory are those of: {candidates}."),
            N_("The driver's answers alone can err; a new driver and another computer are worth a try first."),
        ),
    ),
    "health.slower_memory": AdviceWords(
        title=N_("The memory is slower than that of the card that was sold"),
        action=N_(
            "Measure again when nothing else runs and no memory clock is set (bench memory-read); if it stays, ask the "
            "seller."
        ),
        why=(
            N_("A copy reaches {bandwidth:B/s}; the sheet of {sheet} says {expected:B/s}."),
            N_("At its data rate that is a bus of about {bus_bits} bits."),
        ),
    ),
    "health.memory_heat": AdviceWords(
        title=N_("Hot memory probably holds the card back, though the core is cool"),
        action=N_(
            "Check the thermal pads of the memory, those on the back and the backplate too, and the air over the back; "
            "until then a lower power limit helps. Then test again."
        ),
        why=(
            N_(
                "The software thermal limit held the card back for {seconds:s}, in {passes} passes: {share:fraction} "
                "of their time ({share_low:fraction} to {share_high:fraction})."
            ),
            N_("The core was at {core_c:degC} at most."),
            N_("The target of the core is {target_c:degC}."),
            N_("The memory was at {memory_c:degC}."),
            N_(
                "Passes that it held back were {lost:fraction} slower ({lost_low:fraction} to {lost_high:fraction}) "
                "than the same passes without a limit."
            ),
        ),
    ),
    "health.sound": AdviceWords(
        title=N_("No fault was found"),
        action=N_("Nothing to do; repeat the test after a change to cooler, pads or clocks."),
        why=(
            NN_(
                "{coverage:fraction} of the VRAM passed {passes} pass without a wrong word.",
                "{coverage:fraction} of the VRAM passed {passes} passes, cold and hot, without a wrong word.",
                "passes",
            ),
            NN_(
                "{products} product was right in every bit.",
                "{products} products were the same in every bit.",
                "products",
            ),
        ),
    ),
}
QUESTIONS: dict[str, str] = {
    "health_nothing": N_("Whether the card is sound has not been tested."),
    "health_longer": N_("Faults that show seldom need longer: the two-hour protocol looks for them."),
    "health_coverage": N_("Only {coverage:fraction} of the VRAM was free for the test; close what else uses the card."),
    "health_slow": N_(
        "Is {bytes:bytes} of the VRAM, from {offset:bytes} on, always read slower than the rest? A second test tells."
    ),
    "health_memory_heat": N_(
        "For {seconds:s} heat held the card back though the core was cool ({core_c:degC}): is it the memory, and how "
        "much does it take? A longer test tells."
    ),
    "health_heat": N_("For {seconds:s} of the test heat held the card back: is it the cooler?"),
    "health_again": N_("A part of the test did not run to its end; repeat it."),
}
VERDICTS: dict[str, str] = {
    "pass": N_("passed, no error was found"),
    "fail": N_("failed"),
    "not_tested": N_("not tested, the card did no work"),
    "incomplete": N_("incomplete, what ran found no error"),
}
IDENTITIES: dict[str, str] = {
    "as_sold": N_("agrees with the sheet of {sheet}"),
    "other_card": N_("differs from the sheet of {sheet}; it may be another card"),
    "other_memory": N_("has another memory size than the sheet of {sheet} says"),
    "less_memory": N_("has less memory than the sheet of {sheet} says"),
    "slower_memory": N_("has slower memory than the sheet of {sheet} says"),
    "unclear": N_("agrees with the sheet of {sheet} but for details"),
}
SURENESS: dict[str, str] = {
    "measured": N_("measured"),
    "likely": N_("likely, by the driver's answers"),
    "unsure": N_("unsure"),
}
CHECKS: dict[str, str] = {
    "name": N_("name"),
    "capability": N_("compute capability"),
    "sm_count": N_("number of SMs"),
    "memory": N_("size of the memory"),
    "memory_real": N_("memory without repetition"),
    "bus_width": N_("bandwidth of the memory bus"),
    "l2": N_("L2 cache"),
    "l2_step": N_("L2 cache by latency"),
    "power": N_("default power limit"),
    "pcie_generation": N_("PCIe generation"),
    "pcie_width": N_("PCIe lanes"),
}
NOT_CHECKED: dict[str, str] = {
    "not_reported": N_("the driver does not report it"),
    "not_measured": N_("it could not be measured"),
    "not_tested": N_("the memory was not tested"),
    "short_time": N_("the test was too short for it"),
    "no_kernels": N_("gputuner's own kernels do not run here"),
    "no_cache_seen": N_("the latencies show no plateau of an L2"),
    "no_step_seen": N_("the latencies show no step from the L2 to the DRAM"),
    "two_steps": N_("the latencies show more than one step behind the L2"),
}
"""Why a check could not be made."""
PASSES: dict[str, str] = {
    "address": N_("address in address"),
    "inversions": N_("moving inversions"),
    "checkerboard": N_("checkerboard"),
    "random": N_("random data"),
    "retention": N_("retention"),
}
HEATS: dict[str, str] = {"cold": N_("cold"), "hot": N_("hot")}
SOURCES: dict[str, str] = {"driver": N_("driver"), "measured": N_("measured")}
KINDS: dict[str, str] = {
    "memory_cold": N_("VRAM, cold"),
    "memory_hot": N_("VRAM, hot"),
    "burn": N_("products"),
    "cycles": N_("load and rest by turns"),
}
OUTCOMES: dict[str, str] = {
    "done": N_("done"),
    "failed": N_("ended early"),
    "out_of_memory": N_("did not fit"),
    "lost": N_("card or worker lost"),
    "wrong_result": N_("wrong result"),
}


def verdict(name: str) -> str:
    """The verdict on a card's health."""
    return _(VERDICTS[name])


def identity(point: Point) -> str:
    """The verdict on what the card is, with how sure it is."""
    told = _(IDENTITIES[str(point.params["verdict"])]).format(
        sheet=point.extra.get("sheet_name", point.params["sheet"])
    )
    return f"{told} ({_(SURENESS[str(point.params['sureness'])])})"


def pass_name(name: str, heat: str) -> str:
    """A kind of pass of the VRAM test and the heat of the card meanwhile."""
    return _("{name} ({heat})").format(name=_(PASSES.get(name, name)), heat=_(HEATS.get(heat, heat)))


def check_names(names: Sequence[str]) -> str:
    """Checks in words, with commas."""
    return ", ".join(_(CHECKS[name]) for name in names)
