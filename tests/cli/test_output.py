"""Tables in a pipe and on a terminal, help in lines, progress."""

import io
from dataclasses import replace

import pytest
from cyclopts.help import HelpEntry, HelpPanel
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from gputuner.cli.layout import columns, width
from gputuner.cli.manual import Manual
from gputuner.cli.output import Output
from gputuner.cli.progress import Progress, point_line, readings_line
from gputuner.model.events import StepProgressed, StepStarted, TelemetrySampled, WorkerExited
from gputuner.model.points import Point
from gputuner.model.quantities import Quantity
from gputuner.model.samples import Sample


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def step(remaining_s: float = 90.0, expected_s: float = 6.0) -> StepStarted:
    return StepStarted(
        run_id="r",
        seq=1,
        t_ns=0,
        index=3,
        total=14,
        label="train_probe",
        params={"batch": 64},
        expected_s=expected_s,
        remaining_s=remaining_s,
    )


@given(st.lists(st.tuples(st.text("ab中文 °", max_size=12), st.text("xy批", min_size=1, max_size=6)), min_size=1))
def test_columns_begin_at_the_same_place(rows):
    rows = [(first.strip(), second) for first, second in rows]
    ends = {width(line) - width(second) for line, (_first, second) in zip(columns(rows), rows, strict=True)}
    assert len(ends) == 1


def test_numbers_end_at_the_same_place():
    lines = columns([("a", "5 W"), ("b", "312 W")], right=(1,))
    assert lines == ["a    5 W", "b  312 W"]


def test_a_table_on_a_terminal_is_drawn_and_in_a_pipe_is_plain():
    terminal, pipe = Terminal(), io.StringIO()
    for stream in (terminal, pipe):
        Output(out=stream, err=io.StringIO()).table(("card", "power"), [("a [b]", "312 W")], right=(1,))
    assert "\x1b[1m" in terminal.getvalue()
    assert "a [b]" in terminal.getvalue()
    assert pipe.getvalue() == "card   power\na [b]  312 W\n"


def test_with_json_no_words_reach_stdout():
    out, err = io.StringIO(), io.StringIO()
    output = Output(out=out, err=err, json=True)
    output.line("x")
    output.heading("x")
    output.table(("x",), [("y",)])
    output.pairs([("x", "y")])
    output.note("note")
    assert out.getvalue() == ""
    assert err.getvalue() == "note\n"


@pytest.mark.parametrize(
    ("quiet", "verbose", "said"),
    [(False, False, "note\nwarn\n"), (True, False, "warn\n"), (False, True, "note\nwarn\ndetail\n")],
)
def test_quiet_and_verbose(quiet, verbose, said):
    err = io.StringIO()
    output = Output(out=io.StringIO(), err=err, quiet=quiet, verbose=verbose)
    output.note("note")
    output.warn("warn")
    output.detail("detail")
    assert err.getvalue() == said


def test_progress_on_a_terminal_counts_down_and_leaves_nothing():
    err = Terminal()
    now_s = 100.0
    with Progress(Output(out=io.StringIO(), err=err), clock=lambda: now_s) as progress:
        progress.show(step())
        progress.show(
            TelemetrySampled(
                run_id="r",
                seq=2,
                t_ns=0,
                samples=(
                    Sample(
                        card="c", t_ns=0, values={Quantity.CORE_TEMPERATURE_C: 61.0, Quantity.POWER_AVERAGE_W: 312.0}
                    ),
                ),
            )
        )
        now_s = 130.0
        assert progress.status().plain == "[3/14] training step: batch 64 · 1 min left   61 °C · 312 W"
        now_s = 500.0
        assert "longer than expected" in progress.status().plain
        assert "0 s left" not in progress.status().plain
    assert err.getvalue().rstrip().endswith("\x1b[2K")


def progressed(**fields) -> StepProgressed:
    told = {"phase": "measure", "done_s": 3.0, "left_s": 9.0, "remaining_s": 80.0} | fields
    return StepProgressed(run_id="r", seq=2, t_ns=0, index=3, label="train_probe", **told)


