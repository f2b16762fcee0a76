"""The statements of a text file that every ordinary run comes to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from torchperf_lint.facts.processes.text_files import TextFile, TextKind


class Statement(NamedTuple):
    """One line of a statement; backslashes join lines to one."""

    line: int
    """1-based."""
    first: int
    """The line on which its statement begins."""
    code: str
    """The line without comment and backslash."""
    comment: str
    before: str
    """What the statement says in the lines above this one."""
    after: str
    """What it says in the lines below."""


def plain_statements(file: TextFile) -> Iterator[Statement]:
    """Each line with code that no condition, function, here-document or longer string holds."""
    blocks = _Blocks(file.kind)
    for first, parts in _joined(file):
        codes = [code for _, code, _ in parts]
        if blocks.plain(" ".join(codes)):
            for at, (line, code, comment) in enumerate(parts):
                yield Statement(
                    line, first, code, comment, " ".join([*codes[:at], ""]), " ".join(["", *codes[at + 1 :]])
                )


def _joined(file: TextFile) -> Iterator[tuple[int, list[tuple[int, str, str]]]]:
    """(first line, [(line, code, comment)]) of each statement; a comment line between its lines belongs to none."""
    parts: list[tuple[int, str, str]] = []
    for number, text in enumerate(file.lines, 1):
        code, comment = _split(text)
        open_still = code.endswith("\\")
        if code.strip():
            parts.append((number, _led(file.kind, parts, code.removesuffix("\\")), comment))
        if parts and not open_still and (code.strip() or not comment):
            yield parts[0][0], parts
            parts = []
    if parts:
        yield parts[0][0], parts


def _led(kind: TextKind, parts: list[tuple[int, str, str]], code: str) -> str:
    """A line of a Dockerfile's statement that is no setting of the image, blanked: only ENV sets any."""
    if kind is TextKind.DOCKER and parts and not parts[0][1].lstrip().upper().startswith("ENV"):
        return " "
    return code


def _split(text: str) -> tuple[str, str]:
    """A line's code and comment."""
    if "#" not in text:
        return text.rstrip(), ""
    match = _comment().search(text)
    return (text[: match.start()].rstrip(), text[match.end() :].strip()) if match else (text.rstrip(), "")


@cache
def _comment() -> re.Pattern[str]:
    return re.compile(r"(?:^|(?<=\s))#+")


class _Blocks:
    """Which blocks are open, statement by statement."""

    def __init__(self, kind: TextKind) -> None:
        self.kind = kind
        self.depth = 0
        self.in_function = False
        self.until: str | None = None
        """The word that ends a here-document."""
        self.in_string = False
        self.templates: list[str] = []

    def plain(self, code: str) -> bool:
        """Whether nothing is open around a statement and it opens nothing itself; to be asked in order."""
        if self.until is not None:
            if code.strip() == self.until:
                self.until = None
            return False
        if self.kind is TextKind.YAML:
            self._template(code)
        inside = self.in_string
        if code.count('"') % 2:
            self.in_string = not self.in_string
        if inside:
            return False
        if self.kind in (TextKind.DOCKER, TextKind.ENVIRONMENT):
            return True
        return self._shell(code) and "if" not in self.templates

    def _template(self, code: str) -> None:
        for word in _template_words().findall(code):
            if word != "end":
                self.templates.append(word)
            elif self.templates:
                self.templates.pop()

    def _shell(self, code: str) -> bool:
        here = _here().search(code)
        if here is not None:
            self.until = here["word"]
        if _function().match(code):
            self.in_function = "}" not in code
            return False
        opened = len(_opens().findall(code))
        closed = len(_closes().findall(code))
        plain = not self.depth and not opened and not self.in_function
        self.depth = max(self.depth + opened - closed, 0)
        if self.in_function and code.startswith("}"):
            self.in_function = False
        return plain


@cache
def _here() -> re.Pattern[str]:
    return re.compile(r"<<-?\s*[\"']?(?P<word>[A-Za-z_]\w*)[\"']?")


@cache
def _function() -> re.Pattern[str]:
    return re.compile(r"\s*(?:function\s+[\w-]+|[\w-]+\s*\(\s*\))\s*(?:\(\s*\))?\s*\{?")


@cache
def _opens() -> re.Pattern[str]:
    return re.compile(r"(?:^|[;&|]|\bthen|\belse|\bdo)\s*(?:if|case)\s")


@cache
def _closes() -> re.Pattern[str]:
    return re.compile(r"(?:^|[;&|\s])(?:fi|esac)\b(?!\s*[=:])")


@cache
def _template_words() -> re.Pattern[str]:
    return re.compile(r"\{\{-?\s*(if|range|with|define|block|end)\b")
