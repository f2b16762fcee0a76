"""The text of a file as code: without comments, docstrings and what strings say to people."""

from __future__ import annotations

import re

from torchperf_lint.facts.syntax.text import STRING
from torchperf_lint.patterns import pattern

_NOT_CODE = pattern(rf"(?P<prefix>\b[rRbBuUfF]{{1,2}})?(?P<text>{STRING})|#[^\r\n]*", re.DOTALL)
_FIELD = pattern(r"\{([^{}]*)\}")


def without_sentences(text: str) -> str:
    """A text without its comments, docstrings, and strings of several words: a name there is talk.

    Of an f-string that holds a sentence the fields are kept. Lines stay in their places, and end in a line feed.
    """
    return _NOT_CODE.sub(_kept, text.replace("\r\n", "\n").replace("\r", "\n"))


def _kept(found: re.Match[str]) -> str:
    text = found["text"]
    if text is None:
        return ""  # a comment
    triple = text[:3] in ('"""', "'''")
    if not triple and not any(blank in text for blank in " \t"):
        return found.group()
    fields = " ".join(_FIELD.findall(text)) if "f" in (found["prefix"] or "").lower() else ""
    return '""' + (f" {fields} ".replace("\n", " ") if fields else "") + "\n" * text.count("\n")
