"""What a run is asked to do: defaults, then the nearest configuration file, then the command line.

The configuration is `[tool.torchperf-lint]` in a pyproject.toml, or a whole torchperf-lint.toml.
"""

from __future__ import annotations

import os.path
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from torchperf_lint import catalog
from torchperf_lint.errors import ConfigError, UsageError
from torchperf_lint.globs import Globs
from torchperf_lint.inside import inside
from torchperf_lint.model import Confidence, Severity
from torchperf_lint.options import BY_FIELD, BY_NAME, PerFile, did_you_mean, nearest

TABLE = "torchperf-lint"
OWN_FILE = f"{TABLE}.toml"
SHARED_FILE = "pyproject.toml"
CONFIG_FILES = (OWN_FILE, SHARED_FILE)
DEFAULT_EXCLUDE = (
    *(".#*", ".bzr", ".direnv", ".eggs", ".git", ".git-rewrite", ".hg", ".ipynb_checkpoints", ".mypy_cache", ".nox"),
    *(".pants.d", ".pyenv", ".pytest_cache", ".pytype", ".ruff_cache", ".svn", ".torchperf-lint-cache", ".tox"),
    *(".venv", ".vscode", "*.egg-info", "__pycache__", "__pypackages__", "_build", "buck-out", "build", "dist"),
    *("node_modules", "site-packages", "venv"),
)
DEFAULT_SKIP = ("tests", "test", "test_*.py", "*_test.py", "conftest.py", "smoke.py", "*_smoke.py", "docs", "bench*")


@dataclass(frozen=True)
class Settings:
    """The settings of one project; every field is an option of the same name."""

    select: tuple[str, ...] | None = None
    """None: the rules that are on by default."""
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    extend_ignore: tuple[str, ...] = ()
    per_file_ignores: PerFile = ()
    confidence: Confidence = Confidence.LIKELY
    """Show findings of this confidence and stronger."""
    severity: Severity = Severity.INFO
    """Show findings of this severity and higher."""
    target_torch: str | None = None
    """The oldest torch the code must run on, like "2.3"; None where it was not said."""
    fail_on: Severity = Severity.WARNING
    fix: bool = False
    unsafe_fixes: bool = False
    """Whether fixes that may change results count as fixes."""
    show_fixes: bool = False
    exclude: tuple[str, ...] = DEFAULT_EXCLUDE
    extend_exclude: tuple[str, ...] = ()
    force_exclude: bool = False
    default_skip: tuple[str, ...] = DEFAULT_SKIP
    jobs: int | None = None
    """How many processes; None leaves it to the linter."""
    no_cache: bool = False
    cache_dir: str | None = None
    """Absolute, or None for the usual place."""

    @property
    def cache(self) -> bool:
        """Whether results may be kept and reused."""
        return not self.no_cache

    @cached_property
    def codes(self) -> frozenset[str]:
        """The codes of the rules to run."""
        return catalog.selected_codes(self.select, self.ignore, self.extend_select, self.extend_ignore)

    @property
    def oldest_torch(self) -> tuple[int, int] | None:
        """`target_torch` as (major, minor)."""
        if self.target_torch is None:
            return None
        major, minor = self.target_torch.split(".")[:2]
        return int(major), int(minor)

    def ignored_codes_for(self, path: str) -> frozenset[str]:
        """The codes that per-file-ignores silence in a file; `path` is POSIX, relative to the project's root.

        A pattern matches the file's name or its whole path; `!` before it means every other file.
        """
        selectors = [s for globs, negated, codes in self._per_file if globs.matches(path) != negated for s in codes]
        return catalog.selected_codes(("ALL",)) & _covered(selectors) if selectors else frozenset()

    def excludes(self, path: str) -> bool:
        """Whether a file or directory is left out by its own name or path, POSIX and relative to the root."""
        return self._excluded.matches(path)

    def skips(self, path: str) -> bool:
        """Whether a path, or a directory above it, is one that is reported on only when it is named."""
        return self._skipped.matches_any_part(path)

    @cached_property
    def _excluded(self) -> Globs:
        return Globs((*self.exclude, *self.extend_exclude))

    @cached_property
    def _skipped(self) -> Globs:
        return Globs(self.default_skip)

    @cached_property
    def _per_file(self) -> tuple[tuple[Globs, bool, tuple[str, ...]], ...]:
        return tuple(
            (Globs([_everything_in(pattern.removeprefix("!"))]), pattern.startswith("!"), codes)
            for pattern, codes in self.per_file_ignores
        )


def _everything_in(pattern: str) -> str:
    return f"{pattern}*" if pattern.endswith("/") else pattern


def _covered(selectors: list[str]) -> frozenset[str]:
    known = catalog.known_codes()
    return frozenset(c for c in known if any(s == "ALL" or c.startswith(s) for s in selectors))


