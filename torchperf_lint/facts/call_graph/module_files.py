"""Which file of a project an import reads.

Nothing guesses from package markers: `import a.b` is the file `a/b.py` or `a/b/__init__.py` under the
importing file's directory or one of its parents, up to the project's root, or under `src/`. What the root
itself is called counts as well: it may be a package. A file that adds to `sys.path` finds its modules anywhere.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cached_property, lru_cache

from torchperf_lint.facts.outlines.records import Outline

_LIBRARIES = frozenset(
    "torch torchvision torchaudio numpy scipy pandas sklearn lightning pytorch_lightning transformers accelerate "
    "diffusers datasets ignite fastai".split()
)
"""Libraries that rules know, and that packages like to name a part of theirs after."""
_ADDS_A_FOLDER = frozenset({"sys.path.append", "sys.path.insert", "sys.path.extend"})


class ModuleFiles:
    """Answers for the files of one project."""

    def __init__(self, outlines: Mapping[str, Outline], root: str = "") -> None:
        self._outlines = outlines
        self._root = root if root not in _LIBRARIES else ""
        """The name of the project's root: where that is a package, its files import each other by it."""
        self._modules = {_module_stem(path): path for path in outlines}

    def module(self, dotted: str, importer: str) -> str | None:
        """The path of the file that `import dotted` reads in the file `importer`, or None if external."""
        if dotted.startswith("."):
            return self._modules.get(_relative(dotted, importer.rpartition("/")[0]))
        stem = dotted.replace(".", "/")
        folder = importer.rpartition("/")[0]
        while True:
            path = self._modules.get(f"{folder}/{stem}" if folder else stem)
            if path is not None and path != importer and not (folder and self._is_the_library(stem, folder)):
                return path
            if not folder:
                return self._modules.get(f"src/{stem}") or self._in_root(stem) or self._on_the_path(stem, importer)
            folder = folder.rpartition("/")[0]

    def _in_root(self, stem: str) -> str | None:
        """The file of `import pkg.b` in the folder `pkg`, which is the project's root."""
        head, _, rest = stem.partition("/")
        return self._modules.get(rest or "__init__") if self._root and head == self._root else None

    def _on_the_path(self, stem: str, importer: str) -> str | None:
        """The file of `import helper` after `sys.path.append("models")`: the only one of that name, wherever it lies.

        Which folder is added is computed, mostly; whether one is can be read, in the file or in an `_init_paths` of it.
        """
        found = self._inner_modules.get(stem, ()) if importer in self._adding_to_the_path else ()
        if len(found) != 1 or found[0] == importer:
            return None
        folder = _module_stem(found[0])[: -len(stem) - 1]
        return None if self._is_the_library(stem, folder) else found[0]

    @cached_property
    def _inner_modules(self) -> dict[str, list[str]]:
        """What the stem of a file in some folder ends with -> the files: `b/c` and `c` for `a/b/c.py`."""
        found: dict[str, list[str]] = {}
        for stem, path in self._modules.items():
            parts = stem.split("/")
            for start in range(1, len(parts)):
                found.setdefault("/".join(parts[start:]), []).append(path)
        return found

    @cached_property
    def _adding_to_the_path(self) -> frozenset[str]:
        """The files that add folders to `sys.path`, and those that import such a file from beside them."""
        own = {path for path, o in self._outlines.items() if not _ADDS_A_FOLDER.isdisjoint([c.callee for c in o.calls])}
        names = {_module_stem(path): path for path in own}
        beside = set()
        for path, outline in self._outlines.items() if own else ():
            folder = path.rpartition("/")[0]
            if any((f"{folder}/{name}" if folder else name) in names for name in outline.imports.values()):
                beside.add(path)
        return frozenset(own | beside)

    def _is_the_library(self, stem: str, folder: str) -> bool:
        """Whether `import torch` in a package that has a part called `torch` means the library, as Python reads it.

        So does `import typing` mean Python's own.
        """
        head = stem.partition("/")[0]
        return (head in _LIBRARIES or head in sys.stdlib_module_names) and f"{folder}/__init__.py" in self._outlines

    def part(self, path: str, name: str) -> str | None:
        """The file of a package's own module: of `name` beside `path`, its `__init__.py`; None for other files."""
        return self._modules.get(f"{_module_stem(path)}/{name}") if path.endswith("__init__.py") else None


def _module_stem(path: str) -> str:
    stem = path.rpartition(".")[0]
    return stem[: -len("/__init__")] if stem.endswith("/__init__") else stem


@lru_cache(1 << 14)
def _relative(dotted: str, folder: str) -> str:
    name = dotted.lstrip(".")
    for _ in range(len(dotted) - len(name) - 1):
        folder = folder.rpartition("/")[0]
    rest = name.replace(".", "/")
    return "/".join(part for part in (folder, rest) if part)
