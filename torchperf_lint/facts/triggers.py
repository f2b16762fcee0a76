"""Which of the rules' triggers a text may hold: hundreds of them, asked of every file.

Files of a project are written in the same words. Which triggers a word may be part of is worked out once, so that a
file costs a look at each of its different words, and no search of its text for each trigger.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_SHORTEST = 3
"""A shorter word is in nearly every text; the text itself is searched for its triggers."""
_OTHERS_TO_BLANKS = bytes(n if chr(n).isalnum() or chr(n) == "_" or n > 127 else ord(" ") for n in range(256))
"""Of UTF-8: whatever is not ASCII counts as part of a word, which makes words longer, never shorter."""


class Triggers:
    """The triggers of all rules that run."""

    def __init__(self, triggers: Iterable[str] = ()) -> None:
        self._absent: dict[str, bool] = {}
        self._by_word: dict[bytes, list[str]] = {}
        """The longest word in a trigger -> the triggers."""
        self._beginning: dict[bytes, list[bytes]] = {}
        """The first letters of such a word -> the words."""
        self._part_of: dict[bytes, tuple[str, ...]] = {}
        """A word of the project's texts -> the triggers that it may be part of."""
        for trigger in triggers:
            word = max(re.findall(r"\w+", trigger, re.ASCII), key=len, default="").encode()
            if len(word) >= _SHORTEST:
                self._absent[trigger] = False
                self._by_word.setdefault(word, []).append(trigger)
        for word in self._by_word:
            self._beginning.setdefault(word[:_SHORTEST], []).append(word)

    def absent(self, text: str) -> dict[str, bool]:
        """Trigger -> False, for those that are certainly not in a text; the caller's own to add to."""
        found = self._absent.copy()
        if not found:
            return found
        known = self._part_of
        for word in set(text.encode("utf-8", "replace").translate(_OTHERS_TO_BLANKS).split()):
            triggers = known.get(word)
            if triggers is None:
                triggers = known[word] = tuple(self._find(word))
            for trigger in triggers:
                found.pop(trigger, None)
        return found

    def _find(self, word: bytes) -> Iterator[str]:
        for start in range(len(word) - _SHORTEST + 1):
            for part in self._beginning.get(word[start : start + _SHORTEST], ()):
                if word.startswith(part, start):
                    yield from self._by_word[part]


NO_TRIGGERS = Triggers()
"""Where no rules are known: every trigger is sought in the text."""
