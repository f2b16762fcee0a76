"""Where a shell script, Dockerfile, yaml or .env file sets a variable of the environment that runs find.

Exact names and literal values only. What a condition, a function or a here-document holds, what is only echoed,
what is unset again, and what belongs to a test or a debugger is left to its author.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from torchperf_lint.facts.processes.process_flags import gives_reason
from torchperf_lint.facts.processes.text_blocks import Statement, plain_statements
from torchperf_lint.facts.processes.text_files import TextFile, TextKind
from torchperf_lint.model import Location
from torchperf_lint.patterns import pattern


class TextSetting(NamedTuple):
    """A variable, its value as written, and where."""

    variable: str
    value: str
    location: Location
    explained: bool
    """Whether a comment beside or above says why."""


def text_settings(file: TextFile, variables: Sequence[str]) -> Iterator[TextSetting]:
    """The settings of these variables, in order."""
    present = [name for name in variables if name in file.text]
    if not present or file.apart:
        return
    kept = [name for name in present if not _taken_back(name).search(file.text)]
    for statement in plain_statements(file):
        for name in kept:
            for column, end, value in _set_in(file, statement, name):
                if not any(mark in value for mark in "$%{`<"):
                    at = Location(file.shown, statement.line, column + 1, statement.line, end + 1)
                    yield TextSetting(name, value, at, _explained(file, statement, name))


def _set_in(file: TextFile, statement: Statement, name: str) -> Iterator[tuple[int, int, str]]:
    """(column, end, value) in a statement's line."""
    if name not in statement.code:
        return
    yield from (
        (match.start("whole"), match.end("whole"), match["value"])
        for pattern in _written(file.kind, name)
        for match in [pattern.search(statement.code)]
        if match is not None
    )
    if file.kind is TextKind.YAML:
        yield from _named_value(file, statement, name)
    if file.kind in (TextKind.SHELL, TextKind.YAML):
        for match in _assigned(name).finditer(statement.code):
            before, after = statement.before + statement.code[: match.start()], statement.code[match.end() :]
            if _takes_effect(file, before, after + statement.after, name):
                yield match.start(), match.end(), match["value"]


@cache
def _assigned(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w$\"'{{/.-]){name}=(?P<quote>[\"']?)(?P<value>[^\s\"';|&()]*)(?P=quote)(?=[\s;|&)]|$)")


@cache
def _written(kind: TextKind, name: str) -> tuple[re.Pattern[str], ...]:
    """How other files than shell scripts write it."""
    quoted = r"(?P<quote>[\"']?)(?P<value>[^\s\"',}]*)(?P=quote)"
    if kind is TextKind.DOCKER:
        forms = [
            rf"^\s*ENV\s+(?:[^\s=]+=.*\s)?(?P<whole>{name}={_QUOTED})\s*(?:\s\S|$)",
            rf"^\s*ENV\s+(?P<whole>{name}\s+{_QUOTED})\s*$",
            rf"^\s*(?!ENV\b|ARG\b|RUN\b|CMD\b|ENTRYPOINT\b|LABEL\b)(?:\w+=\S*\s+)*(?P<whole>{name}={_QUOTED})(?:\s|$)",
        ]
    elif kind is TextKind.ENVIRONMENT:
        forms = [rf"^\s*(?:export\s+)?(?P<whole>{name}\s*=\s*{_QUOTED})\s*$"]
    elif kind is TextKind.YAML:
        forms = [
            rf"^\s*(?:-\s+)?[\"']?(?P<whole>{name}[\"']?\s*:\s*{_QUOTED})\s*$",
            rf"[{{,]\s*[\"']?(?P<whole>{name}[\"']?\s*:\s*{quoted})\s*[,}}]",
            rf"^\s*-\s+(?P<outer>[\"']?)(?P<whole>{name}=(?P<value>[^\s\"']*))(?P=outer)\s*$",
        ]
    else:
        forms = []
    return tuple(re.compile(form) for form in forms)


_QUOTED = r"(?P<quote>[\"']?)(?P<value>[^\s\"']*)(?P=quote)"


