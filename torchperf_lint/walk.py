"""Walks directories: every regular file that git does not ignore, once, in the order of its path.

Nothing here recurses, opens a file, or follows a link back to where the walk has been.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from torchperf_lint.facts.processes.text_files import kind_of
from torchperf_lint.model import Problem
from torchperf_lint.settings import is_git_root

SUFFIXES = (".py", ".ipynb")
"""Of Python files, which facts come from."""
_GIT_SECONDS = 60
# Set while git runs a hook; with them git would answer about another repository or index.
_GIT_STATE = frozenset(
    ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY")
)
_OF_AN_ENVIRONMENT = "pyvenv.cfg"
"""In every virtual environment, whatever its folder is called: it holds what others wrote."""


@dataclass
class Walk:
    """One walk; iterate over it for the files."""

    start: Path
    """Absolute."""
    root: Path
    """Links to directories in here are not followed: what they lead to has a name of its own."""
    leaves_out: Callable[[str], bool]
    """Whether not to enter a directory, or take a file; gets the absolute path."""
    max_entries: int | None = None
    """The walk ends once it has looked at more directory entries than this."""
    problems: list[Problem] = field(default_factory=list)
    """What could not be listed; complete once the walk is."""
    texts: bool = False
    """Whether files that are not Python count, too: shell scripts and their like."""
    endings: tuple[str, ...] = SUFFIXES
    """How the names of the files end that count."""
    entries: int = 0
    """How many directory entries were looked at so far."""

    def __iter__(self) -> Iterator[Path]:
        start = os.path.realpath(self.start)
        seen = {start}
        pending = [(str(self.start), start, tracked_files(self.start))]
        while pending and not self.too_large:
            path, real, listed = pending.pop()
            entered: list[tuple[str, str]] = []
            for entry in self._entries(path):
                inner = self._entered(entry, real, listed, seen)
                if inner is not None:
                    entered.append((entry.path, inner))
                elif self._takes(entry, listed):
                    yield Path(entry.path)
            pending.extend((inner, at, _listed_in(inner, listed)) for inner, at in reversed(entered))

    @property
    def too_large(self) -> bool:
        """Whether the walk ended early."""
        return self.max_entries is not None and self.entries > self.max_entries

    def _entries(self, path: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(path) as entries:
                limit = None if self.max_entries is None else self.max_entries - self.entries + 1
                found = list(islice(entries, limit))
        except OSError as error:
            self.problems.append(Problem(path, None, reason(error)))
            return []
        self.entries += len(found)
        return sorted(found, key=lambda entry: entry.name)

    def _entered(self, entry: os.DirEntry[str], above: str, listed: Listed | None, seen: set[str]) -> str | None:
        """The real path of a directory to walk, `above` being that of its parent; None for what is not walked."""
        if not _is_directory(entry) or (listed is not None and not listed.enters(entry.path)):
            return None
        # Of each directory of a large tree: texts, as a Path costs as much as asking the system.
        if self.leaves_out(entry.path) or os.path.exists(f"{entry.path}{os.sep}{_OF_AN_ENVIRONMENT}"):  # noqa: PTH110
            return None
        link = entry.is_symlink()
        real = os.path.realpath(entry.path) if link else os.path.join(above, entry.name)  # noqa: PTH118
        if real in seen or (link and Path(real).is_relative_to(os.path.realpath(self.root))):
            return None
        seen.add(real)
        return real

    def _takes(self, entry: os.DirEntry[str], listed: Listed | None) -> bool:
        if not self._named_right(entry.name) or (listed is not None and entry.path not in listed.files):
            return False
        if self.leaves_out(entry.path):
            return False
        try:
            return stat.S_ISREG(entry.stat().st_mode)
        except OSError as error:
            self.problems.append(Problem(entry.path, None, reason(error)))
            return False

    def _named_right(self, name: str) -> bool:
        return name.endswith(self.endings) or (self.texts and kind_of(name) is not None)


@dataclass(frozen=True)
class Listed:
    """What git does not ignore in a directory; absolute paths."""

    files: Set[str]
    directories: Set[str]
    """Those that hold a listed file, and nested repositories."""

    def enters(self, directory: str) -> bool:
        """Whether there is anything to read in a directory; a nested repository is listed like a file."""
        return directory in self.directories or directory in self.files


def _is_directory(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a directory or a link to one; a link that loops is not."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def reason(error: OSError) -> str:
    """Why the system refused, in words that fit behind "could not be checked: "."""
    if isinstance(error, FileNotFoundError):
        return "no such file or directory"
    return f"cannot be read: {(error.strerror or str(error)).lower()}"


def tracked_files(directory: Path) -> Listed | None:
    """What git tracks or would track in `directory`; None where everything counts.

    That is outside work trees, without git, when git fails, and in a directory that is ignored itself: who
    starts a walk there means it.
    """
    if not any(is_git_root(above) for above in (directory, *directory.parents)):
        return None
    output = _git(directory, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    if output is None or (not output and _git(directory, "check-ignore", "-q", ".") is not None):
        return None
    names = (os.fsdecode(name).rstrip("/").replace("/", os.sep) for name in output.split(b"\0") if name)
    files = frozenset(f"{directory}{os.sep}{name}" for name in names)
    return Listed(files, _above(files, str(directory)))


def _above(files: Set[str], top: str) -> frozenset[str]:
    """The directories between `top` and the files."""
    found = {top}
    for path in files:
        parent = path.rpartition(os.sep)[0]
        while parent not in found:
            found.add(parent)
            parent = parent.rpartition(os.sep)[0]
    return frozenset(found)


def _listed_in(directory: str, listed: Listed | None) -> Listed | None:
    """What counts in a directory about to be walked: what git said above it, unless a repository begins there."""
    begins = os.path.exists(f"{directory}{os.sep}.git") or os.path.islink(directory)  # noqa: PTH110, PTH114
    return tracked_files(Path(directory)) if begins else listed


def _git(directory: Path, *arguments: str) -> bytes | None:
    """What git prints, or None where it fails."""
    import subprocess  # dear, and needed in work trees only

    environment = {name: value for name, value in os.environ.items() if name not in _GIT_STATE}
    # A repository's own fsmonitor setting would run a program of its choice.
    command = ["git", "-c", "core.fsmonitor=false", "-C", str(directory), *arguments]
    try:
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=_GIT_SECONDS, check=True
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return done.stdout
