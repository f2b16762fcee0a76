"""File patterns: as for fnmatch, `*` also crosses `/`, and `**/` may stand for nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import translate


class Globs:
    """Patterns compiled together; a path matches when its last part or the whole of it matches one."""

    def __init__(self, patterns: Iterable[str]) -> None:
        spellings = {spelling for pattern in patterns for spelling in _spellings(pattern)}
        self._regex = re.compile("|".join(translate(s) for s in sorted(spellings))) if spellings else None

    def matches(self, path: str) -> bool:
        """Whether a relative POSIX path, or its last part, matches."""
        if self._regex is None:
            return False
        name = path.rpartition("/")[2]
        return bool(self._regex.match(name) or (name != path and self._regex.match(path)))

    def matches_any_part(self, path: str) -> bool:
        """Whether the path or a directory above it matches."""
        parts = path.split("/")
        return any(self.matches("/".join(parts[: n + 1])) for n in range(len(parts)))


def _spellings(pattern: str) -> Iterable[str]:
    plain = pattern.removeprefix("./")
    plain = plain.rstrip("/") or plain
    return (plain, plain.replace("**/", ""))
