"""Opens a project for lint.py: reads its files, outlines them (or takes outlines from the cache), keeps what failed."""

from __future__ import annotations

import ast
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from torchperf_lint import cache, workers
from torchperf_lint.errors import CannotCheck
from torchperf_lint.facts import text as texts_of
from torchperf_lint.facts.notebook import NotebookSource, to_source
from torchperf_lint.facts.outline import outline
from torchperf_lint.facts.project import Project
from torchperf_lint.facts.records import Outline
from torchperf_lint.facts.syntax import parse
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
    processes = workers.count(settings.jobs, len(every))
    # What another process parses stays there: trees are dearer to send than to make.
    job = _Reader(root, texts, kept, wanted=frozenset(files) if processes == 1 else frozenset())
    read = workers.each(job.read, every, processes)
    kept.save({r.name: (r.text, r.found) for r in read if r.found is not None})
    reach = None if texts else kept.reach({r.name: r.text for r in read if r.found is not None})
    opened = _assembled(read, listed.complete, reach, job.trees)
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
    read: Iterable[_Read], complete: bool, kept: cache.KeptReach | None, trees: dict[str, ast.Module]
) -> Opened:
    by_name = {r.name: r for r in read}
    refused = {name: r.refused for name, r in by_name.items() if r.refused is not None}
    notebooks = {name: r.notebook for name, r in by_name.items() if r.notebook is not None}
    complete = complete and not refused
    outlines = [r.found for r in by_name.values() if r.found is not None]
    project = Project(outlines, lambda name: by_name[name].text, complete, kept.load if kept else lambda _: None, trees)
    return Opened(project, refused, notebooks, complete, kept)


class _Reader:
    """Reads and outlines single files; runs in worker processes.

    `trees` keeps the syntax trees of the files that are `wanted`: rules are about to ask for most of them.
    """

    def __init__(
        self, root: Path, texts: Mapping[Path, str], kept: cache.Cache, wanted: frozenset[Path] = frozenset()
    ) -> None:
        self.root = root
        self.texts = texts
        self.kept = kept
        self.wanted = wanted
        self.trees: dict[str, ast.Module] = {}

    def read(self, path: Path) -> _Read:
        name = relative(path, self.root)
        try:
            raw = self.texts[path] if path in self.texts else texts_of.read(path)
            notebook = to_source(raw) if path.suffix == ".ipynb" else None
            text = raw if notebook is None else notebook.text
        except CannotCheck as refused:
            return _Read(name, refused=refused)
        try:
            found = self.kept.get(name, text) or self._outlined(name, text, path in self.wanted)
            return _Read(name, text, found, notebook=notebook)
        except CannotCheck as refused:
            return _Read(name, refused=_in_cell(refused, notebook))
        except Exception as error:  # the border between one file and the run: a bug of ours costs that file only
            logger.debug("cannot outline %s", name, exc_info=True)
            return _Read(name, refused=CannotCheck(f"a bug in torchperf-lint: {type(error).__name__}: {error}"))

    def _outlined(self, name: str, text: str, wanted: bool) -> Outline:
        tree = parse(text)
        found = outline(name, text, tree)
        if wanted and _SUBJECT in text:
            self.trees[name] = tree
        return found


def _in_cell(refused: CannotCheck, notebook: NotebookSource | None) -> CannotCheck:
    """For a notebook, the line within its cell."""
    if notebook is None or refused.line is None:
        return refused
    cell, line = notebook.locate(refused.line)
    return CannotCheck(f"cell {cell}: {refused.reason}", line)


def relative(path: Path, root: Path) -> str:
    """A file's name in its project: POSIX and relative to the root, or absolute for a stray."""
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix().lstrip("/")


def shown_path(path: Path) -> str:
    """A file's name in reports."""
    return shown(path, Path.cwd())
