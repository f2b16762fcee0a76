"""Which of the texts that rules look for first a file may hold: hundreds of them, `.item(`, `import gc`, asked of each.

Files of a project are written in the same words. What a word may be a part of is worked out once, so that a file costs
a look at each of its different words, and no search of its text for each trigger.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_OTHERS_TO_BLANKS = bytes(n if chr(n).isalnum() or chr(n) == "_" or n > 127 else ord(" ") for n in range(256))
"""Of UTF-8: whatever is not ASCII counts as part of a word, which joins words and never parts one."""
_SHORTEST = 3
"""Letters; what is shorter is in nearly every text, if anywhere in a word."""


class _Part(NamedTuple):
    """What a text that holds a trigger has in one of its words."""

    letters: bytes
    begins: bool
    """Whether the word begins so: in the trigger stands something else before it."""
    ends: bool

    def is_in(self, word: bytes) -> bool:
        if self.begins:
            return word == self.letters if self.ends else word.startswith(self.letters)
        return word.endswith(self.letters) if self.ends else self.letters in word


class Triggers:
    """The triggers that have been asked for, and the words that have been met."""

    def __init__(self) -> None:
        self._parts: dict[str, frozenset[_Part]] = {}
        """Trigger -> what the words of a text that holds it have, all of it."""
        self._beginning: dict[bytes, list[_Part]] = {}
        """The first letters of a part -> those parts."""
        self._met: dict[bytes, frozenset[_Part]] = {}
        """A word of some text -> the parts that are in it."""

    def absent(self, text: str) -> dict[str, bool]:
        """Trigger -> False, for those asked for so far that are certainly not in a text; the caller's to add to."""
        words = set(text.encode("utf-8", "replace").translate(_OTHERS_TO_BLANKS).split())
        met = self._met
        for word in words - met.keys():
            met[word] = frozenset(self._parts_in(word))
        found = frozenset().union(*map(met.__getitem__, words))
        return {trigger: False for trigger, parts in self._parts.items() if not parts <= found}

    def learn(self, trigger: str) -> None:
        """Look for a trigger, too, in the texts to come."""
        self._parts[trigger] = frozenset(_parts_of(trigger))
        for part in self._parts[trigger]:
            known = self._beginning.setdefault(part.letters[:_SHORTEST], [])
            if part not in known:
                known.append(part)
                self._met.update((word, held | {part}) for word, held in self._met.items() if part.is_in(word))

    def _parts_in(self, word: bytes) -> Iterator[_Part]:
        beginning = self._beginning
        for start in range(max(len(word) - _SHORTEST + 1, 1)):
            for part in beginning.get(word[start : start + _SHORTEST], ()):
                if part.is_in(word):
                    yield part
        for short in (word[:1], word[:2], word[-2:], word[-1:]) if len(word) >= _SHORTEST else (word[:1], word[-1:]):
            for part in beginning.get(short, ()):
                if part.is_in(word):
                    yield part


def _parts_of(trigger: str) -> Iterator[_Part]:
    for match in re.finditer(r"\w+", trigger) if trigger.isascii() else ():
        part = _Part(match[0].encode(), match.start() > 0, match.end() < len(trigger))
        if part.begins or part.ends or len(part.letters) >= _SHORTEST:
            yield part
