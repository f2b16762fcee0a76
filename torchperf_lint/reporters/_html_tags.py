"""HTML as values: text is escaped where it becomes markup, so that none of a project's text can be taken for it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from torchperf_lint.reporters._words import printable

_LONGEST = 4000
"""Characters of one text; a longer one is cut, and says so."""
_WHOLE = 28
"""Characters that fit on a line of any screen."""
_EMPTY = frozenset(("meta", "rect", "line", "polyline", "path", "wbr"))
"""Elements that have no content here."""


class Markup(str):
    """Text that is HTML already. Only `el` and `joined` make it of anything but constants."""

    __slots__ = ()


def el(name: str, /, *content: str, **attributes: object) -> Markup:
    """An element. Text that is no Markup is escaped; `class_` is `class`, `_` is `-`; None leaves an attribute out."""
    words = [f' {_attribute(key)}="{_escaped(str(value))}"' for key, value in attributes.items() if value is not None]
    start = f"<{name}{''.join(words)}"
    # Within SVG, an element without the slash would take in all that follows.
    return Markup(f"{start}/>" if name in _EMPTY else f"{start}>{joined(*content)}</{name}>")


def joined(*content: str) -> Markup:
    """Pieces one after the other, escaped where they are no Markup."""
    return Markup("".join(piece if isinstance(piece, Markup) else _escaped(piece) for piece in content))


def lines(*content: str) -> Markup:
    """Like `joined`, each on a line of its own."""
    return Markup("\n".join(joined(piece) for piece in content if piece))


def code_in(text: str) -> Markup:
    """Words, with what stands between backticks as code."""
    parts = cut(text).split("`")
    if len(parts) % 2 == 0:  # an odd backtick is a backtick
        parts[-2:] = ["`".join(parts[-2:])]
    return joined(*(el("code", part) if number % 2 else part for number, part in enumerate(parts)))


def path_in(text: str) -> Markup:
    """A text with a path in it, which may be broken after each slash, and in its last part only where that is long."""
    *folders, last = text.split("/")
    name = el("span", last, class_="whole") if len(last) <= _WHOLE else last
    return joined(*(piece for folder in folders for piece in (f"{folder}/", el("wbr"))), name)


def table(caption: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]], numbers: int = 0) -> Markup:
    """A table whose first column names its rows and whose last `numbers` columns are figures."""
    figures = len(head) - numbers
    names = [el("th", name, scope="col", class_="n" if at >= figures else None) for at, name in enumerate(head)]
    body = [
        el(
            "tr",
            el("th", row[0], scope="row"),
            *(el("td", cell, class_="n" if at >= figures else None) for at, cell in enumerate(row[1:], 1)),
        )
        for row in rows
    ]
    whole = el("table", el("caption", caption), el("thead", el("tr", *names)), el("tbody", lines(*body)))
    # It scrolls in itself where the window is narrow, also by keyboard.
    return el("div", whole, class_="wide", tabindex="0", role="region", aria_label=caption)


def cut(text: str) -> str:
    """A text no longer than the page can bear."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ... (cut)"


def _attribute(name: str) -> str:
    return name.rstrip("_").replace("_", "-")


def _escaped(text: str) -> str:
    # Line breaks are ours alone: `printable` would show them as unknown characters.
    return "\n".join(escape(printable(line)) for line in text.split("\n"))
