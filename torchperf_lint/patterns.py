"""Regular expressions that are compiled when they are first asked.

There are some 350 of them, and a file that is linted alone asks a few: compiling them all was much of the start.
"""

from __future__ import annotations

import re
from typing import AnyStr, Generic, cast

_ASKED = ("search", "match", "fullmatch", "findall", "finditer", "sub", "subn", "split", "pattern", "groupindex")


class _Pattern(Generic[AnyStr]):
    """Stands in for `re.Pattern`; after the first question its methods are those of the compiled pattern."""

    def __init__(self, text: AnyStr, flags: int) -> None:
        self._text: AnyStr = text
        self._flags = flags

    def __getattr__(self, name: str) -> object:
        if name not in _ASKED:
            raise AttributeError(name)
        compiled = re.compile(self._text, self._flags)
        # Found in the instance from now on, which is no slower than asking the compiled pattern.
        self.__dict__.update((known, getattr(compiled, known)) for known in _ASKED)
        return self.__dict__[name]


def pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """`re.compile(text, flags)`, at the first use; a mistake in the text raises `re.error` there."""
    return cast("re.Pattern[AnyStr]", _Pattern(text, flags))
