"""The nouns every part shares: immutable, standard library only.

Lines and columns are 1-based and counted in Unicode code points; the end column is exclusive.
Paths are POSIX; inside the working directory they are relative to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import TypeVar

_Word = TypeVar("_Word", bound="_Ranked")


class _Ranked(str, Enum):
    """A word with an order: the first member declared ranks highest."""

    @cached_property
    def rank(self) -> int:
        """0 for the first member declared."""
        return list(type(self)).index(self)

    def at_least(self, other: _Ranked) -> bool:
        """Whether this word ranks as high as `other` or higher."""
        return self.rank <= other.rank

    def at_most(self: _Word, other: _Word) -> _Word:
        """This word, or `other` where that ranks lower."""
        return other if self.at_least(other) else self

    def __str__(self) -> str:
        return str(self.value)


class Severity(_Ranked):
    """How much a finding matters when it is right. `info` never fails a run unless asked to."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Confidence(_Ranked):
    """How much of a finding is proved: types and hotness, strong inference, or shape only."""

    CERTAIN = "certain"
    LIKELY = "likely"
    POSSIBLE = "possible"


class Safety(_Ranked):
    """What a fix may change: nothing, numerics or timing of reads, or it is only shown."""

    SAFE = "safe"
    UNSAFE = "unsafe"
    DISPLAY = "display"


@dataclass(frozen=True, order=True)
class Location:
    """A span of source text."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    cell: int | None = field(default=None, compare=False)
    """1-based notebook cell; lines then count within the cell."""


@dataclass(frozen=True, order=True)
class Related:
    """Another place that belongs to a finding, with what it contributes."""

    location: Location
    message: str
    same: bool = field(default=False, compare=False)
    """Whether the rule found there what it found at the finding's own place: the two were merged."""


@dataclass(frozen=True)
class Edit:
    """Replace the code points `start:end` of the file's text (0-based, end exclusive)."""

    start: int
    end: int
    text: str

    def touches(self, other: Edit) -> bool:
        """Whether the result of both depends on their order: they share text, or one inserts at the other's rim."""
        if self.start == self.end or other.start == other.end:
            return self.start <= other.end and other.start <= self.end
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True)
class Fix:
    """Edits that belong together."""

    safety: Safety
    edits: tuple[Edit, ...]

    def applies(self, unsafe: bool) -> bool:
        """Whether it may be applied, with or without unsafe ones."""
        return self.safety is Safety.SAFE or (unsafe and self.safety is Safety.UNSAFE)


@dataclass(frozen=True)
class Finding:
    """One thing worth changing, with the reasons in words a reader can check."""

    code: str
    name: str
    location: Location
    severity: Severity
    confidence: Confidence
    message: str
    """What the line does and when; one line, names the loop."""
    why_tensor: str | None
    """Why the value is a tensor on the device, with the line that shows it."""
    why_hot: str | None
    """Why the line runs often, with the loop or caller that shows it."""
    instead: str
    """What to write instead."""
    url: str
    related: tuple[Related, ...] = ()
    callers: tuple[Related, ...] = ()
    """Where loops call the function that the finding is in, if that is why its line is hot."""
    root_cause: str | None = None
    """Findings with the same key have one cause and are merged by lint.py."""
    leads: bool = True
    """Among merged findings, whether this one sits at the line to change first."""
    covers: tuple[str, ...] = ()
    """Root causes of other findings that this one tells already: they merge into it."""
    fix: Fix | None = None
    loop: Location | None = None
    """The whole loop, where a finding is about all that one does and not about what it goes over."""
    happens: tuple[Location, ...] = ()
    """Where else what it is about happens: in `x[2:4] = torch.tensor(shape)` the copy is that of the assignment."""
    merged: tuple[Finding, ...] = ()
    """What became this one, each as it was found, its own first; empty where it was found alone."""
    verdict: Verdict | None = None

    @property
    def advice(self) -> str:
        """What to write instead, as far as a run is known to tell: `instead` where none is."""
        return self.verdict.instead if self.verdict is not None and self.verdict.instead is not None else self.instead

    @property
    def places(self) -> tuple[Location, ...]:
        """Where the rule found it: its own place first, then where that happens, and those that were merged into it."""
        return (self.location, *self.happens, *(related.location for related in self.related if related.same))

    @property
    def sort_key(self) -> tuple[object, ...]:
        """Path, then position, then code: the order of every report."""
        at = self.location
        return (at.path, at.cell or 0, at.line, at.column, self.code, at.end_line, at.end_column, self.message)


@dataclass(frozen=True)
class Problem:
    """Something that could not be checked, or fixed. `line` is 1-based, or None for the whole file."""

    path: str
    line: int | None
    reason: str
    rule: str | None = None
    task: str = "checked"
    """What could not be done: checked or fixed."""

    @property
    def sort_key(self) -> tuple[str, int, str, str, str]:
        """Path, line, rule, reason, task."""
        return (self.path, self.line or 0, self.rule or "", self.reason, self.task)


@dataclass(frozen=True)
class Report:
    """What one static run found, sorted; merged and suppressed already."""

    findings: tuple[Finding, ...] = ()
    problems: tuple[Problem, ...] = ()
    files: int = 0
    """How many files were asked about (read or in `problems`)."""
    suppressed: int = 0
    """How many findings comments silenced."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Wall time by phase and rule, in seconds; for --timings only."""
    fixed: tuple[Finding, ...] = ()
    """What was found and is gone, since it was fixed."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """By path, the texts in which the findings' fixes count: what was linted of each file with findings."""


class Outcome(str, Enum):
    """What a run says about a finding."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    NOT_REACHED = "not-reached"
    UNOBSERVABLE = "unobservable"


@dataclass(frozen=True)
class Verdict:
    """An outcome with its reason and, where a device was there, its price. None is "not measured"."""

    outcome: Outcome
    reason: str
    blocked_ms_per_step: float | None = None
    bubble_ms_per_step: float | None = None
    share_of_step: float | None = None
    times: float | None = None
    """How often what it rests on happens, in a turn of `times_per`: the same events that the reason counts."""
    times_per: str | None = None
    """"step" or "evaluation batch"; None as `times` is."""
    instead: str | None = None
    """What to do, where the run knows better than the finding, which only had the code."""


@dataclass(frozen=True)
class Diagnosis:
    """What bounds a run, with the numbers it rests on."""

    code: str
    name: str
    title: str
    evidence: str
    advice: str
