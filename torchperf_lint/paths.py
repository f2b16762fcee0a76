"""Paths given -> the files to lint, by project; and all files of a project, for what is known about it.

Every file's settings come from its own nearest configuration, so that a file named alone is treated as it is
within its project.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from torchperf_lint.inside import inside
from torchperf_lint.model import Problem
from torchperf_lint.named_like_tests import is_script_named_like_a_test
from torchperf_lint.settings import (
    CONFIG_FILES,
    DEFAULT_SKIP,
    Settings,
    find_config,
    find_root,
    is_git_root,
    load,
    shown,
)
from torchperf_lint.walk import SUFFIXES, Walk, reason

MAX_FILES = 20_000
MAX_ENTRIES = 200_000
"""Beyond either, a project is not indexed. Fixed, so that an answer never depends on the machine."""


@dataclass(frozen=True)
class Home:
    """The project that a file belongs to."""

    root: Path
    settings: Settings
    config: Path | None
    """The configuration file that the settings come from."""


@dataclass(frozen=True)
class Group:
    """The files of one project that were asked about."""

    home: Home
    files: tuple[Path, ...]
    """Absolute, sorted."""


@dataclass(frozen=True)
class Collected:
    """What the paths given lead to."""

    groups: tuple[Group, ...]
    """Sorted by root."""
    problems: tuple[Problem, ...]
    """Paths that could not be looked at, shown relative to the working directory."""


@dataclass
class Homes:
    """Finds the project of any path; configuration files are read once."""

    overrides: Mapping[str, object]
    isolated: bool
    config: Path | None
    """The file that stands in for every project's own, if one was named."""
    cwd: Path
    _by_place: dict[tuple[Path, Path], Home] = field(default_factory=dict)
    _settings: dict[Path | None, Settings] = field(default_factory=dict)

    def of(self, path: Path, given: Path | None = None) -> Home:
        """The project of a file or directory found in the directory `given` (absolute paths both).

        Raises ConfigError and UsageError as settings.load does.
        """
        directory = path if os.path.isdir(path) else path.parent  # noqa: PTH112 -- Path.is_dir may raise
        start = given or directory
        base = self.cwd if start.is_relative_to(self.cwd) else start
        key = (directory, base)
        if key not in self._by_place:
            self._by_place[key] = self._find(directory, base)
        return self._by_place[key]

    def _find(self, directory: Path, base: Path) -> Home:
        above = self._by_place.get((directory.parent, base))
        if above is not None and directory != base and not self._may_begin_a_project(directory):
            return above
        config = self.config or (None if self.isolated else find_config(directory))
        if config is not None and directory.is_relative_to(config.parent):
            return Home(config.parent, self._load(config), config)
        return Home(find_root(directory, base, isolated=True), self._load(config), config)

    def _may_begin_a_project(self, directory: Path) -> bool:
        if self.config is not None and directory == self.config.parent:
            return True
        return is_git_root(directory) or any(os.path.lexists(directory / name) for name in CONFIG_FILES)

    def _load(self, config: Path | None) -> Settings:
        if config not in self._settings:
            self._settings[config] = load(config, self.overrides)
        return self._settings[config]

    def excludes(self, path: Path, given: Path) -> bool:
        """Whether a walk of `given` leaves a file or directory out by its own name or path."""
        home = self.of(path.parent, given)
        return path != home.root and home.settings.excludes(_relative(path, home.root))

    def skips(self, path: Path, given: Path) -> bool:
        """Whether a file or directory is one that is reported on only when it is named."""
        home = self.of(path if path == given else path.parent, given)
        relative = _relative(path, home.root)
        if not home.settings.skips(relative):
            return False
        # By its own name alone, and nobody has said that names like it are to be skipped.
        above = "/".join(relative.split("/")[:-1])
        by_name = home.settings.default_skip == DEFAULT_SKIP and not (above and home.settings.skips(above))
        return not (by_name and is_script_named_like_a_test(path))

    def leaves_out(self, path: Path) -> bool:
        """Whether a walk from the working directory or the project's root would not come to `path`."""
        home = self.of(path)
        inside = path.is_relative_to(self.cwd) and home.root.is_relative_to(self.cwd)
        top = self.cwd if inside else home.root
        chain = [path, *path.parents]
        if not path.is_relative_to(top):
            return False
        chain = chain[: chain.index(top)]
        return any(self.excludes(part, top) or self.skips(part, top) for part in chain)