def test_progress_within_a_step_moves_and_counts_down(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    now_s = 100.0
    with Progress(Output(out=io.StringIO(), err=Terminal()), clock=lambda: now_s) as progress:
        progress.show(step())
        now_s = 110.0
        progress.show(progressed(done=12, of=20))
        head = "[3/14] training step: batch 64"
        assert progress.status().plain == f"{head} · 1 min 20 s left · this step: 12 of 20 settings, 9 s left"
        now_s = 114.0
        assert progress.status().plain == f"{head} · 1 min 16 s left · this step: 12 of 20 settings, 5 s left"
        progress.show(progressed(done=214, left_s=None))
        assert progress.status().plain.endswith(" · this step: 214 settings tried")
        progress.show(progressed(phase="warmup", done=0))
        assert progress.status().plain.endswith(" · this step: warming up, 9 s left")
        progress.show(progressed(left_s=0.0))
        assert progress.status().plain == f"{head} · 1 min 20 s left"
        progress.show(step(remaining_s=70.0))
        assert progress.status().plain == f"{head} · 1 min 10 s left"


def test_in_a_pipe_a_long_step_says_how_far_it_is_every_ten_seconds():
    now_s, err = 100.0, io.StringIO()
    with Progress(Output(out=io.StringIO(), err=err), clock=lambda: now_s) as progress:
        progress.show(step())
        for half in range(1, 51):
            now_s = 100.0 + half / 2
            progress.show(progressed(done=half, left_s=30.0 - half / 2))
    assert err.getvalue().splitlines()[1:] == [
        "  this step: 20 settings tried, 20 s left",
        "  this step: 40 settings tried, 10 s left",
    ]


def test_a_total_that_is_a_guess_is_not_shown():
    err = io.StringIO()
    with Progress(Output(out=io.StringIO(), err=err)) as progress:
        progress.show(replace(step(), total_known=False))
    assert err.getvalue() == "[3] training step: batch 64 · 1 min 30 s left\n"


def test_progress_of_an_open_end_tells_no_time():
    err = io.StringIO()
    with Progress(Output(out=io.StringIO(), err=err)) as progress:
        progress.show(step(remaining_s=0.0, expected_s=0.0))
    assert err.getvalue() == "[3/14] training step: batch 64\n"


def test_a_crashed_worker_is_told_only_when_asked_for():
    exited = WorkerExited(run_id="r", seq=3, t_ns=0, worker="w1", why="crashed", exit_code=-11, stderr_tail="boom")
    said = []
    for verbose in (False, True):
        err = io.StringIO()
        with Progress(Output(out=io.StringIO(), err=err, verbose=verbose)) as progress:
            progress.show(exited)
        said.append(err.getvalue())
    assert said == ["", "  w1: crashed -11 boom\n"]


def test_readings_that_are_missing_are_left_out():
    assert readings_line(Sample(card="c", t_ns=0, values={Quantity.MEMORY_USED_BYTES: 2.0**34})) == "16 GiB"


@pytest.mark.parametrize("columns_", [60, 80, 200])
def test_help_keeps_within_the_terminal_and_words_whole(columns_):
    stream = io.StringIO()
    console = Console(file=stream, width=columns_)
    about = "在终端中实时查看各卡；脚本中可用 --count 和 --interval。" * 3
    panel = HelpPanel(
        format="parameter",
        title="Options",
        entries=[HelpEntry(positive_names=("--gpu",), metavar="SEL", description=about)],
    )
    Manual()(console, console.options, panel)
    lines = stream.getvalue().splitlines()
    assert max(width(line) for line in lines) <= columns_
    assert sum(line.count("--interval") for line in lines) == 3
    assert not any(line.strip().startswith(("。", "；")) for line in lines)


@pytest.mark.parametrize("room", [30, 40, 80])
def test_on_a_narrow_terminal_the_time_left_is_never_cut(room, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(room))
    with Progress(Output(out=io.StringIO(), err=Terminal()), clock=lambda: 100.0) as progress:
        progress.show(step())
        progress.show(progressed(done=12, of=20))
        said = progress.status().plain
    assert width(said) <= room
    assert said.startswith("[3/14] ")
    assert " · 1 min 20 s left" in said


@pytest.mark.parametrize(
    ("metric", "params", "said"),
    [
        ("null_difference", {}, "difference of equal measurements, decode: 0.2 %"),
        ("region_share", {"batch": 8, "null": 3}, "region share, batch 8, repeat 3: 0.2 %"),
    ],
)
def test_progress_says_of_what_equal_measurements_differ(metric, params, said):
    point = Point(
        id="p", card="c", metric=metric, workload="decode", params=params, value=0.002, unit="fraction",
        extra={"benchmark": "decode"},
    )  # fmt: skip
    assert point_line(point) == said
