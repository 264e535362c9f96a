"""``bench`` and ``sessions compare`` over the whole program below them, on simulated cards and on the processor."""

import json
import subprocess
import sys

import pytest

from gputuner.experiments.benchmarks.catalogue import BENCHMARKS
from tests.cli.stored import planted, session_of

CHEAP = "gemm-fp32"


@pytest.fixture
def program(whole):
    """Runs a command line on the whole program."""
    return whole


def test_the_list_names_every_benchmark_and_starts_nothing(program, tmp_path):
    code, out, _err = program("bench", "--list", "--json")
    document = json.loads(out)
    assert code == 0
    assert document["schema"] == "gputuner.bench/1"
    assert [each["name"] for each in document["benchmarks"]] == [each.name for each in BENCHMARKS]
    for each in document["benchmarks"]:
        assert {"name", "group", "available", "reason", "unit", "about"} <= set(each)
        assert each["available"] is (each["reason"] is None)
        assert each["about"]
    assert not (tmp_path / "sessions").exists()


def test_the_list_on_a_processor_says_what_cannot_run_there(program):
    code, out, _err = program("bench", "--list", "--json", "--gpu", "cpu", card=None)
    by_name = {each["name"]: each for each in json.loads(out)["benchmarks"]}
    assert code == 0
    assert by_name["gemm-fp8"]["available"] is False
    assert by_name["gemm-fp8"]["reason"] == "gpu_only"
    assert by_name["gemm-fp32"]["available"] is True
    _code, text, _err = program("bench", "--list", "--gpu", "cpu", card=None)
    assert "needs a GPU" in text


def test_an_old_chip_lacks_what_came_later(program):
    _code, out, _err = program("bench", "--list", "--json", "gemm", card="rtx-2080-ti")
    reasons = {each["name"]: each["reason"] for each in json.loads(out)["benchmarks"]}
    assert reasons["gemm-fp8"] is not None
    assert reasons["gemm-fp16"] is None
    assert all(name.startswith("gemm") for name in reasons)


def test_the_list_tells_the_names_and_groups_to_type_also_as_markdown(program):
    _code, text, _err = program("bench", "--list")
    rows = [line.split() for line in text.splitlines()]
    assert {"memory-copy", "memory"} in [set(row[:2]) for row in rows]
    _code, text, _err = program("bench", "--list", "--markdown")
    assert "| memory-copy | memory | " in text
    assert all(line.startswith("|") for line in text.splitlines())


