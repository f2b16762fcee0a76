"""What Dynamo's figure sheet of one compilation says: which code, how long, why again, why not."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import CodeType
from typing import Any, NamedTuple

from torchperf_lint.patterns import pattern
from torchperf_lint.runtime.sites import LIBRARY, PROJECT, Sites, Spot

At = tuple[str, int, str]
"""File name, line, function."""
FIRST, AGAIN, LIMIT, FAILED, BACKWARD = "first", "again", "limit", "failed", "backward"
"""What becomes of a compilation: the first of a function; another one, as a guard failed; none, as there were too many
already; none, as the function cannot be compiled; a graph for the backward pass."""
_RESUMED = pattern(r"^torch_dynamo_resume_in_(.+)_at_\d+$")
_NUMBER = pattern(r"(?<=[=<>] )-?\d[\d.e+-]*|(?<=expected )\S+(?=,)|(?<=actual )\S+|(?<=len )\d+")
_OF_COMPILATION = pattern(r"^!?[\d/]+: ")
_FILE = pattern(r'File "([^"]+)", line (\d+)')
_COMMENT = pattern(r"\s{2,}# (.*?)  # (\S+):(\d+) in ")
_EXPLANATION = pattern(r"Explanation: (.+)")
_MOST_LETTERS = 200
_LIMITS = ("recompile limit", "recompile_limit", "cache_size_limit", "cache limit")


class Frame(NamedTuple):
    """A function, or what is left of it after a break."""

    filename: str
    line: int
    last_line: int | None
    function: str
    resumed: bool


def frame_of(sheet: Any, codes: Iterable[Any]) -> Frame:  # noqa: ANN401
    """`codes`: weak references to what Dynamo has been asked to compile, the newest last."""
    named = _RESUMED.match(sheet.co_name or "")
    function = named.group(1) if named else sheet.co_name or ""
    last = next((_last_line(code) for code in _reversed(codes) if _is_of(code, sheet)), None)
    return Frame(sheet.co_filename, sheet.co_firstlineno or 0, last, function, named is not None)


def _reversed(references: Iterable[Any]) -> Iterable[CodeType]:
    found = (reference() for reference in reversed(list(references)))
    return (code for code in found if code is not None)


def _is_of(code: CodeType, sheet: Any) -> bool:  # noqa: ANN401
    known = (code.co_filename, code.co_firstlineno, code.co_name)
    return known == (sheet.co_filename, sheet.co_firstlineno, sheet.co_name)


def _last_line(code: CodeType) -> int:
    return max((line for _, _, line in code.co_lines() if line is not None), default=code.co_firstlineno)


def kind_of(sheet: Any) -> str:  # noqa: ANN401
    """One of FIRST, AGAIN, LIMIT, FAILED, BACKWARD."""
    reason = (sheet.fail_reason or "").lower()
    if sheet.fail_type is not None or reason:
        return LIMIT if any(words in reason for words in _LIMITS) else FAILED
    # 2.4 and 2.5 have a sheet of another class for backward passes, which names no function.
    if getattr(sheet, "is_forward", None) is False or not hasattr(sheet, "co_name"):
        return BACKWARD
    # Before torch said why it is compiled again (2.6 does not), that it was compiled already says that it is.
    again = getattr(sheet, "recompile_reason", None) or sheet.cache_size
    return AGAIN if again else FIRST


def ms_of(sheet: Any) -> float | None:  # noqa: ANN401
    """How long the compilation took; None where it does not say."""
    duration = getattr(sheet, "duration_us", None)
    if duration is not None:
        return float(duration) / 1000
    seconds = getattr(sheet, "entire_frame_compile_time_s", None)
    return seconds * 1000 if seconds is not None else None


def why(sheet: Any, compiled: str, shown: Callable[[str], str]) -> dict[str, Any]:  # noqa: ANN401
    """Which guard failed (its numbers as "...", for they differ each time), and the line that it guards for."""
    if compiled == FAILED:
        return reason_of(sheet.fail_reason or "")
    reason = getattr(sheet, "recompile_reason", None)
    if not reason:
        return {}
    text = _OF_COMPILATION.sub("", reason, count=1)
    guard = _NUMBER.sub("...", text.partition("\n")[0].partition("  # ")[0].strip())
    found: dict[str, Any] = {"guard": guard[:_MOST_LETTERS]}
    place = _FILE.search(text)
    comment = _COMMENT.search(text)
    if place is not None:
        found["at"] = (shown(place.group(1)), int(place.group(2)))
    elif comment is not None and str(sheet.co_filename).endswith(comment.group(2)):
        found["at"] = (shown(sheet.co_filename), int(comment.group(3)))
    return found


def reason_of(text: str) -> dict[str, Any]:
    """Dynamo's own words: the first line, and the sentence that explains it."""
    explained = _EXPLANATION.search(text)
    found: dict[str, Any] = {"reason": text.partition("\n")[0].strip()[:_MOST_LETTERS]}
    if explained is not None:
        found["explanation"] = explained.group(1).strip()[:_MOST_LETTERS]
    return found


def spot(stack: Iterable[At], sites: Sites) -> Spot | None:
    """The innermost place that is somebody's code, and the project's line above it where that is a library."""
    library: At | None = None
    for at in reversed(list(stack)):
        kind = sites.kind_of(at[0])
        if kind == PROJECT:
            return Spot(*_cleaned(library), via=at[:2]) if library is not None else Spot(*_cleaned(at))
        if kind == LIBRARY and library is None:
            library = at
    return Spot(*_cleaned(library)) if library is not None else None


def _cleaned(at: At) -> At:
    named = _RESUMED.match(at[2])
    return (at[0], at[1], named.group(1)) if named else at
