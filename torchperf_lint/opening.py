"""Opens a project for lint.py: reads its files, outlines them (or takes outlines from the cache), keeps what failed."""

from __future__ import annotations

import ast
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from torchperf_lint import cache, naming, requirements, workers
from torchperf_lint.errors import CannotCheck
from torchperf_lint.facts.call_graph.programs import Beside
from torchperf_lint.facts.files.notebook import NotebookSource, to_source
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.torch_bounds import TorchBounds
from torchperf_lint.facts.outlines.outline import outline
from torchperf_lint.facts.outlines.records import Outline
from torchperf_lint.facts.syntax import text as texts_of
from torchperf_lint.facts.syntax.syntax import parse
from torchperf_lint.inside import inside
from torchperf_lint.paths import project_files
from torchperf_lint.settings import Settings, shown

logger = logging.getLogger(__name__)


@dataclass
class Opened:
    """A project with what could not be read of it."""

    project: Project
    refused: dict[str, CannotCheck]
    """Project-relative path -> why it is not part of the index."""
    notebooks: dict[str, NotebookSource]
    complete: bool
    """Whether every file of the project was found and read."""
    kept: cache.KeptReach | None = None

    def keep(self) -> None:
        """Leave to the next run over the same files what this one worked out of all of them."""
        if self.kept is not None:
            self.kept.save(self.project.hotness.news, self.project.index.outlines)


@dataclass(frozen=True)
class _Read:
    """One file as read: its outline, or why there is none."""

    name: str
    text: str = ""
    found: Outline | None = None
    refused: CannotCheck | None = None
    notebook: NotebookSource | None = None


_opened: dict[Path, Opened] = {}
_SUBJECT = "torch"
"""Of files that never mention it, rules seldom ask more than the outline says."""
_SPARE = 1_000_000
"""Characters of such files whose trees are kept all the same: those that others call are asked for."""


def open_project(
    root: Path, settings: Settings, files: Iterable[Path], texts: Mapping[Path, str], reuse: bool = False
) -> Opened:
    """The project at `root`, in which `files` must be; `texts` stand in for files on disk."""
    before = _opened.get(root) if reuse else None
    if before is not None and _still_good(before, root, files, texts):
        return before
    listed = project_files(root, settings, files)
    every = sorted(set(listed.files) | set(texts), key=lambda path: path.as_posix())
    kept = cache.Cache(root, settings)
    job = _Reader(root, texts, kept, frozenset(files))
    read = job.outlined([job.read(path) for path in every], settings.jobs)
    kept.save({r.name: (r.text, r.found) for r in read if r.found is not None})
    beside = naming.beside(root, settings, [r.text for r in read if r.found is not None])
    reach = None if texts else kept.reach({r.name: r.text for r in read if r.found is not None}, repr(beside))
    target = settings.oldest_torch
    torch = TorchBounds(target, target) if target is not None else requirements.torch_bounds(root)
    opened = _assembled(read, listed.complete, reach, job.trees, torch, root.resolve().name, beside)
    if reuse:
        _opened.clear()
        _opened[root] = opened
    return opened


def _still_good(before: Opened, root: Path, files: Iterable[Path], texts: Mapping[Path, str]) -> bool:
    known = before.project.index.outlines
    names = [relative(path, root) for path in files]
    if not all(name in known or name in before.refused for name in names):
        return False
    return all(
        (name := relative(path, root)) in known and name not in before.notebooks and before.project.text(name) == text
        for path, text in texts.items()
    )


def _assembled(
    read: Iterable[_Read],
    complete: bool,
    kept: cache.KeptReach | None,
    trees: dict[str, ast.Module],
    torch: TorchBounds,
    root: str,
    beside: Beside,
) -> Opened:
    by_name = {r.name: r for r in read}
    refused = {name: r.refused for name, r in by_name.items() if r.refused is not None}
    notebooks = {name: r.notebook for name, r in by_name.items() if r.notebook is not None}
    complete = complete and not refused
    outlines = [r.found for r in by_name.values() if r.found is not None]
    load = kept.load if kept else lambda _: None
    project = Project(outlines, lambda name: by_name[name].text, complete, load, trees, torch, root, beside)
    return Opened(project, refused, notebooks, complete, kept)


class _Reader:
    """Reads files and outlines those that the cache does not know.

    `trees` keeps the syntax trees of the files that are `wanted`: rules are about to ask for most of them.
    """

    def __init__(self, root: Path, texts: Mapping[Path, str], kept: cache.Cache, wanted: frozenset[Path]) -> None:
        self.root = root
        self.texts = texts
        self.kept = kept
        self.wanted = {relative(path, root) for path in wanted}
        self.trees: dict[str, ast.Module] = {}
        self.spare = _SPARE

    def read(self, path: Path) -> _Read:
        """A file's text, and its outline where the cache knows it."""
        name = relative(path, self.root)
        try:
            raw = self.texts[path] if path in self.texts else texts_of.read(path)
            notebook = to_source(raw) if path.suffix == ".ipynb" else None
        except CannotCheck as refused:
            return _Read(name, refused=refused)
        text = raw if notebook is None else notebook.text
        return _Read(name, text, self.kept.get(name, text), notebook=notebook)

    def outlined(self, read: list[_Read], jobs: int | None) -> list[_Read]:
        """The same with the outlines that were missing, made in worker processes where many are."""
        missing = [number for number, one in enumerate(read) if one.found is None and one.refused is None]
        processes = workers.count(jobs, len(missing))
        if processes > 1:
            self.wanted.clear()  # a tree is dearer to send to another process than to make there

        def outline_of(number: int) -> Outline | CannotCheck:
            return self._outline(read[number])

        for number, found in zip(missing, workers.each(outline_of, missing, processes), strict=True):
            one = read[number]
            if isinstance(found, CannotCheck):
                read[number] = replace(one, refused=found)
            else:
                read[number] = replace(one, found=found)
        return read

    def _outline(self, one: _Read) -> Outline | CannotCheck:
        try:
            tree = parse(one.text)
            found = outline(one.name, one.text, tree)
        except CannotCheck as refused:
            return _in_cell(refused, one.notebook)
        except Exception as error:  # the border between one file and the run: a bug of ours costs that file only
            logger.debug("cannot outline %s", one.name, exc_info=True)
            return CannotCheck(f"a bug in torchperf-lint: {type(error).__name__}: {error}")
        if one.name in self.wanted and (_SUBJECT in one.text or len(one.text) <= self.spare):
            self.trees[one.name] = tree
            self.spare -= 0 if _SUBJECT in one.text else len(one.text)
        return found


def _in_cell(refused: CannotCheck, notebook: NotebookSource | None) -> CannotCheck:
    """For a notebook, the line within its cell."""
    if notebook is None or refused.line is None:
        return refused
    cell, line = notebook.locate(refused.line)
    return CannotCheck(f"cell {cell}: {refused.reason}", line)


def relative(path: Path, root: Path) -> str:
    """A file's name in its project: POSIX and relative to the root, or absolute for a stray."""
    return inside(path, root) or path.as_posix().lstrip("/")


def shown_path(path: Path) -> str:
    """A file's name in reports."""
    return shown(path, Path.cwd())
