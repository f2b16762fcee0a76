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
        self._bits: dict[_Part, int] = {}
        """Each part has a bit of its own: what is in a file's words, or in a trigger, is one number."""
        self._needed: dict[str, int] = {}
        """Trigger -> what the words of a text that holds it have, all of it."""
        self._beginning: dict[bytes, list[tuple[_Part, int]]] = {}
        """The first letters of a part -> those parts."""
        self._met: dict[bytes, int] = {}
        """A word of some text -> the parts that are in it."""

    def absent(self, text: str) -> dict[str, bool]:
        """Trigger -> False, for those asked for so far that are certainly not in a text; the caller's to add to."""
        words = set(text.encode("utf-8", "replace").translate(_OTHERS_TO_BLANKS).split())
        met, found = self._met, 0
        for word in words:
            parts = met.get(word)
            if parts is None:
                parts = met[word] = self._parts_in(word)
            found |= parts
        return {trigger: False for trigger, needed in self._needed.items() if needed & found != needed}

    def learn(self, trigger: str) -> None:
        """Look for a trigger, too, in the texts to come."""
        if trigger in self._needed:
            return
        self._needed[trigger] = 0
        for part in _parts_of(trigger):
            if part not in self._bits:
                bit = self._bits[part] = 1 << len(self._bits)
                self._beginning.setdefault(part.letters[:_SHORTEST], []).append((part, bit))
                for word in [word for word in self._met if part.letters in word]:
                    self._met[word] |= bit if part.is_in(word) else 0
            self._needed[trigger] |= self._bits[part]

    def _parts_in(self, word: bytes) -> int:
        found = 0
        beginnings = {word[start : start + _SHORTEST] for start in range(max(len(word) - _SHORTEST + 1, 1))}
        beginnings.update((word[:1], word[:2], word[-2:], word[-1:]))
        for beginning in beginnings & self._beginning.keys():
            for part, bit in self._beginning[beginning]:
                if part.is_in(word):
                    found |= bit
        return found


def _parts_of(trigger: str) -> Iterator[_Part]:
    for match in re.finditer(r"\w+", trigger) if trigger.isascii() else ():
        part = _Part(match[0].encode(), match.start() > 0, match.end() < len(trigger))
        if part.begins or part.ends or len(part.letters) >= _SHORTEST:
            yield part