def test_the_list_imports_no_torch():
    code = (
        "import sys; from gputuner.cli.app import main; "
        "main(['bench', '--list', '--simulate', 'rtx-3090']); print('torch' in sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.split()[-1] == "False"


def test_results_stand_in_a_table_with_what_held_them_back(program):
    code, out, err = program("bench", CHEAP, "memory-copy")
    assert code == 0
    header = next(line for line in out.splitlines() if line.startswith("benchmark"))
    assert "of peak at clock" in header
    assert "TFLOP/s" in out
    assert "What held it back" in out
    assert "All figures are simulated" in out
    assert "2 benchmarks, about" in err
    assert " left" in err


def test_json_carries_amounts_and_judgement(program):
    code, out, _err = program("bench", CHEAP, "memory-copy", "--json")
    document = json.loads(out)
    assert (code, document["schema"], document["simulated"]) == (0, "gputuner.bench/1", True)
    for point in document["points"]:
        extra = point["extra"]
        amount = extra.get("operations") or extra.get("bytes")
        assert point["value"] * extra["seconds"] == pytest.approx(amount)
        assert extra["correct"] is True
    best = next(p for p in document["points"] if p["params"].get("phase") == "bursts" and p["unit"] == "FLOP/s")
    assert 0.3 < best["extra"]["fraction_of_peak_at_clock"] < 1.05
    assert best["extra"]["held_back"]


def test_markdown(program):
    _code, out, _err = program("bench", CHEAP, "--markdown", "--quiet")
    lines = out.splitlines()
    assert lines[0].startswith("## ")
    assert any(line.startswith("| gemm-fp32 |") for line in lines)
    assert any(line.startswith("| --- |") for line in lines)


def test_a_dry_run_keeps_no_session(program, tmp_path):
    code, out, _err = program("bench", CHEAP, "--dry-run", "--json")
    document = json.loads(out)
    assert code == 0
    assert document["dry_run"] is True
    assert document["steps"]
    assert not (tmp_path / "sessions").exists()


def test_full_tells_how_long_before_it_starts(program):
    _code, _out, err = program("bench", CHEAP, "--full")
    assert err.splitlines()[0].startswith("1 benchmark, about ")


def test_the_null_check_prints_this_machines_rate(program):
    code, out, _err = program("bench", CHEAP, "--null")
    assert code == 0
    assert "intervals apart" in out
    row = next(line for line in out.splitlines() if line.startswith("all"))
    assert row.split()[1] == "6"


@pytest.mark.parametrize(
    ("argv", "code", "words"),
    [
        (("bench", "gemm-bf61"), 2, "There is no benchmark gemm-bf61; close to it are: gemm-bf16"),
        (("bench", "xyzzy"), 2, "There is no benchmark xyzzy; see gputuner --cli bench --list."),
        (("bench", "--minutes", "nan"), 2, "--minutes cannot be 'nan'"),
        (("bench", "--null", "--against", "x"), 2, "--null and --against exclude each other"),
        (("bench", "--against", "nope"), 8, "There is no session nope"),
        (("sessions", "compare", "nope", "nope"), 8, "There is no session nope"),
        (("sessions", "compare", "nope"), 2, "is missing"),
        (("bench", "--gpu", "GPU-nobody"), 2, "There is no card GPU-nobody here"),
    ],
)
def test_wrong_usage(program, argv, code, words):
    ended, _out, err = program(*argv)
    assert ended == code
    assert words in err


def test_two_sessions_are_compared_figure_by_figure(program):
    session = session_of(program("bench", CHEAP, "memory-copy", "--json")[1])
    other = planted(session, 1.2, "20260101-000000-bench-cccc", only=CHEAP)
    code, out, _err = program("sessions", "compare", other, session.stem, "--json")
    document = json.loads(out)
    assert (code, document["schema"]) == (0, "gputuner.sessions.compare/1")
    verdicts = {each["after"]["extra"]["benchmark"]: each["verdict"] for each in document["comparisons"]}
    assert verdicts[CHEAP] == "worse"
    assert verdicts["memory-copy"] == "same"
    assert document["differs"] == []
    text = program("sessions", "compare", session.stem, other)[1]
    assert "1 better" in text
    assert program("sessions", "compare", session.stem, other, "--markdown")[1].startswith("| figure |")


def test_two_cards_are_told_apart(program):
    first = session_of(program("bench", CHEAP, "--json")[1])
    second = session_of(program("bench", CHEAP, "--json", card="rtx-3090")[1])
    document = json.loads(program("sessions", "compare", first.stem, second.stem, "--json")[1])
    assert [(each["name"], each["weight"]) for each in document["differs"]] == [("card", "voids")]
    assert "these are different things" in program("sessions", "compare", first.stem, second.stem)[1]


def test_sessions_of_tune_are_compared_too(program):
    program("tune", "--quick", "--minutes", "1", "--quiet")
    program("tune", "--quick", "--minutes", "1", "--quiet")
    ids = [each["session_id"] for each in json.loads(program("sessions", "list", "--json")[1])["sessions"]]
    document = json.loads(program("sessions", "compare", ids[1], ids[0], "--json")[1])
    assert {"matmul_rate", "train_throughput"} <= {each["metric"] for each in document["comparisons"]}


def test_show_tells_a_bench_session_as_bench_did(program):
    session = session_of(program("bench", CHEAP, "--json")[1])
    out = program("sessions", "show", session.stem)[1]
    assert "of peak at clock" in out
    assert "What held it back" in out
    assert "No advice" not in out
    assert program("sessions", "show", session.stem, "--markdown")[1].startswith("## ")


def test_in_chinese(program):
    out = program("bench", CHEAP, "--lang", "zh_CN")[1]
    assert "受制于什么" in out
    assert "占当时频率峰值" in out


def test_several_cards_in_turn(program):
    code, out, _err = program("bench", CHEAP, "--gpu", "all", "--simulate", "rtx-3090", "--json")
    document = json.loads(out)
    assert code == 0
    assert len(document["devices"]) == 2
    assert len(document["sessions"]) == 2


def test_one_cheap_benchmark_really_runs_on_the_processor(program):
    code, out, _err = program("bench", CHEAP, "--gpu", "cpu", "--json", card=None)
    document = json.loads(out)
    assert (code, document["origin"], document["outcome"]) == (0, "measured", "completed")
    (point, *_rest) = [p for p in document["points"] if p["params"]["phase"] != "search"]
    assert point["value"] * point["extra"]["seconds"] == pytest.approx(point["extra"]["operations"])
    assert point["extra"]["relative_error"] < 1e-3
    assert "held_back" not in point["extra"]


def test_benchmarks_that_cannot_run_here_end_with_3_and_leave_no_session(program, tmp_path):
    code, _out, err = program("bench", "gemm-fp8", card="rtx-3090")
    assert code == 3
    assert "gemm-fp8" in err
    assert "Traceback" not in err
    assert not list(tmp_path.glob("sessions/*"))


def test_a_comparison_knows_how_far_earlier_sessions_lay_apart(program):
    """Of 4 % nothing can be said by two sessions alone; with four before them that agree within 0.3 %, it is worse."""
    session = session_of(program("bench", CHEAP, "--json")[1])
    lower = planted(session, 0.96, "20270101-000000-bench-eeee", days=1.0)

    def verdicts():
        document = json.loads(program("sessions", "compare", session.stem, lower, "--json")[1])
        return {each["verdict"] for each in document["comparisons"]}

    assert verdicts() == {"uncertain"}
    for i, factor in enumerate((0.997, 0.999, 1.001, 1.003)):
        planted(session, factor, f"20260101-00000{i}-bench-ffff", days=-1.0 - i)
    assert verdicts() == {"worse"}