def find_config(start: Path) -> Path | None:
    """The nearest configuration file at or above `start`, a file or directory; not above the git root.

    Raises ConfigError where a file that looks like ours cannot be read.
    """
    for directory in _upwards(start):
        own = directory / OWN_FILE
        if os.path.isfile(own):  # noqa: PTH113 -- Path.is_file raises where a directory may not be searched
            return own
        shared = directory / SHARED_FILE
        if os.path.isfile(shared) and _table_of(shared) is not None:  # noqa: PTH113
            return shared
        if is_git_root(directory):
            return None
    return None


def find_root(path: Path, cwd: Path, isolated: bool = False) -> Path:
    """The project that a file or directory belongs to; with `isolated`, configuration files are not looked at.

    The nearest configuration's directory, else the git root, else `cwd` where the path lies in it, else the
    directory given or the file's own.
    """
    config = None if isolated else find_config(path)
    if config is not None:
        return config.parent
    for directory in _upwards(path):
        if is_git_root(directory):
            return directory
    return cwd if path.is_relative_to(cwd) else next(_upwards(path))


def _upwards(start: Path) -> Iterator[Path]:
    if os.path.isdir(start):  # noqa: PTH112
        yield start
    yield from start.parents


def is_git_root(directory: Path) -> bool:
    """Whether a work tree of git begins here: `.git` is a directory, or a file in linked trees and submodules."""
    return os.path.exists(directory / ".git")  # noqa: PTH110


def load(config: Path | None, overrides: Mapping[str, object]) -> Settings:
    """The settings that a configuration file and flags make together; flags beat the file.

    `overrides` maps fields of Settings to what a flag said (strings as typed, or lists of them); None means not
    said. `--select` sets aside what the file selects and ignores; the `extend-*` flags add to the file's.
    Raises ConfigError for the file, UsageError for a flag.
    """
    said = {field: raw for field, raw in overrides.items() if raw is not None}
    values = _read_file(config) if config is not None else {}
    flags: dict[str, Any] = {field: _read_flag(field, raw) for field, raw in said.items()}
    if "select" in flags:
        for field in ("ignore", "extend_select", "extend_ignore"):
            values.pop(field, None)
    for field in ("extend_select", "extend_ignore", "extend_exclude"):
        if field in values and field in flags:
            flags[field] = (*values[field], *flags[field])
    return Settings(**{**values, **flags})


def _read_flag(field: str, raw: object) -> object:
    option = BY_FIELD[field]
    try:
        return option.read(raw)
    except ValueError as error:
        raise UsageError(f"--{option.name}: {error}") from None


def _read_file(config: Path) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, raw in (_table_of(config) or {}).items():
        option = BY_NAME.get(key)
        if option is None:
            near = did_you_mean(nearest(key, BY_NAME))
            raise ConfigError(f"{_where(config)}: unknown key {key!r}{near}")
        try:
            values[option.field] = option.read(raw)
        except ValueError as error:
            raise ConfigError(f"{_where(config)}: {key} {error}") from None
    if "cache_dir" in values:
        values["cache_dir"] = str(config.parent / values["cache_dir"])
    return values


def _where(config: Path) -> str:
    table = f" [tool.{TABLE}]" if config.name == SHARED_FILE else ""
    return f"{shown(config, Path.cwd())}{table}"


def shown(path: Path, cwd: Path) -> str:
    """A path as reports show it: POSIX, relative to `cwd` when inside it."""
    return inside(path, cwd) or path.as_posix()


def _table_of(config: Path) -> dict[str, object] | None:
    """Our table of a configuration file, or None where it has none."""
    try:
        data = config.read_bytes()
    except OSError as error:
        raise ConfigError(f"{shown(config, Path.cwd())}: cannot be read: {error.strerror}") from None
    if config.name != SHARED_FILE:
        return _parse(config, data)
    # Most pyproject.toml are not about us: neither pay for parsing them nor fail where they are malformed.
    tools = _parse(config, data).get("tool") if TABLE.encode() in data else None
    table = tools.get(TABLE) if isinstance(tools, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"{_where(config)}: must be a table")
    return table


def _parse(config: Path, data: bytes) -> dict[str, object]:
    toml = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        # Windows editors save a byte order mark, which TOML does not allow.
        parsed: dict[str, object] = toml.loads(data.decode("utf-8-sig"))
    except (UnicodeDecodeError, toml.TOMLDecodeError) as error:
        raise ConfigError(f"{shown(config, Path.cwd())}: not valid TOML: {error}") from None
    except RecursionError:
        raise ConfigError(f"{shown(config, Path.cwd())}: nested too deeply to be read") from None
    return parsed
