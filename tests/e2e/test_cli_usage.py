"""The command line from end to end: bad input, exit codes, languages, pipes, viewing."""

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
    ended = fresh("tune", "--simulate", CARD, "--quiet")
    assert ended.code == 8
    assert len(ended.err.splitlines()) == 1
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
    _out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err


def test_a_reader_that_has_enough_ends_the_program_quietly(fresh):
    read, write = os.pipe()
    process = fresh.start("monitor", "--simulate", CARD, "--interval", "0.1", stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    os.read(read, 1)
    os.close(read)
    _out, err = process.communicate(timeout=60)
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
