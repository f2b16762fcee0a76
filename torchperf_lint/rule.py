"""The rule contracts. A class that breaks its contract fails at import, with the reason.

A rule is one module in `torchperf_lint/rules/` named `<code>_<name>.py` in lower case, holding one
public class. Its docstring is the documentation, `--explain`, and a test: the code under `Example`
must fire, the code under `Use instead` and `When it is fine` must not.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from torchperf_lint.errors import RuleContractError
from torchperf_lint.evidence import Evidence
from torchperf_lint.model import (
    Confidence,
    Diagnosis,
    Finding,
    Fix,
    Location,
    Outcome,
    Related,
    Severity,
    Verdict,
)
from torchperf_lint.patterns import pattern
from torchperf_lint.recorded import Event

if TYPE_CHECKING:
    import ast

    from torchperf_lint.facts.files.project import Project
    from torchperf_lint.facts.files.source import Place, SourceFile
    from torchperf_lint.facts.hotness.hot import Hot
    from torchperf_lint.facts.processes.text_files import TextFile
    from torchperf_lint.facts.processes.text_settings import TextSetting
    from torchperf_lint.facts.values.value import Value

DOCS_URL = "https://torchperf-lint.readthedocs.io/rules"
SECTIONS = (
    "What it does",
    "Why it is slow",
    "Example",
    "Use instead",
    "When it is fine",
    "Fix safety",
    "Confirmed by",
    "References",
)
_CODE = pattern(r"TPL\d{3}")
_NAME = pattern(r"[a-z0-9]+(-[a-z0-9]+)+")
_SECTION = pattern(r"^## (.+)$", re.MULTILINE)
_BELOW_HEADLINE = pattern(r"^[ \t]*## ", re.MULTILINE)
_HEADLINE = pattern(r".{1,115}")
_FENCE = pattern(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


class _Docs:
    """Reads a rule's documentation when it is asked for: a run that only lints needs none."""

    def __init__(self) -> None:
        self._read: dict[type[Rule], dict[str, str]] = {}

    def __get__(self, _rule: Rule | None, cls: type[Rule]) -> dict[str, str]:
        if cls not in self._read:
            self._read[cls] = docstring_sections(cls)
        return self._read[cls]


