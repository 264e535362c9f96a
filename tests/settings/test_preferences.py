"""Preferences: defaults, round trip, unknown keys, older and newer and broken files, whole writes."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputuner.model.errors import StoreError
from gputuner.settings.paths import paths
from gputuner.settings.preferences import NAMES, Preferences, Problem, Theme, change, changed, load, save

ROOT = Path(__file__).parents[2]
FULL = Preferences(
    language="zh_CN",
    theme=Theme.DARK,
    fast_hz=10.0,
    slow_s=30.0,
    selected_card="GPU-aaaa",
    safety_core_c=83.0,
    electricity_price_per_kwh=0.31,
    currency="EUR",
    unknown={"from_the_future": {"a": [1, None]}},
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return paths(tmp_path / "new").preferences


def put(path: Path, entries: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(entries))
    return path


def test_without_a_file_the_defaults_hold_and_nothing_is_made(file: Path) -> None:
    assert load(file).preferences == Preferences()
    assert load(file).problems == ()
    assert not file.parent.exists()
    assert (Preferences().fast_hz, Preferences().slow_s) == (2.0, 5.0)


def test_what_was_saved_comes_back_and_unknown_entries_survive(file: Path) -> None:
    save(file, FULL)
    assert load(file).preferences == FULL
    assert load(file).problems == ()
    change(file, theme="light")
    entries = json.loads(file.read_text())
    assert entries["from_the_future"] == {"a": [1, None]}
    assert entries["version"] == 1
    assert load(file).preferences.theme is Theme.LIGHT
    assert os.listdir(file.parent) == [file.name]


def test_none_is_the_default_again(file: Path) -> None:
    save(file, FULL)
    assert change(file, theme=None, safety_core_c=None).theme is Theme.SYSTEM
    assert "safety_core_c" not in json.loads(file.read_text())


def test_two_windows_change_different_entries(file: Path) -> None:
    save(file, FULL)
    change(file, theme="light")
    change(file, language="en")
    assert (load(file).preferences.theme, load(file).preferences.language) == (Theme.LIGHT, "en")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("theme", "pink"), ("fast_hz", 0.0), ("fast_hz", 10.1), ("fast_hz", "fast"), ("fast_hz", True),
        ("slow_s", 0.5), ("selected_card", ""), ("selected_card", 0), ("safety_core_c", 20), ("safety_core_c", 200),
        ("electricity_price_per_kwh", -0.1), ("language", 5), ("selected_index", -1), ("fast_hz", 10**400),
    ],
)  # fmt: skip
def test_a_senseless_value_is_refused_and_in_a_file_ignored(file: Path, name: str, value: object) -> None:
    with pytest.raises(StoreError) as caught:
        changed(Preferences(), **{name: value})
    assert (caught.value.code, caught.value.params["key"]) == ("preference_value", name)
    loaded = load(put(file, {"version": 1, "currency": "CNY", name: value}))
    assert loaded.preferences == Preferences(currency="CNY")
    assert loaded.problems == (Problem(code="preference_ignored", key=name),)


def test_nan_is_refused_and_in_a_file_as_if_not_there(file: Path) -> None:
    with pytest.raises(StoreError):
        changed(Preferences(), fast_hz=float("nan"))
    found = load(put(file, {"version": 1, "fast_hz": float("nan"), "x": float("inf")}))
    assert found.preferences == Preferences(unknown={"x": None})
    save(file, found.preferences)


def test_every_field_has_a_check() -> None:
    assert {*NAMES, "unknown"} == set(Preferences.__dataclass_fields__)
    with pytest.raises(StoreError) as caught:
        changed(Preferences(), unknown={})
    assert caught.value.code == "preference_unknown"


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '"x"', "\udcff", "[" * 100_000])
def test_a_broken_file_is_lived_with_and_kept_aside(file: Path, text: str) -> None:
    file.parent.mkdir()
    data = text.encode(errors="surrogateescape")
    file.write_bytes(data)
    loaded = load(file)
    assert loaded.preferences == Preferences()
    assert loaded.problems == (Problem(code="preferences_malformed"),)
    save(file, FULL)
    assert load(file).preferences == FULL
    assert file.with_name("preferences.json.broken").read_bytes() == data


def test_a_newer_file_is_read_as_far_as_known_and_never_overwritten(file: Path) -> None:
    put(file, {"version": 9, "theme": "dark", "fast_hz": {"core": 3}})
    before = file.read_bytes()
    loaded = load(file)
    assert loaded.preferences.theme is Theme.DARK
    assert Problem(code="preferences_newer") in loaded.problems
    with pytest.raises(StoreError) as caught:
        save(file, loaded.preferences)
    assert caught.value.code == "preferences_newer"
    assert file.read_bytes() == before


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from([*NAMES, "version", "selected", "x"]), _json, max_size=8))
def test_no_file_makes_loading_fail(entries: dict[str, object]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = put(Path(folder) / "preferences.json", entries)
        found = load(path).preferences
        assert 0.1 <= found.fast_hz <= 10
        assert isinstance(found.theme, Theme)


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "none", tmp_path], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("mount is not allowed here")
    try:
        file = tmp_path / "preferences.json"
        save(file, FULL)
        before = file.read_bytes()
        with suppress(OSError):
            (tmp_path / "filler").write_bytes(bytes(2**20))
        with pytest.raises(StoreError) as caught:
            change(file, theme="light")
        assert caught.value.code == "store_full"
        assert file.read_bytes() == before
        assert sorted(os.listdir(tmp_path)) == ["filler", "preferences.json"]
    finally:
        subprocess.run(["umount", tmp_path], check=True)


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX")
def test_a_read_only_folder_is_told(open_path: Path) -> None:
    drop = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    if drop and shutil.which("setpriv") is None:
        pytest.skip("setpriv is not installed")
    closed = open_path / "closed"
    closed.mkdir(mode=0o555)
    code = (
        "import sys; from pathlib import Path; from gputuner.model.errors import StoreError\n"
        "from gputuner.settings.preferences import change\n"
        "try: change(Path(sys.argv[1]), theme='dark')\n"
        "except StoreError as error: print(error.code)"
    )
    command = [*drop, sys.executable, "-c", code, str(closed / "preferences.json")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if "ModuleNotFoundError" in done.stderr or "PermissionError" in done.stderr.splitlines()[-1:]:
        pytest.skip("the checkout or interpreter is not readable without root")
    assert done.stdout.strip() == "store_readonly"
    assert os.listdir(closed) == []
