"""The command line itself: help, wrong usage, language, broken pipes, imports."""

import json
import os
import subprocess
import sys

import pytest

from gputuner.cli import document
from gputuner.cli.app import COMMANDS, build_app, main
from gputuner.model.cards import Origin

WRONG = [
    (("tune", "--minutes", "0.1"), "--minutes is 0.1, but must lie between 0.2 and 1440 min."),
    (("tune", "--minutes", "-3"), "--minutes is -3, but must lie between 0.2 and 1440 min."),
    (("tune", "--minutes", "nan"), "--minutes cannot be 'nan'; it takes a number."),
    (("tune", "--minutes", "1000"), "The time budget is 1000 minutes, but must lie between 0.2 and 120."),
    (("tune", "--memory-cap", "0"), "--memory-cap is 0, but must lie between 0.05 and 4096 GiB."),
    (("tune", "--memory-cap", "inf"), "--memory-cap cannot be 'inf'; it takes a number."),
    (("tune", "--gpu", ","), "--gpu names no card; name one, or leave the option out."),
    (("tune", "--gpu", ""), "--gpu names no card; name one, or leave the option out."),
    (("devices", "--data-dir", ""), "What stands after --data-dir is empty; give a value, or leave the option out."),
    (("tune", "--python="), "What stands after --python is empty; give a value, or leave the option out."),
    (("monitor", "--replay", ""), "What stands after --replay is empty; give a value, or leave the option out."),
    (("sessions", "export", "--out", ""), "What stands after --out is empty; give a value, or leave the option out."),
    (("sessions", "show", ""), "One of the arguments is empty; give a value, or leave it out."),
    (("tune", "--quiet", "--verbose"), "--quiet and --verbose exclude each other; leave one out."),
    (("devices", "--dry-run"), "--dry-run is for experiments such as tune; this command measures nothing."),
    (("monitor", "--count", "0"), "--count is 0, but must lie between 1 and 10000000."),
    (("monitor", "--interval", "0"), "--interval is 0, but must lie between 0.1 and 3600 s."),
    (("record", "--duration", "0"), "--duration is 0, but must lie between 1 and 31622400 s."),
    (("monitor", "--count", "1.5"), "--count cannot be '1.5'; it takes a whole number."),
    (("monitor", "--count", "x"), "--count cannot be 'x'; it takes a whole number."),
    (("tune", "--lang", "fr"), "--lang cannot be 'fr'; it takes en, zh_CN."),
    (("tune", "--minuts", "3"), "There is no option --minuts here; did you mean --minutes?"),
    (("tune", "--xyzzy"), "There is no option --xyzzy here; see gputuner --cli tune --help."),
    (("tune", "--minutes"), "--minutes needs a value after it."),
    (("tune", "--share", "--share"), "--share was given more than once; give it once."),
    (("tune", "more"), "more is one argument too many; see gputuner --cli tune --help."),
    (("--share", "tune"), "--share comes before the command; options stand after the command's name."),
    (("sessions", "burn"), "There is no command burn; there are list, show, compare, export, delete."),
]


@pytest.mark.parametrize(("argv", "sentence"), WRONG, ids=[" ".join(argv) for argv, _sentence in WRONG])
def test_wrong_usage_is_one_sentence_and_code_2(program, argv, sentence):
    result = program(*argv)
    assert result.code == 2
    assert result.out == ""
    assert result.err == f"{sentence}\n"
    assert program.setup.started == []


@pytest.mark.parametrize(
    ("argv", "schema", "code"),
    [
        (("frob", "--json"), "gputuner.error/1", "command_unknown"),
        (("--json", "tune"), "gputuner.error/1", "option_before_command"),
        (("tune", "--json", "--xyzzy"), "gputuner.tune/1", "option_unknown"),
        (("sessions", "show", "", "--json"), "gputuner.sessions.show/1", "argument_empty"),
    ],
)
def test_wrong_usage_with_json_is_one_document(program, argv, schema, code):
    result = program(*argv)
    assert result.code == 2
    document = json.loads(result.out)
    assert (document["schema"], document["outcome"]) == (schema, "failed")
    assert (document["error"]["code"], document["error"]["exit_code"]) == (code, 2)
    assert result.err == f"{document['error']['message']}\n"


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (("tune", "--minutes", "1_000"), "a number"),
        (("tune", "--minutes", "nan"), "a number"),
        (("tune", "--memory-cap", "２"), "a number"),
        (("monitor", "--count", "1_0"), "a whole number"),
        (("power", "--price", " 0.3"), "a number"),
        (("alerts", "set", "margin", "1_0"), "a number"),
    ],
)
def test_what_only_python_reads_as_a_number_is_none(program, argv, expected):
    result = program(*argv)
    assert result.code == 2
    assert expected in result.err
    assert repr(argv[-1]) in result.err


