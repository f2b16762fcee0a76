"""Functions and classes that nothing in a project names: left over, as far as its own programs go.

What a library offers is called by who installs it, and names there say little: readers found most findings right that
stand in classes of libraries which their own files never name. A repository whose programs train runs what these name,
and what is left over they do not. A function whose only reason is that it takes tensors is seldom run by anyone where
nothing names it, in libraries neither.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property

from torchperf_lint.facts.chains import last_part
from torchperf_lint.facts.index import FunctionKey, Index
from torchperf_lint.facts.role import Role
from torchperf_lint.patterns import pattern

_SHOWS = pattern(
    r"(?:^|/)(?:tests?|unit_?tests?|(?:\w+_)?examples?|demos?|docs?|benchmarks?|notebooks?|tutorials?)/"
    r"|(?:^|/)(?:test_\w+|\w+_test|conftest|unittest|demo|setup)\.py$"
)
"""Files of tests and examples, which name what no program needs."""
_STARTS = pattern(r"^if __name__ *== *['\"]__main__['\"]", re.MULTILINE)
_TRAINS = pattern(r"\.backward\(|\.fit\(|\.train\(|\.eval\(|Trainer\(|DataLoader|load_state_dict")
BUILDS_BY_NAME = pattern(r"\bimport_module\(|\bget_obj_from_str\b|\binstantiate\(|\blocate\(|\bgetattr\(sys\.modules")
"""What makes objects of classes that a file of settings names."""
_GUESSED = "no call of it is seen"


class Unmentioned:
    """Answers for one project."""

    def __init__(self, index: Index, text: Callable[[str], str], named_by_settings: str | None = None) -> None:
        self.index = index
        self.text = text
        self.named_by_settings = named_by_settings
        """The texts of the project's files of settings; None where nobody has read them."""
        self._known: dict[tuple[str, str], bool] = {}
        self._codes: dict[str, str] = {}

    def holds(self, key: FunctionKey, role: Role, called: bool = False) -> bool:
        """Whether nothing names a function that runs by a guess; or the class of a method, where programs would.

        A file that no other one imports says nothing of who uses it, unless programs import others of its package.
        Names in tests and examples do not count. Those in comments, docstrings and sentences do in libraries, which
        tell users there what they offer, as they do by a method of a class that they offer.
        """
        record = self.index.function(key)
        if record.parent > 0 or not self.text(key.path) or not self._is_imported(key.path):
            return False
        beside = self._has_programs_beside(key.path)
        offered = beside or (record.class_index < 0 and self._is_in_package(key.path))
        if not called and _GUESSED in role.because and offered:
            unused = not record.decorators and self._is_unnamed(key.path, record.name, beside)
            if unused or record.class_index < 0:
                return unused
        if record.class_index < 0 or not beside:
            return False
        cls = self.index.outlines[key.path].classes[record.class_index]
        if "." in cls.qualname or self._may_be_built_by_name(cls.name):
            return False
        return self._is_unnamed(key.path, cls.name, True)

    @cached_property
    def programs(self) -> list[str]:
        """The files that train or run a model, are started by themselves and are part of no package."""
        return [path for path in self.index.outlines if self._is_program(path)]

    def _has_programs_beside(self, path: str) -> bool:
        return any(program != path for program in self.programs)

    def _is_program(self, path: str) -> bool:
        if _SHOWS.search(path) or self._is_in_package(path):
            return False
        return bool(_STARTS.search(self.text(path)) and _TRAINS.search(self.text(path)))

    def _is_imported(self, path: str) -> bool:
        """Whether a file is imported, or any part of the package that it belongs to."""
        parts = path.removesuffix(".py").split("/")
        own = parts if self._is_in_package(path) else parts[-1:]
        return not self._imported_parts.isdisjoint(own)

    @cached_property
    def _imported_parts(self) -> frozenset[str]:
        """The parts of all dotted names that are imported: of packages, modules and what they hold."""
        outlines = [self.index.outlines[path] for path in self._telling]
        names = (name for found in outlines for name in (*found.imports.values(), *found.stars))
        return frozenset(part for name in names for part in name.split("."))

    def _is_in_package(self, path: str) -> bool:
        return f"{path.rpartition('/')[0]}/__init__.py".lstrip("/") in self.index.outlines

    @cached_property
    def builds_by_name(self) -> bool:
        """Whether the project makes objects of classes that it has by their names as text."""
        return any(BUILDS_BY_NAME.search(self.text(path)) for path in self._telling)

    def _may_be_built_by_name(self, name: str) -> bool:
        if not self.builds_by_name:
            return False
        return self.named_by_settings is None or _word(name).search(self.named_by_settings) is not None

    @cached_property
    def _telling(self) -> list[str]:
        return [path for path in self.index.outlines if not _SHOWS.search(path)]

    @cached_property
    def _imported(self) -> frozenset[str]:
        return frozenset(
            last_part(name) for path in self._telling for name in self.index.outlines[path].imports.values()
        )

    @cached_property
    def _called(self) -> frozenset[str]:
        calls = (call for path in self._telling for call in self.index.outlines[path].calls)
        return frozenset(last_part(call.callee) for call in calls)

    def _is_unnamed(self, path: str, name: str, in_code: bool) -> bool:
        if name in self._called or name in self._imported:
            return False
        if (path, name) not in self._known:
            self._known[path, name] = not self._is_written_elsewhere(path, name, in_code)
        return self._known[path, name]

    def _is_written_elsewhere(self, path: str, name: str, in_code: bool) -> bool:
        word, read = _word(name), self._code if in_code else self.text
        others = (other for other in self._telling if other != path and name in self.text(other))
        if any(word.search(read(other)) for other in others):
            return True
        lines = self.text(path).splitlines()
        first, last = _own_lines(lines, name)
        if not first:
            return len(word.findall(read(path))) != 1  # a method: where it is defined, and nowhere else
        outside = "\n".join(lines[: first - 1] + lines[last:])
        outside = _without_sentences(outside) if in_code else outside
        decorated = first > 1 and lines[first - 2].lstrip().startswith(("@", ")"))
        return decorated or word.search(outside) is not None

    def _code(self, path: str) -> str:
        if path not in self._codes:
            self._codes[path] = _without_sentences(self.text(path))
        return self._codes[path]


_DOCSTRING = pattern(r"(\"{3}|'{3}).*?\1", re.DOTALL)
_COMMENT = pattern(r"#[^\n\"']*$", re.MULTILINE)
_SENTENCE = pattern(r"(['\"])[^'\"\n]*\s[^'\"\n]*\1")


def _without_sentences(text: str) -> str:
    """A text without its docstrings, comments, and strings of several words: a name there is talk."""
    return _SENTENCE.sub('""', _COMMENT.sub("", _DOCSTRING.sub('""', text)))


def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"\b{re.escape(name)}\b")


def _own_lines(lines: list[str], name: str) -> tuple[int, int]:
    """The first and the last 1-based line of a top-level definition; (0, 0) where there is none, or several."""
    starts = [
        n for n, line in enumerate(lines, 1) if re.match(rf"(?:async +)?(?:def|class) +{re.escape(name)}\b", line)
    ]
    if len(starts) != 1:
        return 0, 0
    head = starts[0]
    for number in range(head + 1, len(lines) + 1):
        line = lines[number - 1]
        if line.strip() and not line[0].isspace() and line[0] not in ")#]":
            return head, number - 1
    return head, len(lines)
