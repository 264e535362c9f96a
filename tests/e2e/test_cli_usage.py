"""The command line from end to end: bad input, exit codes, languages, pipes, viewing."""

import json
import os
import signal
import subprocess

import pytest

from gputuner.language.names import READINGS

pytestmark = pytest.mark.e2e
CARD = "rtx-4090-48g"

WRONG = [
    (("tune", "--simulate", "no-such-card"), 2),
    (("tune", "--simulate", CARD, "--gpu", "GPU-0000"), 2),
    (("tune", "--simulate", CARD, "--gpu", "9"), 2),
    (("tune", "--simulate", CARD, "--minutes", "0"), 2),
    (("tune", "--simulate", CARD, "--minutes", "500"), 2),
    (("tune", "--simulate", CARD, "--memory-cap", "-1"), 2),
    (("tune", "--simulate", CARD, "--gpu", " , "), 2),
    (("tune", "--simulate", CARD, "--gpu", f"{CARD},"), 2),
    (("tune", "--simulate", CARD, "--replay", "/dev/null"), 2),
    (("monitor", "--simulate", CARD, "--interval", "0"), 2),
    (("monitor", "--simulate", CARD, "--count", "-1"), 2),
    (("record", "--simulate", CARD, "--duration", "nan"), 2),
    (("brew",), 2),
    (("tune", "--turbo"), 2),
    (("sessions", "show", "no-such-session"), 8),
    (("sessions", "show", "/etc/hostname"), 8),
    (("sessions", "export", "no-such-session"), 8),
    (("sessions", "delete", "no-such-session"), 8),
    (("advise", "no-such-session"), 8),
    (("advise",), 8),
    (("monitor", "--replay", "/no/such/file"), 8),
    (("monitor", "--replay", "/etc/hostname"), 8),
    (("devices", "--replay", "/dev/null"), 8),
    (("monitor", "--replay", "/tmp"), 8),
    (("sessions", "show", "/tmp"), 8),
    (("sessions", "delete", "/dev/null"), 8),
    (("advise", "/tmp"), 8),
    (("sessions", "export", "--format", "parquet", "--out", "q.csv"), 2),
    (("sessions", "export", "--out", ""), 2),
]


@pytest.mark.parametrize(("argv", "code"), WRONG, ids=[" ".join(argv) for argv, _code in WRONG])
def test_bad_input_is_one_sentence_and_its_code(fresh, argv, code):
    ended = fresh(*argv)
    assert ended.code == code, ended.err
    assert ended.out == ""
    assert len(ended.err.splitlines()) == 1
    assert ended.err.strip().endswith((".", "?", ")")) or ":" in ended.err
    assert "Traceback" not in ended.err
    assert not list(fresh.data_dir.rglob("*.sqlite*"))


def test_a_data_folder_that_is_a_file(fresh, tmp_path):
    (tmp_path / "data").write_text("")
    for command in (("tune", "--simulate", CARD, "--quiet"), ("devices", "--simulate", CARD), ("sessions", "list")):
        ended = fresh(*command)
        assert ended.code == 8
        assert len(ended.err.splitlines()) == 1
        assert "is not a folder" in ended.err
        assert "--data-dir" in ended.err


def test_wrong_usage_in_chinese(fresh, chinese):
    ended = fresh("tune", "--minutes", "x", "--lang", "zh_CN")
    assert ended.code == 2
    assert ended.err == "--minutes 不能是 'x'；可用：数字。\n"


def test_the_locale_chooses_the_language(fresh, chinese):
    command = fresh.command("--help", here=False)
    environment = fresh.environment() | {"LC_ALL": "zh_CN.UTF-8"}
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    assert "用法" in done.stdout.decode()


def test_devices_document(fresh):
    ended = fresh("devices", "--simulate", CARD, "--simulate", "rtx-2080-ti-22g", "--json")
    assert ended.code == 0, ended.err
    assert ended.document["schema"] == "gputuner.devices/1"
    assert [card["catalog_id"] for card in ended.document["devices"]] == [CARD, "rtx-2080-ti-22g"]
    for card in ended.document["devices"]:
        assert card["modded"] is True
        for reading in (*card["readings"].values(), *card["limits"].values()):
            assert (reading["value"] is None) == (reading["reason"] is not None)
    assert ended.document["devices"][1]["features"]["bf16"] != "native"
    limits = {name for card in ended.document["devices"] for name in card["limits"]}
    assert (limits | set(ended.document["host"])) - set(READINGS) == set(), "readings without a name for people"


def test_monitor_lines(fresh):
    ended = fresh("monitor", "--simulate", CARD, "--count", "2", "--interval", "0.1")
    assert ended.code == 0
    assert len(ended.out.splitlines()) == 3
    assert ended.err == ""


