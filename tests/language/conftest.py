"""Finds in the source every code that a room hands up for people to read."""

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "gputuner"
CODE = re.compile(r"[a-z][a-z0-9_]*(\.[a-z0-9_]+)*")
ERRORS = re.compile(r"\w*Error|NoCard|NotSupported|NoPermission|DeviceLost|CardBusy|DoesNotFit")
WARNERS = {"warn", "Warn", "Warned", "Notice", "VisibleNote", "tell", "_note"}
NOT_OURS = {"ValueError", "KeyError", "TypeError", "OSError", "RuntimeError", "LookupError", "IndexError"}


class Codes:
    """Codes by kind, each with the files that use it."""

    def __init__(self) -> None:
        self.errors: dict[str, str] = {}
        self.warnings: dict[str, str] = {}
        self.labels: dict[str, str] = {}
        self.metrics: dict[str, str] = {}
        self.advice: dict[str, str] = {}
        self.questions: dict[str, str] = {}
        self.findings: dict[str, str] = {}
        for path in sorted(PACKAGE.rglob("*.py")):
            where = path.relative_to(PACKAGE).as_posix()
            if not where.startswith(("language/", "gui/")):
                for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                    self._take(node, where)

    def _take(self, node: ast.AST, where: str) -> None:
        if isinstance(node, ast.Tuple):
            self._take_table(node, where)
        if not isinstance(node, ast.Call):
            return
        name = _name(node.func)
        first = _code(node.args[0]) if node.args else None
        named = {keyword.arg: code for keyword in node.keywords if (code := _code(keyword.value))}
        if ERRORS.fullmatch(name) and name not in NOT_OURS and first:
            self.errors[first] = where
        if name in WARNERS and (code := named.get("code") or first):
            self.warnings[code] = where
        if name in {"Finding", "_finding"} and (code := named.get("code") or first):
            self.findings[code] = where
        if "label" in named:
            self.labels[named["label"]] = where
        if name == "settle" and first:
            self.labels[first] = where
        if name in {"figure", "rate"} and first and where.startswith("experiments/"):
            self.metrics[first] = where
        if name == "make" and first and where.startswith("advice/"):
            self.advice[first] = where
        if name in {"ask", "Question"} and (code := named.get("id") or first) and where.startswith("advice/"):
            self.questions[code] = where

    def _take_table(self, node: ast.Tuple, where: str) -> None:
        """An entry of a table of errors: (class, code, text)."""
        if len(node.elts) == 3 and ERRORS.fullmatch(_name(node.elts[0])) and (code := _code(node.elts[1])):
            self.errors[code] = where


def _name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _code(node: ast.AST) -> str | None:
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return node.value if is_text and CODE.fullmatch(node.value) else None


@pytest.fixture(scope="session")
def codes() -> Codes:
    return Codes()