def _named_value(file: TextFile, statement: Statement, name: str) -> Iterator[tuple[int, int, str]]:
    """Kubernetes: `- name: NAME` and, on the next line, `value: "1"`."""
    match = _k8s_name(name).match(statement.code)
    following = file.lines[statement.line] if statement.line < len(file.lines) else ""
    value = _k8s_value().match(following) if match else None
    if match and value:
        yield match.start("whole"), match.end("whole"), value["value"]


@cache
def _k8s_name(name: str) -> re.Pattern[str]:
    return re.compile(rf"^\s*-\s+name:\s*(?P<whole>[\"']?{name}[\"']?)\s*$")


@cache
def _k8s_value() -> re.Pattern[str]:
    return re.compile(rf"^\s*value:\s*{_QUOTED}\s*(?:#.*)?$")


def _takes_effect(file: TextFile, before: str, after: str, name: str) -> bool:
    """Whether an assignment in a shell's line reaches a program that may well be a training run."""
    if _CONDITION.search(before) or _WATCHED.search(before + after):
        return False
    head = _SEPARATOR.split(before)[-1]
    if file.kind is TextKind.YAML:
        head = _YAML_KEY.sub("", head)
        if _EXPORTING.match(head):
            return True
        return bool(_ONLY_ASSIGNMENTS.match(head) and _RUNS.match(_SEPARATOR.split(after)[0]))
    if not _ONLY_ASSIGNMENTS.match(head):
        return not _TALKS.match(head)
    command = _ASSIGNMENTS.sub("", _SEPARATOR.split(after)[0]).strip()
    return bool(command) or bool(_exported(name).search(file.text))


_CONDITION = pattern(r"\[\s|\btest\s|\|\|\s*$|\{\{")
_WATCHED = pattern(
    r"\b(?:py\.?test|unittest|compute-sanitizer|cuda-(?:gdb|memcheck)|gdb|nsys|ncu|nvprof|pdb|debugpy)\b"
    r"|\btest_\w+\.py|--debug\b|debug\w*\.(?:py|sh)\b"
)
"""Who starts these looks for a fault or measures."""
_SEPARATOR = pattern(r"&&|\|\||[;|&(]|\bthen\b|\bdo\b")
_YAML_KEY = pattern(r"^\s*(?:-\s+)*(?:(?:run|cmd|command|script|setup|entrypoint|args)\s*:\s*)?[\"']?")
_EXPORTING = pattern(r"\s*(?:export|env)\s+(?:\w+=\S*\s+)*$")
_ONLY_ASSIGNMENTS = pattern(r"\s*(?:\w+=\S*\s+)*$")
_ASSIGNMENTS = pattern(r"^\s*(?:\w+=(?:\"[^\"]*\"|'[^']*'|\S*)(?:\s+|$))*")
_RUNS = pattern(
    r"\s*(?:\w+=\S*\s+)*(?:\S*/)?(?:python[\d.]*|torchrun|accelerate|deepspeed|srun|mpirun|uv|bash|sh|composer|nohup)\b"
)
_TALKS = pattern(
    r"\s*(?:echo|printf|cat|grep|sed|awk|local|alias|read|return|if|elif|while|until|case|log|info|die|error|warn)\b"
)


@cache
def _exported(name: str) -> re.Pattern[str]:
    return re.compile(rf"^\s*(?:export\s[^=\n]*\b{name}\b(?!=)|set\s+-\w*a|set\s+-o\s+allexport)", re.MULTILINE)


@cache
def _taken_back(name: str) -> re.Pattern[str]:
    return re.compile(rf"^\s*unset\s[^\n#]*\b{name}\b", re.MULTILINE)


_CAPITALS = pattern(r"\b[A-Z][A-Z0-9_]{3,}\b(?:=\S*)?")
"""Names of variables, and settings that were commented out."""


def _explained(file: TextFile, statement: Statement, name: str) -> bool:
    """Whether a comment on the line, or right above what it stands in, gives a reason or speaks of the variable."""
    told = [statement.comment]
    above = statement.first - 1
    while above > 0 and file.lines[above - 1].lstrip().startswith("#"):
        told.append(file.lines[above - 1].lstrip(" \t#"))
        above -= 1
    text = " ".join(told)
    words = _CAPITALS.sub("", text).lower()
    return gives_reason(words) or "debug" in words or (name in text and f"{name}=" not in text)
