"""Which files of a project may run in one process with a file: what is made in one of them may get to the other.

A process starts with some file and holds what that imports or calls, and so on. Two files run together where something
gets to both, or one of them to the other. Calls say more than imports where classes are taken from registries, or
modules by names that are text. A question about one file then needs a few of the project's files, not all of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

from torchperf_lint.facts.call_graph.index import Callers, Index


class Together:
    """Answers for one project."""

    def __init__(self, index: Index, callers: Callable[[], Callers]) -> None:
        self.index = index
        self._callers = callers
        self._known: dict[str, list[str]] = {}

    def with_file(self, path: str) -> list[str]:
        """The files that may run in one process with a file, itself among them, in the project's order."""
        if path not in self._known:
            starts = _closure([path], lambda one: self._users[one])
            found = _closure(starts, lambda one: self._used[one])
            self._known[path] = [one for one in self.index.outlines if one in found]
        return self._known[path]

    @cached_property
    def _used(self) -> dict[str, set[str]]:
        """File -> those that it imports, or whose functions it calls."""
        found = {path: set(self._imported(path)) for path in self.index.outlines}
        for key, sites in self._callers().items():
            for site in sites:
                found[site.path].add(key.path)
        return found

    @cached_property
    def _users(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for path, used in self._used.items():
            for one in used:
                found[one].append(path)
        return found

    def _imported(self, path: str) -> Iterator[str]:
        outline = self.index.outlines[path]
        for dotted in {*outline.imports.values(), *outline.stars}:
            if "." not in dotted:  # `import pkg.part` binds `pkg` alone: any part of it may be meant
                yield from self._parts.get(dotted, ())
            holder = _holder(dotted)
            module = self.index.module(dotted, path) or (self.index.module(holder, path) if holder else None)
            if module is not None:
                yield module
                yield from self._packages_around(module)

    def _packages_around(self, module: str) -> Iterator[str]:
        """The packages that are run before a module of theirs."""
        folder = module.rpartition("/")[0]
        while folder:
            package = f"{folder}/__init__.py"
            if package in self.index.outlines:
                yield package
            folder = folder.rpartition("/")[0]

    @cached_property
    def _parts(self) -> dict[str, list[str]]:
        """The name of a folder -> the files in such folders, however deep."""
        found: dict[str, list[str]] = defaultdict(list)
        for path in self.index.outlines:
            for folder in set(path.split("/")[:-1]):
                found[folder].append(path)
        return found


def _holder(dotted: str) -> str:
    """What holds the last name of a dotted one, if anything does: for `.a` it is `.`, the package itself."""
    head, dot, _ = dotted.rpartition(".")
    return head if head.strip(".") else head + dot


def _closure(starts: Iterable[str], following: Callable[[str], Iterable[str]]) -> set[str]:
    found, todo = set(starts), list(starts)
    while todo:
        more = [one for one in following(todo.pop()) if one not in found]
        found.update(more)
        todo += more
    return found
