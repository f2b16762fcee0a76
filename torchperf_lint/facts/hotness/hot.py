"""Why a line is hot, told so that a person can check it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from torchperf_lint.facts.outlines.records import Function
from torchperf_lint.facts.roles.role import EACH_LOSS, EACH_STEP, EVERY_CALL, Role
from torchperf_lint.model import Confidence

Story = tuple["str | tuple[str, int]", ...]
"""Words, and places as (path, line)."""


def told(story: Story, home: str) -> str:
    """A story for a reader of the file `home`: places there are plain line numbers."""
    return "".join([part if isinstance(part, str) else place(*part, home) for part in story])


def place(path: str, line: int, home: str) -> str:
    """A place as a reader of the file `home` finds it."""
    return f"line {line}" if path == home else f"{path}:{line}"


@dataclass(frozen=True)
class Hot:
    """Why a line runs often."""

    kind: str
    """step, eval, rollout, forward, data (in a loader's worker), update (an optimizer or meter), or elements (a loop
    that repeats a read, whatever calls it)."""
    because: str
    """The reason in words, with places."""
    when: str
    """A few words for a message: `every training step (the loop at line 12)`."""
    confidence: Confidence
    path: str
    line: int
    """Where the loop or hot function stands, 1-based."""
    depth: int = 0
    """Calls between the loop and the line."""
    loop: tuple[str, int] | None = None
    """(path, region) of the loop."""
    optional: bool = False
    """Whether only a caller that asks for it gets there: behind a parameter that is off by default."""
    story: Story = ()
    """`because` in parts, so that it can be told again from another file."""
    evaluates: bool = False
    """Whether the line runs only while the module is evaluated, though what makes it hot runs in training too."""
    of: tuple[str, int] | None = None
    """(path, index) of the class of the object that the line's method runs on, or of a base; see receivers.py."""


def of_role(function: Function, path: str, role: Role) -> Hot:
    """Why a function of a file is hot by what it is."""
    story: Story = (f"`{function.qualname}` (", (path, function.header_line), f") {role.because}")
    when = f"{role.when} (`{function.qualname}`)"
    because = told(story, path)
    of = (path, function.class_index) if function.class_index >= 0 else None
    return Hot(role.kind, because, when, role.confidence, path, function.header_line, story=story, of=of)


def called_at(hot: Hot) -> tuple[str, int] | None:
    """Where the last call of a reason stands, (path, line); None where it names none."""
    story = hot.story
    for number in range(len(story) - 2, -1, -1):
        part, place = story[number], story[number + 1]
        if isinstance(part, str) and part.endswith("called at "):
            return place if isinstance(place, tuple) else None
    return None


def through_loop(hot: Hot, detail: str, called: tuple[str, int], home: str, of: tuple[str, int] | None = None) -> Hot:
    """Why a function of the file `home` is hot that is called, at a place, in the loop that makes `hot` so."""
    often, at = hot.when.partition(" (")[0], (hot.path, hot.line)
    story: Story = (f"it runs {often}: called at ", called, f", in the loop `{detail}` (", at, ")")
    when = f"{often} (called from `{detail}`, {place(*at, home)})"
    return Hot(hot.kind, told(story, home), when, hot.confidence, hot.path, hot.line, 1, hot.loop, story=story, of=of)


def through_call(hot: Hot, name: str, called: tuple[str, int], home: str, of: tuple[str, int] | None = None) -> Hot:
    """Why a function of the file `home` is hot that is called, at a place, by one of that name, which is hot."""
    story: Story = (*hot.story, "; called at ", called, f" by `{name}`")
    # `dataclasses.replace` takes twice as long, and there is a reason for every call of hot code.
    kind, when, confidence, path, line, loop = hot.kind, hot.when, hot.confidence, hot.path, hot.line, hot.loop
    because, depth = told(story, home), hot.depth + 1
    return Hot(kind, because, when, confidence, path, line, depth, loop, hot.optional, story, hot.evaluates, of)


def in_evaluation(hot: Hot) -> Hot:
    """Why code is hot that only evaluation gets to, from what runs in training too: the loop that is named trains."""
    when = hot.when
    if when.startswith(_TRAINING):
        when = _EVALUATION + when.removeprefix(_TRAINING).replace(" (called from", " (in training called from", 1)
    return replace(hot, evaluates=True, when=when)


_TRAINING, _EVALUATION = "every training step", "every evaluation batch"


def is_offered(hot: Hot, callee: str = "") -> bool:
    """Whether it is a guess how often code runs: what a library offers and nothing in it calls; no call of `self`."""
    return hot.when.startswith(f"{EVERY_CALL} (") and not callee.startswith("self.")


def comes_last(hot: Hot) -> bool:
    """Whether any other reason tells more: evaluations, guesses, and what an agent does where nobody sees its loop."""
    return hot.evaluates or hot.confidence is Confidence.POSSIBLE or hot.when.startswith((EACH_STEP, EACH_LOSS))
