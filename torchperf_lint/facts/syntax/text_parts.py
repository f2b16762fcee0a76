"""What is sought in a text without going through all of it: the parts between blanks, and what is called, each once.

Some 380 triggers are sought in every file, and most are in few.
"""

from __future__ import annotations

from functools import cached_property, lru_cache


class TextParts:
    """Stands in for a text where it is asked what it holds."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __contains__(self, sought: str) -> bool:
        if _is_called(sought):
            return sought in self._called
        return sought in (self._text if " " in sought else self._between_blanks)

    @cached_property
    def _between_blanks(self) -> str:
        """Less than half of the text."""
        return " ".join(set(self._text.split()))

    @cached_property
    def _called(self) -> str:
        """What stands before each bracket, back to a blank: a twentieth of the text."""
        before = {part.rpartition(" ")[2] for part in self._text.split("(")[:-1]}
        return "".join(f"{part}(" for part in before)


@lru_cache(4096)
def _is_called(sought: str) -> bool:
    """Whether something is sought that ends where arguments begin: `.item(`, `torch.arange(`."""
    return sought.endswith("(") and sought.count("(") == 1 and " " not in sought
