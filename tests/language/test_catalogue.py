"""The Chinese catalogue is complete, current and consistent."""

import ast
import importlib.util
import re
from pathlib import Path
from string import Formatter
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHARED = {"BF16", "FP8", "TF32", "NVLink", "VBIOS", "WSL", "IOMMU", "Python", "gputuner"}
"""Strings that read the same in both languages."""


@pytest.fixture(scope="module")
def extraction() -> ModuleType:
    spec = importlib.util.spec_from_file_location("extract_words", ROOT / "packaging/extract_words.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def found(extraction):
    return {message.id for message in extraction.extract() if message.id}


@pytest.fixture(scope="module")
def kept(extraction):
    return {message.id: message for message in extraction.stored() if message.id}


def test_the_extraction_sees_the_program(found):
    assert len(found) > 400
    assert "power limit" in found


def test_no_string_is_missing(found, kept):
    assert sorted(map(str, found - set(kept))) == [], "run packaging/extract_words.py and translate"


def test_no_string_is_stale(found, kept):
    assert sorted(map(str, set(kept) - found)) == [], "run packaging/extract_words.py"


def test_every_string_is_translated(kept):
    empty = [key for key, message in kept.items() if not all(_forms(message.string))]
    assert empty == []


def test_no_translation_is_fuzzy(kept):
    assert [key for key, message in kept.items() if message.fuzzy] == []


def test_placeholders_are_the_same(kept):
    differing = [
        key
        for key, message in kept.items()
        for form in _forms(message.string)
        if form and _fields(form) != _fields(key if isinstance(key, str) else key[-1])
    ]
    assert differing == []


def test_translations_are_chinese(kept):
    plain = re.compile(r"[\x00-\x7f×…·—%°µ]*")
    odd = [
        key
        for key, message in kept.items()
        if isinstance(key, str)
        and message.string == key
        and key not in SHARED
        and re.search(r"[a-z]{3}", re.sub(r"\{[^}]*\}", "", key))
        and plain.fullmatch(key)
    ]
    assert [key for key in odd if " " in key] == []


def test_no_string_hides_in_an_f_string():
    """Extraction on Python 3.11 does not look into f-strings."""
    hidden = [
        f"{path.relative_to(ROOT)}:{call.lineno}"
        for path in (ROOT / "gputuner").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.JoinedStr)
        for call in ast.walk(node)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id in {"_", "N_", "NN_", "ngettext"}
        and any(isinstance(argument, ast.Constant) for argument in call.args)
    ]
    assert hidden == []


def _forms(string: str | tuple[str, ...] | list[str]) -> tuple[str, ...]:
    return (string,) if isinstance(string, str) else tuple(string)


def _fields(text: str) -> set[tuple[str, str]]:
    return {(name, spec or "") for _text, name, spec, _conversion in Formatter().parse(text) if name}


def test_chinese_has_its_own_punctuation(kept):
    """Half-width marks beside Chinese only in what is typed as it stands: a recipe's place, a shape, a call."""
    typed = re.compile(r"\{[^}]*\}|文件\.py:函数|模块:函数|\[[^\]]*\]|\w+\(n\)|`[^`]*`")
    wrong = re.compile(r"[\u4e00-\u9fff）”][,;:!?()]|[,;:!?()][\u4e00-\u9fff]")
    found = [form for message in kept.values() for form in _forms(message.string) if wrong.search(typed.sub("x", form))]
    assert found == []