class Rule:
    """What all rules have in common: an identity and documentation."""

    code: ClassVar[str]
    """Three letters and three digits (flake8 takes nothing longer); never reused."""
    name: ClassVar[str]
    """The pattern, not the cure: "allow item-in-hot-loop" must read well."""
    since: ClassVar[str]
    """The version of torchperf-lint that brought the rule."""
    severity: ClassVar[Severity] = Severity.WARNING
    default: ClassVar[bool] = True
    """Whether the rule runs without being selected."""
    docs = _Docs()
    """Section title -> Markdown, made from the docstring."""

    def __init_subclass__(cls, abstract: bool = False, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if abstract:
            return
        problem = _contract_problem(cls)
        if problem:
            raise RuleContractError(f"{cls.__module__}.{cls.__qualname__}: {problem}")

    @classmethod
    def headline(cls) -> str:
        """What the rule is about, in one line of Markdown: how its docstring begins."""
        # Each rule is asked when it is imported: what follows is not looked at.
        return inspect.cleandoc(_BELOW_HEADLINE.split(cls.__doc__ or "", maxsplit=1)[0]).strip()

    @classmethod
    def url(cls) -> str:
        """Where the rule's documentation is published."""
        return f"{DOCS_URL}/#{cls.code.lower()}"

    @classmethod
    def examples(cls, section: str) -> tuple[str, ...]:
        """The Python blocks of one section of the docstring."""
        return tuple(_FENCE.findall(cls.docs.get(section, "")))


class SourceRule(Rule, abstract=True):
    """A rule over one Python file and what the project knows about it."""

    triggers: ClassVar[tuple[str, ...]]
    """A text with none of these cannot have the finding; skips the rule, never validation."""
    probes: ClassVar[tuple[str, ...]] = ()
    """What the runtime mode must watch to confirm a finding."""
    of_gradients: ClassVar[bool] = False
    """Whether what it is about happens again in the gradient of what its places compute."""
    about_waits: ClassVar[bool] = False
    """Whether it is about waits or copies at its places though no probe could confirm it by them."""

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield findings; pure, and independent of other rules and files checked before."""
        raise NotImplementedError

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """Judge a finding by a recorded run; needs no torch."""
        del finding, run
        return Verdict(Outcome.UNOBSERVABLE, f"no probe tells about {self.code} yet")

    def explains(self, event: Event) -> bool:
        """Whether it could be about a wait or copy at its places; others there are told as ones that nothing names.

        A read of the device may hold an upload that blocks, which is a wait like any; not one that does not.
        """
        if self.about_waits or "transfers" in self.probes:
            return True
        return "host-sync" in self.probes and (event.kind != "copy" or bool(event.attributes.get("blocking")))

    def explained_elsewhere(self, run: Evidence) -> tuple[Event, ...]:
        """Waits that it is about wherever they happen, as those of a mode that the whole process is in."""
        del run
        return ()

    def found(
        self,
        site: Place,
        *,
        message: str,
        instead: str,
        value: Value | None = None,
        hot: Hot | None = None,
        severity: Severity | None = None,
        confidence: Confidence | None = None,
        related: Sequence[Related] = (),
        root_cause: str | None = None,
        leads: bool = True,
        covers: Sequence[str] = (),
        fix: Fix | None = None,
        loop: ast.expr | ast.stmt | None = None,
        happens: ast.expr | None = None,
    ) -> Finding:
        """A finding at `site`; its confidence is the weakest of what it rests on unless given."""
        grounds = [g.confidence for g in (value, hot) if g is not None]
        given = confidence or max(grounds, key=lambda c: c.rank, default=Confidence.CERTAIN)
        told = {(one.location.path, one.location.line) for one in related}
        calls = site.file.called_often(site.function, hot)
        return Finding(
            code=self.code,
            name=self.name,
            location=site.location if given.at_least(site.file.weakest) else _about(site),
            severity=severity or self.severity,
            confidence=given,
            message=message,
            why_tensor=value.because if value is not None else None,
            why_hot=hot.because if hot is not None else None,
            instead=instead,
            url=self.url(),
            related=tuple(sorted(set(related))),
            callers=tuple(c for c in calls if (c.location.path, c.location.line) not in told),
            root_cause=root_cause,
            leads=leads,
            covers=tuple(covers),
            fix=fix,
            loop=_span(site.file, loop) if loop is not None else None,
            happens=(_span(site.file, happens),) if happens is not None else (),
        )


def _about(site: Place) -> Location:
    """Where a finding stands that nobody will see: libcst, which is exact and takes its time, is not asked."""
    return _span(site.file, site.expression)


def _span(file: SourceFile, node: ast.expr | ast.stmt) -> Location:
    start, end = file.span(node)
    return Location(file.shown, *start, *end)


class TextRule(Rule, abstract=True):
    """A rule over files that are not Python: shell, yaml, Dockerfile, .env. A source rule may be one as well."""

    keys: ClassVar[tuple[str, ...]]
    """A text with none of these cannot have the finding."""

    def check_text(self, file: TextFile) -> Iterator[Finding]:
        """Yield findings in one file."""
        raise NotImplementedError

    def found_in_text(
        self, setting: TextSetting, *, message: str, instead: str, severity: Severity | None = None
    ) -> Finding:
        """A finding at a setting: an exact name with a literal, so certain, but where a comment says why."""
        return Finding(
            code=self.code,
            name=self.name,
            location=setting.location,
            severity=severity or self.severity,
            confidence=Confidence.POSSIBLE if setting.explained else Confidence.CERTAIN,
            message=message,
            why_tensor=None,
            why_hot=None,
            instead=instead,
            url=self.url(),
            # A script with twenty commands says it once.
            root_cause=f"{self.code} {setting.variable} in {setting.location.path}",
        )


class RunRule(Rule, abstract=True):
    """A rule over a recorded run; it has no place in the source."""

    def diagnose(self, run: Evidence) -> Iterator[Diagnosis]:
        """Yield what bounds the run, with numbers."""
        raise NotImplementedError


def docstring_sections(cls: type[Rule]) -> dict[str, str]:
    """Section title -> body of a rule's docstring, in order."""
    parts = _SECTION.split(inspect.cleandoc(cls.__doc__ or ""))
    return {title.strip(): body.strip() + "\n" for title, body in zip(parts[1::2], parts[2::2], strict=True)}


def _contract_problem(cls: type[Rule]) -> str | None:
    for attribute in ("code", "name", "since"):
        if not isinstance(getattr(cls, attribute, None), str):
            return f"`{attribute}` is missing"
    if not _CODE.fullmatch(cls.code):
        return f"code {cls.code!r} is not TPL and three digits"
    if not _NAME.fullmatch(cls.name):
        return f"name {cls.name!r} is not lower-case words joined by hyphens"
    file_name = f"{cls.code.lower()}_{cls.name.replace('-', '_')}"
    if cls.__module__.rpartition(".")[2] != file_name:
        return f"must stand in a module called {file_name}"
    text = cls.__doc__ or ""
    if not _HEADLINE.fullmatch(cls.headline()):
        return "the docstring does not begin with one line that says what the rule is about"
    missing = [title for title in SECTIONS if f"## {title}\n" not in text]
    if missing:
        return f"docstring lacks the sections {', '.join(missing)}"
    if issubclass(cls, SourceRule) and not getattr(cls, "triggers", None):
        return "`triggers` is missing or empty"
    if issubclass(cls, TextRule) and not getattr(cls, "keys", None):
        return "`keys` is missing or empty"
    return None
