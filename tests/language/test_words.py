"""Choosing the language; English wherever there is no compiled catalogue."""

import importlib.util
from pathlib import Path

import pytest

from gputuner.language import words
from gputuner.language.words import _, in_a_row, language, ngettext, preferred_language, set_language

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def compiled(tmp_path: Path) -> Path:
    """A folder with the compiled Chinese catalogue."""
    spec = importlib.util.spec_from_file_location("compile_words", ROOT / "packaging/compile_words.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.compile_words(module.PO, tmp_path / "zh_CN/LC_MESSAGES/gputuner.mo")
    return tmp_path


@pytest.fixture(autouse=True)
def _english_again():
    yield
    set_language("en")


def test_chinese(compiled):
    assert set_language("zh_CN", compiled) == "zh_CN"
    assert language() == "zh_CN"
    assert _("power limit") == "功耗墙"
    assert _("largest safe batch") == "最大安全批大小"


def test_english_is_the_source(compiled):
    set_language("zh_CN", compiled)
    assert set_language("en", compiled) == "en"
    assert _("power limit") == "power limit"
    assert ngettext("{n} card", "{n} cards", 1) == "{n} card"
    assert ngettext("{n} card", "{n} cards", 2) == "{n} cards"


def test_without_a_compiled_catalogue_people_read_english_and_are_told(tmp_path, compiled):
    assert set_language("zh_CN", tmp_path / "empty") == "en"
    assert _("power limit") == "power limit"
    assert "zh_CN" in words.not_compiled()
    assert "make words" in words.not_compiled()
    for tag in ("zh_CN", "en", "fr"):
        set_language(tag, compiled)
        assert words.not_compiled() == ""


def test_an_unknown_tag_means_english(compiled):
    assert set_language("fr", compiled) == "en"


def test_an_unknown_or_empty_string_stays_as_it_is(compiled):
    set_language("zh_CN", compiled)
    assert _("no such string") == "no such string"
    assert _("") == ""


@pytest.mark.parametrize(
    ("variables", "tag"),
    [
        ({"LANG": "zh_CN.UTF-8"}, "zh_CN"),
        ({"LANG": "zh_SG"}, "zh_CN"),
        ({"LANG": "zh"}, "zh_CN"),
        ({"LANG": "zh_Hans_CN.UTF-8@pinyin"}, "zh_CN"),
        ({"LANG": "zh_TW.UTF-8"}, "en"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
        ({"LANG": "C"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "en_GB", "LC_MESSAGES": "zh_CN"}, "zh_CN"),
    ],
)
def test_the_locale_chooses(monkeypatch, variables, tag):
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert preferred_language() == tag


def test_the_system_locale_serves_where_no_variable_is_set(monkeypatch):
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(words.locale, "getlocale", lambda: ("Chinese (Simplified)_China", "936"))
    assert preferred_language() == "zh_CN"


def test_sentences_in_a_row_have_a_blank_between_them_where_the_language_has(compiled):
    assert in_a_row("One.", "", "Two.") == "One. Two."
    set_language("zh_CN", compiled)
    assert in_a_row("一。", "二。") == "一。二。"
