"""The words of the numerical check: verdicts, traps, advice and questions."""

from gputuner.language.advice_form import AdviceWords
from gputuner.language.words import N_

_ENDS = N_(
    "At the end (the last third of {steps} steps of {batch} samples) its loss is {end_loss} on average, that of FP32 "
    "{fp32_end_loss}; one more FP32 run would lie within {tolerance} of that."
)
_SAME = N_(
    "FP32 runs of the same start, which differ by roundings only: beside them it is {paired_early} higher on the way "
    "down (the first {early_steps} steps) and {paired_end} at the end; roundings explain up to "
    "{paired_early_tolerance} and {paired_end_tolerance}."
)
_SEEN = N_(
    "Harm above {seen_share:fraction} of FP32's fall ({fall}) would have been seen nine times in ten; less, or what "
    "shows later than in {steps} steps, would not."
)
_BOUNDS = N_(
    "These bounds rest on few runs ({seeds} FP32 runs with other seeds, {twins} of the same start): they are good for "
    "the size of what may hide, not for its digits."
)
_SKIPS = N_("The gradient scaler skipped {skipped_steps} steps, at most {skips_in_a_row} in a row.")
_ALIKE = N_("The same holds for {alike}.")
_NEAR = N_("The largest activation, {near_value} ({near_place}), is not far from 65504, the most that FP16 holds.")
_FIRST = N_("The first step that failed is {first_bad_step}.")
_WHERE = N_("Found: {names} ({where}).")

ADVICE: dict[str, AdviceWords] = {
    "numerics.kept": AdviceWords(
        title=N_("{precision} trains as FP32 does"),
        action=N_("Train {workload} in {precision}: over {steps} steps its loss is that of FP32."),
        why=(_SEEN, _SAME, _ENDS, _BOUNDS, _ALIKE, _SKIPS, _NEAR),
    ),
    "numerics.unseen": AdviceWords(
        title=N_("{precision}: no difference to FP32 seen above {seen_share:fraction} of the fall"),
        action=N_("{workload} may train in {precision}; watch its loss, for a smaller harm could not be seen here."),
        why=(_SEEN, _SAME, _ENDS, _BOUNDS, _ALIKE, _SKIPS, _NEAR),
    ),
    "numerics.apart": AdviceWords(
        title=N_("{precision} trains worse than FP32"),
        action=N_("Do not train {workload} in {precision} as it is; {instead} is the way."),
        why=(_SAME, _ENDS, _BOUNDS, _SKIPS),
    ),
    "numerics.collapse": AdviceWords(
        title=N_("The gradient scale collapses in {precision}"),
        action=N_("Do not train {workload} in {precision} as it is; {instead} is the way."),
        why=(
            N_("The scale fell to {scale_last}; {skips_in_a_row} steps in a row were skipped, which train nothing."),
            _FIRST,
            N_(
                "More than 20 skips in a row, or a scale below 1, is no search for a scale: something overflows always."
            ),
        ),
    ),
    "numerics.diverged": AdviceWords(
        title=N_("{precision} diverges"),
        action=N_("Do not train {workload} in {precision} as it is; {instead} is the way."),
        why=(N_("Its loss is no number any more."), _FIRST),
    ),
    "numerics.fp32": AdviceWords(
        title=N_("FP32 itself diverges"),
        action=N_("Mend {workload} first (learning rate, data, loss): no number format trains better than FP32."),
        why=(N_("Its loss is no number any more."), _FIRST),
    ),
    "numerics.overflow": AdviceWords(
        title=N_("An activation exceeds what FP16 holds"),
        action=N_("{place} of {workload} overflows in FP16 (at most {limit}); {instead} is the way."),
        why=(
            N_("Its largest activation is {largest}."),
            N_(
                "BF16 has the range of FP32, where the chip has it; else let this module alone compute in FP32. "
                "Clamping is the last resort: it changes what is trained."
            ),
        ),
    ),
    "numerics.half_weights": AdviceWords(
        title=N_("Weights lie in half precision"),
        action=N_("Keep weights, buffers and optimizer state of {workload} in FP32 and leave the casting to autocast."),
        why=(
            _WHERE,
            N_(
                "Updates smaller than half a thousandth of a weight are lost in half precision, and a gradient scaler "
                "refuses such weights."
            ),
        ),
    ),
    "numerics.own_autocast": AdviceWords(
        title=N_("The training switches autocast on by itself"),
        action=N_("Leave autocast out of {workload} for this check, which chooses the number format itself."),
        why=(_WHERE, N_("Its FP32 runs are no FP32 runs, so nothing could be compared with them.")),
    ),
    "numerics.half_loss": AdviceWords(
        title=N_("The loss is computed in half precision"),
        action=N_("Compute the loss of {workload} in FP32."),
        why=(_WHERE,),
    ),
    "numerics.half_operation": AdviceWords(
        title=N_("Sensitive operations run in half precision outside of autocast"),
        action=N_("Compute {names} in FP32 in {workload}."),
        why=(
            _WHERE,
            N_("Under autocast they would: sums and exponentials overflow or round too much in half precision."),
        ),
    ),
    "numerics.hand_cast": AdviceWords(
        title=N_("Tensors are cast by hand"),
        action=N_("Leave casts to half precision in {workload} to autocast."),
        why=(_WHERE, N_("They hold in every format, FP32 too.")),
    ),
    "numerics.custom_function": AdviceWords(
        title=N_("A custom autograd Function does not know of autocast"),
        action=N_("Mark forward and backward of {names} with custom_fwd and custom_bwd."),
        why=(_WHERE, N_("Without them its forward runs under autocast and its backward does not.")),
    ),
}