def test_an_interrupt_that_will_not_wait_is_one_document(program):
    def insist(_event):
        raise KeyboardInterrupt

    program.setup.on_event = insist
    result = program("tune", "--json")
    document = json.loads(result.out)
    assert result.code == 130
    assert (document["outcome"], document["error"]["exit_code"]) == ("cancelled", 130)
    assert program.setup.closed == 1


def test_a_bug_is_one_document(program):
    def fail(_event):
        raise RuntimeError("broken")

    program.setup.on_event = fail
    result = program("tune", "--json")
    assert result.code == 1
    assert json.loads(result.out)["error"]["code"] == "bug"


def test_an_unknown_command_names_those_that_exist(program):
    result = program("brew")
    assert result.code == 2
    for name, *_rest in COMMANDS:
        assert name in result.err


def test_a_missing_file_is_code_8(program, tmp_path):
    result = program("monitor", "--replay", str(tmp_path / "none.sqlite"))
    assert result.code == 8
    assert result.err.startswith("There is no file ")


def test_an_experiment_on_a_replay_is_refused(program, tmp_path):
    (tmp_path / "some.sqlite").touch()
    assert program("tune", "--replay", str(tmp_path / "some.sqlite")).code == 2
    assert program("monitor", "--replay", str(tmp_path / "some.sqlite"), "--count", "1").code == 0


def test_options_reach_the_program(program, tmp_path):
    program(
        "devices",
        "--simulate",
        "a",
        "--simulate",
        "b",
        "--data-dir",
        str(tmp_path),
        "--python",
        "/x/python",
        "--memory-cap",
        "1.5",
    )
    assert program.setup.asked == {
        "simulate": ("a", "b"),
        "replay": None,
        "data_dir": tmp_path,
        "python": "/x/python",
        "memory_cap_bytes": 3 * 2**29,
    }


@pytest.mark.parametrize("argv", [(), ("--help",), ("tune", "--help"), ("sessions", "--help"), ("sessions",)])
def test_help_ends_with_0_on_stdout(program, argv):
    result = program(*argv)
    assert result.code == 0
    assert result.out.startswith("Usage: gputuner --cli")
    assert result.err == ""


def test_every_command_is_in_the_help(program):
    out = program("--help").out
    for name, *_rest in (*COMMANDS, ("sessions",)):
        assert f"\n  {name} " in out


def test_every_option_is_in_every_command_s_help(program):
    names = [name for command in ("devices", "tune") for name in _options(command)]
    for command, *_rest in COMMANDS:
        out = program(command, "--help").out
        assert [name for name in names if f" {name}" not in out] == [], command


def test_version(program):
    result = program("--version")
    assert result.out.startswith("gputuner ")
    assert result.code == 0


def test_a_closed_pipe_ends_quietly():
    read, write = os.pipe()
    os.close(read)
    code = "import sys; from gputuner.cli.app import main; sys.exit(main(['tune', '--help']))"
    result = subprocess.run([sys.executable, "-c", code], stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert result.returncode == 0
    assert result.stderr == ""


def test_importing_the_command_line_loads_nothing_heavy():
    heavy = "{'torch', 'PySide6', 'pynvml', 'numpy', 'scipy', 'pyqtgraph', 'psutil', 'sqlite3', 'rich.live'}"
    code = f"import sys, gputuner.cli.app as app; app.build_app(); print(sorted({heavy} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"


def test_a_document_with_nan_is_refused_before_anything_is_written(capsys):
    body = document.head("tune", Origin.MEASURED)
    body["value"] = float("nan")
    with pytest.raises(ValueError, match="JSON"):
        document.write(body, sys.stdout)
    assert capsys.readouterr().out == ""


def test_documents_are_ascii(program):
    result = program("advise", "--json")
    assert result.out.isascii()
    json.loads(result.out)


def test_main_without_a_setup_asks_the_assembly(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("gputuner")


def _options(command: str) -> list[str]:
    app = build_app()
    return [
        name for argument in app[command].assemble_argument_collection() for name in argument.names if name in COMMON
    ]


COMMON = (
    "--gpu",
    "--share",
    "--memory-cap",
    "--minutes",
    "--simulate",
    "--replay",
    "--data-dir",
    "--python",
    "--json",
    "--quiet",
    "--verbose",
    "--dry-run",
    "--lang",
)
