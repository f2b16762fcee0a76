"""The one table of settings: configuration keys, command-line flags and --show-settings are made from it.

A reader turns what a TOML file or a flag says into the value a Settings field holds; it raises ValueError with
what was expected.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from typing import TypeVar

from torchperf_lint import catalog
from torchperf_lint.model import Confidence, Severity
from torchperf_lint.patterns import pattern

_Word = TypeVar("_Word", bound=Enum)
_SELECTOR = pattern(r"ALL|[A-Z]+\d*")
_VERSION = pattern(r"\d+\.\d+(\.\d+)?")
PerFile = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class Option:
    """One setting. Its key in a file is the flag's long name."""

    name: str
    read: Callable[[object], object]
    help: str
    metavar: str = ""
    """How the flag's value is called; empty for a flag without a value."""
    choices: tuple[str, ...] = ()
    many: bool = False
    """The flag may be repeated and takes comma-separated values."""
    negatable: bool = False
    """There is a `--no-` flag beside it, to set a file aside."""

    @property
    def field(self) -> str:
        """The field of Settings that the option sets."""
        return self.name.replace("-", "_")


def _strings(raw: object) -> tuple[str, ...]:
    """A TOML list of strings, or flags with comma-separated values."""
    if isinstance(raw, str) or not isinstance(raw, (list, tuple)) or not all(isinstance(x, str) for x in raw):
        raise ValueError("must be a list of strings")
    return tuple(part.strip() for x in raw for part in x.split(",") if part.strip())


def _selectors(raw: object) -> tuple[str, ...]:
    found = _strings(raw)
    for selector in found:
        if not catalog.is_selector(selector):
            raise ValueError(f"unknown code {selector!r}{did_you_mean(_nearest_code(selector))}")
    return found


def _nearest_code(selector: str) -> str | None:
    by_name = {rule.name: rule.code for rule in catalog.rule_classes()}
    known = [*catalog.known_codes(), *by_name, "ALL"]
    near = nearest(selector, known) or nearest(selector.upper(), known)
    return by_name.get(near, near) if near else None


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word most like `word`, if any is alike."""
    return next(iter(get_close_matches(word, sorted(known), n=1)), None)


def did_you_mean(word: str | None) -> str:
    """The end of an error message."""
    return f"; did you mean {word!r}?" if word else ""


def _per_file(raw: object) -> PerFile:
    """A TOML table of pattern -> codes, (pattern, codes) pairs, or flags like `tests/*:TPL101,TPL103`."""
    if isinstance(raw, (list, tuple)):
        pairs = all(isinstance(item, tuple) for item in raw)
        raw = dict(raw) if pairs else _per_file_table(raw)
    if not isinstance(raw, Mapping) or not all(isinstance(pattern, str) for pattern in raw):
        raise ValueError('must be a table of pattern = [codes], like "scripts/*" = ["TPL101"]')
    return tuple((pattern, _selectors(codes)) for pattern, codes in raw.items())


def _per_file_table(raw: Iterable[object]) -> dict[str, list[str]]:
    table: dict[str, list[str]] = {}
    pattern = None
    for token in re.split(r"[,\s]+", ",".join(map(str, raw)).strip(", ")):
        before, colon, code = token.rpartition(":")
        pattern = before if colon else pattern
        if not pattern or not _SELECTOR.fullmatch(code):
            raise ValueError(f"must be PATTERN:CODE,..., not {token!r}")
        table.setdefault(pattern, []).append(code)
    return table


def _flag(raw: object) -> bool:
    if not isinstance(raw, bool):
        raise ValueError("must be true or false")
    return raw


def _text(raw: object) -> str:
    if not isinstance(raw, str) or not raw:
        raise ValueError("must be a string")
    return raw


def _torch_version(raw: object) -> str:
    if not isinstance(raw, str) or not _VERSION.fullmatch(raw):
        raise ValueError('must be a version of torch in quotes, like "2.3"')
    return raw


def _count(raw: object) -> int:
    if isinstance(raw, str) and raw.isdecimal():
        raw = int(raw)
    if isinstance(raw, bool) or not isinstance(raw, int) or raw < 1:
        raise ValueError("must be a whole number, 1 or more")
    return raw


def _word(words: type[_Word]) -> Callable[[object], _Word]:
    def read(raw: object) -> _Word:
        allowed = [str(word.value) for word in words]
        if not isinstance(raw, str) or raw not in allowed:
            near = did_you_mean(nearest(raw, allowed)) if isinstance(raw, str) else ""
            raise ValueError(f"must be one of {', '.join(allowed)}{near}")
        return words(raw)

    return read


def _words(words: type[Enum]) -> tuple[str, ...]:
    return tuple(str(word.value) for word in words)


OPTIONS: tuple[Option, ...] = (
    Option("select", _selectors, "run only these rules: codes, prefixes, or ALL", "CODES", many=True),
    Option("ignore", _selectors, "leave these rules out; the longer code wins over --select", "CODES", many=True),
    Option("extend-select", _selectors, "run these rules too", "CODES", many=True),
    Option("extend-ignore", _selectors, "leave these rules out too", "CODES", many=True),
    Option("per-file-ignores", _per_file, "leave rules out of some files", "PATTERN:CODES", many=True),
    Option(
        "confidence",
        _word(Confidence),
        "show findings that are at least this sure",
        "LEVEL",
        choices=_words(Confidence),
    ),
    Option(
        "severity",
        _word(Severity),
        "show findings that matter at least this much",
        "LEVEL",
        choices=_words(Severity),
    ),
    Option("target-torch", _torch_version, "the oldest torch the code must run on, like 2.3", "VERSION"),
    Option(
        "fail-on",
        _word(Severity),
        "exit 1 from this severity on",
        "LEVEL",
        choices=_words(Severity),
    ),
    Option("fix", _flag, "fix what can be fixed safely", negatable=True),
    Option("unsafe-fixes", _flag, "also fix what may change results, see each rule's Fix safety", negatable=True),
    Option("show-fixes", _flag, "list what was fixed", negatable=True),
    Option("exclude", _strings, "never read these, in place of the usual list", "PATTERNS", many=True),
    Option("extend-exclude", _strings, "never read these either", "PATTERNS", many=True),
    Option("force-exclude", _flag, "leave out what is excluded or skipped even when it is named"),
    Option(
        "default-skip",
        _strings,
        "do not report on these unless they are named: tests and benchmarks, by default",
        "PATTERNS",
        many=True,
    ),
    Option("jobs", _count, "how many processes to use", "N"),
    Option("no-cache", _flag, "neither read nor write the cache"),
    Option("cache-dir", _text, "where to keep the cache", "DIR"),
)
BY_NAME: Mapping[str, Option] = {option.name: option for option in OPTIONS}
BY_FIELD: Mapping[str, Option] = {option.field: option for option in OPTIONS}