def _relative(path: Path, root: Path) -> str:
    return inside(path, root) or path.name


def collect(paths: Sequence[str], homes: Homes) -> Collected:
    """The files that `paths` (as typed) lead to, each in its project.

    Directories are walked for Python, notebooks, shell scripts and their like, without what is excluded, skipped by
    default, or ignored by git.
    A file named is read whatever it is called, unless the settings say force-exclude.
    """
    found: dict[Path, Home] = {}
    problems: dict[str, Problem] = {}
    for raw in paths:
        path = Path(os.path.abspath(homes.cwd / raw))  # noqa: PTH100 -- Path.resolve would follow links
        for problem in _collect_one(path, homes, found):
            at = shown(Path(problem.path), homes.cwd)
            problems[at] = Problem(at, problem.line, problem.reason)
    return Collected(_grouped(found), tuple(sorted(problems.values(), key=lambda p: p.sort_key)))


def _collect_one(path: Path, homes: Homes, found: dict[Path, Home]) -> Sequence[Problem]:
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        return [Problem(str(path), None, reason(error) if isinstance(error, OSError) else "not a path")]
    if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
        return [Problem(str(path), None, "neither a file nor a directory")]
    home = homes.of(path)
    if home.settings.force_exclude and homes.leaves_out(path):
        return ()
    if stat.S_ISREG(mode):
        found[path] = home
        return ()
    walk = _walk_to_lint(path, homes)
    found.update((file, homes.of(file.parent, path)) for file in walk)
    return walk.problems


def _walk_to_lint(start: Path, homes: Homes) -> Walk:
    names_skipped = homes.skips(start, start)

    def leaves_out(name: str) -> bool:
        path = Path(name)
        return homes.excludes(path, start) or (not names_skipped and homes.skips(path, start))

    return Walk(start, homes.of(start).root, leaves_out, texts=True)


def _grouped(found: Mapping[Path, Home]) -> tuple[Group, ...]:
    groups: dict[Path, list[Path]] = {}
    homes: dict[Path, Home] = {}
    for path in sorted(found, key=Path.as_posix):
        home = homes.setdefault(found[path].root, found[path])
        groups.setdefault(home.root, []).append(path)
    return tuple(Group(homes[root], tuple(groups[root])) for root in sorted(groups, key=Path.as_posix))


@dataclass(frozen=True)
class ProjectFiles:
    """The files that facts about a project come from."""

    files: tuple[Path, ...]
    """Absolute, sorted."""
    complete: bool
    """Whether these are all; if not, that nothing calls a function is not known."""


def project_files(root: Path, settings: Settings, also: Iterable[Path]) -> ProjectFiles:
    """All *.py and *.ipynb files of a project, tests and benchmarks too, and `also` in any case.

    Files of `also` outside what is walked (excluded, ignored) come with their neighbours. Beyond MAX_FILES or
    MAX_ENTRIES only `also` and its neighbours are given.
    """
    asked = set(also)
    walk = Walk(root, root, lambda path: settings.excludes(_relative(Path(path), root)), MAX_ENTRIES)
    found: set[Path] = set()
    for path in walk:
        found.add(path)
        if len(found) > MAX_FILES:
            break
    if len(found) > MAX_FILES or walk.too_large:
        return ProjectFiles(_sorted(asked | _neighbours(asked)), complete=False)
    walked = {path.parent for path in found}
    strays = {path for path in asked if path.parent not in walked and path.exists()}
    return ProjectFiles(_sorted(found | asked | _neighbours(strays)), not strays and not walk.problems)


def _neighbours(files: Iterable[Path]) -> set[Path]:
    """The Python files in the same directories."""
    found: set[Path] = set()
    for directory in {file.parent for file in files}:
        try:
            found.update(p for p in directory.iterdir() if p.suffix in SUFFIXES and p.is_file())
        except OSError:
            continue  # the file itself will be reported
    return found


def _sorted(paths: Iterable[Path]) -> tuple[Path, ...]:
    return tuple(sorted(paths, key=Path.as_posix))