QUESTIONS: dict[str, str] = {
    "numerics_short": N_("The runs were too short for a verdict on every format."),
    "numerics_flat": N_("The loss hardly fell beside what could be seen; a longer check tells more."),
    "numerics_own": N_("All this was measured with {workload}; your own training may differ: see docs/recipes.md."),
    "numerics_rate": N_("How much faster the formats are was not part of this check."),
}

WARNINGS: dict[str, str] = {
    "numerics_absent": N_("{precision} was left out: this chip does not have it."),
    "numerics_cpu": N_(
        "On a processor autocast keeps other operations in FP32 than on a card; the list of operations holds for the "
        "processor only. TF32 does not exist there."
    ),
    "numerics_failed": N_("In {precision} the training failed: {message}"),
    "numerics_stand_in": N_(
        "A simulated card cannot train {workload}: a small stand-in network is computed with numbers rounded as in "
        "each format. Operations under autocast are not looked at."
    ),
}

STEPS: dict[str, str] = {
    "numerics_look": N_("a look at the first steps"),
    "numerics_reference": N_("training in FP32"),
    "numerics_format": N_("training in another format"),
}

METRICS: dict[str, str] = {
    "train_loss": N_("loss"),
    "train_loss_band": N_("loss of FP32 runs"),
    "numerics_verdict": N_("end loss against FP32"),
    "autocast_kept": N_("operations that stay in FP32"),
    "numerics_trap": N_("traps of half precision"),
    "activation_peak": N_("largest activation"),
}

VERDICTS: dict[str, str] = {
    "reference": N_("the reference"),
    "kept": N_("trains as FP32"),
    "unseen": N_("no difference seen"),
    "apart": N_("worse than FP32"),
    "diverged": N_("diverged"),
    "undecided": N_("undecided"),
}

KEPT: dict[str, str] = {"autocast": N_("by autocast"), "input": N_("as what comes in is FP32")}

TRAPS: dict[str, str] = {
    "half_weights": N_("weights in half precision"),
    "half_buffers": N_("buffers in half precision"),
    "half_norm": N_("batch norm in half precision"),
    "own_autocast": N_("autocast of its own"),
    "half_loss": N_("loss in half precision"),
    "half_operation": N_("sensitive operation in half precision"),
    "hand_cast": N_("cast by hand"),
    "custom_function": N_("custom Function without custom_fwd"),
}

WHY: dict[str, str] = {
    "short": N_("too few steps"),
    "slow": N_("too slow here for enough steps"),
    "flat": N_("the loss hardly fell beside what can be seen"),
    "seeds": N_("above what other seeds reach"),
    "end": N_("above FP32 of the same start at the end"),
    "early": N_("it falls more slowly than FP32 from the same start"),
    "scaler": N_("the gradient scale collapsed"),
    "not_finite": N_("the loss is no number"),
    "failed": N_("the training failed in it"),
    "memory": N_("it did not fit in memory"),
    "lost": N_("its process was lost"),
    "fp32": N_("FP32 itself has no usable runs"),
    "autocast": N_("it switches autocast on by itself"),
    "half": N_("its weights lie in half precision"),
}
"""What a verdict rests on, where it is not the comparison of losses."""

SCALERS: dict[str, str] = {
    "normal": N_("normal so far"),
    "frequent": N_("skips often"),
    "collapsed": N_("collapsed"),
}
