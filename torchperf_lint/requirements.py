"""The oldest torch that a project says it runs on, read from the files in which projects say so.

What that release lacks is not asked for. Only a pin or an upper bound says that today's torch is not what runs: a lower
bound, `torch>=1.8`, is seldom moved, and admits every later one (`target-torch` says otherwise). What a lower bound
admits is another question, for edits that the project could not run with there. Only files at the
project's root count, and the first that bounds torch so decides. Where that is `requirements_onnx.txt` beside a
`requirements.txt` that asks for torch without a bound, both run, and what most people install is today's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from torchperf_lint.facts.files.torch_bounds import Release, TorchBounds
from torchperf_lint.patterns import pattern

_FILES = (
    "pyproject.toml",
    "setup.cfg",
    "setup.py",
    "requirements.txt",
    "requirements/*.txt",
    "requirements*.txt",
    "environment*.y*ml",
    "conda*.y*ml",
)
"""Patterns of files below the root, what decides first first."""
_LARGEST = 200_000
"""Bytes."""
_ENTRY = pattern(
    r"""(?:^|["'\s])(?:pytorch::)?(?:py)?torch\ *(?:\[[^\]\n]*\])?\ *(?:=\ *["'])?"""
    r"""(?P<bounds>\(?[\^<>=!~]=?[^"'#;\n]*)""",
    re.MULTILINE,
)
"""`torch>=1.8,<3`, `"torch (>=2.0)"`, `pytorch=1.7.1=py3.8`, poetry's `torch = "^2.0"`; group: the bounds."""
_BOUND = pattern(r"(?P<how>===?|=|~=|\^|>=?|<=?|!=)\s*v?(?P<major>\d+)(?:\.(?P<minor>\d+))?")
_NAMED = pattern(r"^\ *torch\ *(?:$|[\[(<>=!~;@])", re.MULTILINE)
_PINS = ("==", "===", "=", "<=")
_FROM = (">=", ">", "~=", "^", "==", "===", "=")
_LAST_OF_ONE = 13
"""The last minor release of torch 1, which 2.0 followed."""


def torch_bounds(root: Path) -> TorchBounds:
    """What the project at `root` says of the torch it runs on."""
    return TorchBounds(oldest_torch(root), _first(root, _lowest))


def oldest_torch(root: Path) -> Release | None:
    """The oldest torch that the project at `root` has to run on; None where it does not say."""
    return _first(root, _oldest)


def _first(root: Path, said: Callable[[str], Release | None]) -> Release | None:
    """The oldest release that bounds of torch say, in the first file in which any say one."""
    for path in _written(root):
        told = _told(path)
        found = [release for entry in _ENTRY.finditer(told) if (release := said(entry["bounds"])) is not None]
        if found:
            return None if _for_a_purpose(path, root) else min(found)
    return None


def _told(path: Path) -> str:
    """What a file says, its comments taken off."""
    try:
        return re.sub(r"#.*", "", path.read_bytes().decode("utf-8", errors="replace"))
    except OSError:
        return ""


def _for_a_purpose(path: Path, root: Path) -> bool:
    """Whether it is one of the files beside a `requirements.txt` that asks for torch as it is today."""
    main = root / "requirements.txt"
    return path.suffix == ".txt" and path != main and main.is_file() and _NAMED.search(_told(main)) is not None


def _written(root: Path) -> Iterator[Path]:
    for name in _FILES:
        for path in sorted(root.glob(name)):
            if path.is_file() and path.stat().st_size <= _LARGEST:
                yield path


def _lowest(bounds: str) -> Release | None:
    """The release that bounds begin with."""
    found = [_version(bound) for bound in _BOUND.finditer(bounds) if bound["how"] in _FROM]
    return max(found, default=None)


def _version(bound: re.Match[str]) -> Release:
    return int(bound["major"]), int(bound["minor"] or 0)


def _oldest(bounds: str) -> Release | None:
    """The release that is pinned; the one before an upper bound. Lower bounds and `!=` leave it open."""
    found: list[Release] = []
    for bound in _BOUND.finditer(bounds):
        version = _version(bound)
        if bound["how"] in _PINS:
            found.append(version)
        elif bound["how"] == "<":
            found.append(_before(version))
    return min(found, default=None)


def _before(version: Release) -> Release:
    major, minor = version
    return (major, minor - 1) if minor else (major - 1, _LAST_OF_ONE)