def test_monitor_ends_with_130_when_interrupted(fresh):
    process = fresh.start("monitor", "--simulate", CARD, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _out, err = process.communicate(timeout=600)
    assert process.returncode == 130
    assert "Traceback" not in err


def test_a_reader_that_has_enough_ends_the_program_quietly(fresh):
    read, write = os.pipe()
    process = fresh.start("monitor", "--simulate", CARD, "--interval", "0.1", stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    os.read(read, 1)
    os.close(read)
    _out, err = process.communicate(timeout=600)
    assert process.returncode == 0
    assert err == ""


def test_doctor(fresh):
    ended = fresh("doctor", "--json")
    findings = ended.document["findings"]
    assert ended.code == (9 if any(entry["level"] == "blocking" for entry in findings) else 0)
    assert any(str(fresh.data_dir) in entry["message"] for entry in findings)
    for entry in findings:
        assert entry["message"]
        assert entry["level"] == "fine" or entry["remedy"] or entry["code"] == "virtual"


def test_doctor_with_an_interpreter_that_is_none(fresh):
    ended = fresh("doctor", "--python", "/no/such/python", "--json")
    assert ended.code == 9
    assert any(
        entry["level"] == "blocking" and "/no/such/python" in entry["message"] for entry in ended.document["findings"]
    )


@pytest.mark.parametrize(
    ("python", "code"),
    [("/no/such/python", "python_missing"), ("FILE", "python_not_executable"), ("true", "python_silent")],
)
def test_doctor_tells_what_is_wrong_with_an_interpreter(fresh, tmp_path, python, code):
    (tmp_path / "file").write_text("no program")
    chosen = str(tmp_path / "file") if python == "FILE" else python
    findings = fresh("doctor", "--gpu", "cpu", "--python", chosen, "--json").document["findings"]
    found = next(entry for entry in findings if entry["code"] == code)
    assert found["level"] == "blocking"
    assert chosen in found["message"]
    assert found["remedy"]


def test_doctor_sees_that_there_is_no_display(fresh, monkeypatch):
    pytest.importorskip("PySide6")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    codes = {entry["code"]: entry["level"] for entry in fresh("doctor", "--json").document["findings"]}
    assert "qt_fine" not in codes
    assert codes.get("no_display", codes.get("qt_libraries_missing")) == "note"


def test_the_processor_is_named_once_and_in_its_own_words(fresh, chinese):
    twice = fresh("devices", "--gpu", "cpu,cpu", "--json").document["devices"]
    assert [card["uuid"] for card in twice] == ["cpu"]
    card = fresh("devices", "--gpu", "cpu").out.split("This machine")[0]
    assert "processor busy" in card
    for word in ("GPU", "SM clock", "by this card", "tensor", "BAR1"):
        assert word not in card
    card = fresh("devices", "--gpu", "cpu", "--lang", "zh_CN").out.split("本机\n")[0]
    assert "处理器占用率" in card
    for word in ("GPU", "显存", "此卡"):
        assert word not in card
    assert "SM" not in fresh("monitor", "--gpu", "cpu", "--count", "1").out


def recording(fresh, *more, **streams):
    """A recording that has begun."""
    process = fresh.start(
        "record", "--simulate", CARD, *more, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **streams
    )
    while "recording" not in process.stderr.readline():
        assert process.poll() is None
    return process


def test_a_hangup_ends_a_recording_as_an_interrupt_does(fresh):
    process = recording(fresh)
    process.send_signal(signal.SIGHUP)
    out, _err = process.communicate(timeout=600)
    assert process.returncode == 130
    assert "what was measured is kept" in out
    assert {path.suffix for path in fresh.data_dir.joinpath("sessions").iterdir()} == {".sqlite"}


def test_a_hangup_that_nohup_ignores_is_ignored(fresh):
    def ignore() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    process = recording(fresh, "--duration", "3", preexec_fn=ignore)
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=600)
    assert process.returncode == 0


def test_interrupts_that_do_not_wait_still_leave_one_document(fresh):
    process = recording(fresh, "--json")
    for _round in range(5):
        process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=600)
    assert process.returncode == 130
    assert json.loads(out)["outcome"] == "cancelled"
    assert "Traceback" not in err


def test_a_card_that_is_not_in_the_catalogue(fresh):
    said = fresh("devices", "--simulate", "rtx-4091").err
    assert "rtx-4090" in said
    assert "resources/gpus.toml" in said
    assert "gpus.toml lists all" in fresh("devices", "--simulate", "nope").err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a device that is always full")
@pytest.mark.parametrize("more", [(), ("--json",)])
def test_a_full_output_keeps_the_session(fresh, more):
    with open("/dev/full", "w", encoding="utf-8") as full:
        process = fresh.start(
            "tune", "--quick", "--simulate", CARD, "--quiet", *more, stdout=full, stderr=subprocess.PIPE
        )
        _out, err = process.communicate(timeout=600)
    assert process.returncode == 8
    assert err.splitlines()[-1].startswith("The output cannot be written: no space is left")
    assert len(fresh("sessions", "list", "--json").document["sessions"]) == 1


@pytest.mark.parametrize("columns", ["1", "0", "20", "wide"])
def test_a_terminal_of_any_width(fresh, columns):
    pty = pytest.importorskip("pty")
    parent, child = pty.openpty()
    environment = fresh.environment() | {"COLUMNS": columns}
    command = fresh.command("monitor", "--simulate", CARD, "--count", "1")
    process = subprocess.Popen(command, env=environment, stdout=child, stderr=subprocess.PIPE)
    os.close(child)
    said = b""
    while part := _read(parent):
        said += part
    os.close(parent)
    _out, err = process.communicate(timeout=600)
    assert (process.returncode, err) == (0, b"")
    assert b"RTX" in said


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 4096)
    except OSError:
        return b""
