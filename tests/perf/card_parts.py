"""Which measurements of a real card belong together, what each runs, and how long that takes on an H200.

``{where}`` among the words stands for the options that choose the card, ``{data}`` for the folder of the sessions and
``{out}`` for that of the results. Nothing here may change a setting of the card: ``forbidden`` names what would.
"""

import sys
from dataclasses import dataclass

WHERE, DATA, OUT = "{where}", "{data}", "{out}"
SETTERS = ("control", "power", "helper", "--helper", "--rights", "--yes", "nvidia-smi", "sudo", "pkexec")
"""Words that no command may hold: commands that set, or what allows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One command.

    ``expected_s``: what it takes on an H200, estimated; ``longest_s``: after this it is ended, and what it told is
    kept. ``document``: it writes one JSON document to its standard output. ``good``: exit codes after which it need not
    be run again (9: it measured, and found something).
    """

    name: str
    words: tuple[str, ...]
    expected_s: float
    longest_s: float
    document: bool = False
    good: tuple[int, ...] = (0, 9)

    def command(self, where: tuple[str, ...], data: str, out: str) -> list[str]:
        """What is run."""
        words = [each for word in self.words for each in (where if word == WHERE else (word,))]
        return [word.replace(DATA, data).replace(OUT, out) for word in words]

    def forbidden(self) -> set[str]:
        """Words that would change a setting."""
        return set(self.words) & set(SETTERS)


def _ours(name: str, words: str, expected_s: float, *, spare_s: float = 40.0, more: tuple[str, ...] = ()) -> Piece:
    """A command of gputuner."""
    start = (sys.executable, "-m", "gputuner", "--cli", *words.split())
    options = ("--json", "--quiet", "--lang", "en", "--data-dir", DATA)
    return Piece(name=name, words=(*start, *options, WHERE, *more), expected_s=expected_s,
                 longest_s=expected_s + spare_s, document=True)  # fmt: skip


def _script(
    name: str, words: str, expected_s: float, *, spare_s: float = 60.0, good: tuple[int, ...] = (0, 9)
) -> Piece:
    """One of the scripts beside this one, by module."""
    module, *rest = words.split()
    return Piece(name=name, words=(sys.executable, "-m", f"tests.perf.{module}", *rest), expected_s=expected_s,
                 longest_s=expected_s + spare_s, good=good)  # fmt: skip


def _pairs(name: str, words: str, minutes: float) -> Piece:
    rest = f"{words} --minutes {minutes:g} --out {OUT}/contention {WHERE}"
    return _script(name, f"contention_pairs {rest}", 60 * minutes + 20, spare_s=15)


def _recipe(example: str) -> Piece:
    path, function = f"docs/examples/{example}.py", "make"
    return _ours(f"recipe_{example}", f"batch --recipe {path}:{function} --precision bf16 --minutes 2", 125)


QUARTERS = {
    "gemm": ("bench gemm", 285, 60),
    "memory": ("bench memory latency regions", 130, 60),
    "training": ("bench attention conv training", 230, 60),
    "rest": ("bench pcie decode loader launch", 120, 60),
}
"""The default suite in four pieces: command, seconds, seconds more at most."""

PARTS: dict[str, tuple[Piece, ...]] = {
    "ready": (
        _ours("devices", "devices", 5),
        _ours("doctor", "doctor", 15),
    ),
    "tune": (_ours("tune", "tune --quick", 290),),
    "health": (_script("health", f"health_card 4.5 --data-dir {DATA} {WHERE}", 290),),
    "identity": (_ours("identity", "health --minutes 1.2", 85),),
    "cooling": (_ours("cooling", "cooling --minutes 7.4", 455, spare_s=25),),
    "pairs": (_pairs("pairs", "--part matrix", 8.7),),
    "four": (_pairs("four", "--part four", 8.7),),
    "synthetic": (_pairs("synthetic", "--part causes", 8.7),),
    "mps": (
        _pairs("mps_sm", "--part causes --mode mps --jobs sm tensor dram", 4.2),
        _pairs("mps_l2", "--part causes --mode mps --jobs l2 pcie host", 4.2),
    ),
    "modes_short": (
        _ours(
            "mixed_short",
            "contend resnet50:batch=16 edsr:batch=16 --mode processes,mps,streams --fixed-batch --minutes 1.5",
            105,
        ),
    ),
    "modes": (
        _ours("three_edsr", "contend edsr:batch=16 --jobs 3 --mode processes,mps --fixed-batch --minutes 4", 250),
        _ours(
            "mixed",
            "contend resnet50:batch=16 edsr:batch=16 --mode processes,mps,streams --fixed-batch --minutes 4.5",
            285,
        ),
    ),
    "finders": tuple(
        _script(f"finders_{model}_{stage}", f"batch_finders --models {model} --stage {stage}", 330, spare_s=230)
        for model in ("resnet50", "bert", "edsr", "ragged")
        for stage in ("peers", "ours")
    ),
    "memory_line": (
        *(
            _script(f"memory_line_{model}", f"memory_line --models {model} -- --memory-cap 24 {WHERE}", 75, spare_s=150)
            for model in ("resnet50", "bert", "edsr", "gpt", "lstm")
        ),
        _script("memory_line_llm", f"memory_line --models llm --formats bf16 -- {WHERE}", 60, spare_s=150),
    ),
    "precision": (
        _script("precision_resnet50", f"precision_grid --models resnet50 --minutes 3 {WHERE}", 430, spare_s=140),
        _script("precision_edsr", f"precision_grid --models edsr --minutes 3 {WHERE}", 390, spare_s=180),
    ),
    "causes": (_script("causes", f"watch_causes --seconds 20 {WHERE}", 130, good=(0, 1)),),
    "watch_cost": (
        _script("watch_cost_card", "watch_cost --device cuda --blocks 60", 60),
        _script("watch_cost_host", "watch_cost --blocks 60", 60),
    ),
    "loader": (
        _ours("bench_loader", "bench loader", 60),
        _ours("batch_loader", "batch resnet50 --loader --batch-size 256 --minutes 3", 190),
    ),
    "null": (
        _ours("bench_null", "bench gemm-bf16 --null", 120),
        _ours("contend_null", "contend resnet50:batch=96 edsr:batch=16 --null --minutes 4", 250),
    ),
    "repeat": tuple(
        _ours(name + again, words, expected_s, spare_s=spare_s)
        for name, (words, expected_s, spare_s) in QUARTERS.items()
        for again in ("", "_again")
    ),
    "conv": (_ours("conv", "bench conv", 40), _ours("conv_again", "bench conv", 40)),
    "lstm": (_ours("lstm", "bench lstm", 25), _ours("lstm_again", "bench lstm", 25)),
    "burst": (_ours("burst", "bench gemm-bf16", 60), _ours("burst_again", "bench gemm-bf16", 60)),
    "recipe": tuple(_recipe(name) for name in ("plain_torch", "transformers_model", "lightning_module")),
    "numerics": (_ours("numerics", "batch resnet50 --numerics --batch-size 64 --minutes 2", 130),),
    "kernels": (
        _script("kernels", "kernel_figures --seconds 0.8", 90),
        _script("sampling", "sampling_overhead", 110),
    ),
    "several": (_ours("several", "bench p2p allreduce", 60),),
}
"""Name → what is run, in this order. ``several`` needs two idle cards of one machine."""
