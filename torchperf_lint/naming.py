"""What stands beside the code: files of settings where objects are made by their names, `target: models.unet.UNet`,
how programs are started where an option decides about workers, or is off, and whether the project is a package."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from torchperf_lint.facts.call_graph.by_name import builds_by_name
from torchperf_lint.facts.call_graph.programs import Beside
from torchperf_lint.paths import MAX_ENTRIES
from torchperf_lint.patterns import pattern
from torchperf_lint.settings import Settings, shown
from torchperf_lint.walk import Walk

_ENDINGS = (".yaml", ".yml", ".json", ".toml", ".cfg", ".ini", ".sh", ".gin", ".conf", ".jsonnet")
_STARTS = (".sh", ".md", ".sbatch", ".slurm", ".bat")
"""Files that show command lines."""
_LARGEST = 200_000
"""Bytes; what is larger holds data."""
_MOST = 4_000
"""Files that are read; a project with more is not told about."""


_PACKAGED = ("setup.py", "setup.cfg", "pyproject.toml")
_NAMED = pattern(r"^\[(?:project|tool\.poetry|metadata|tool\.flit\.metadata)\]|\bsetup\(", re.MULTILINE)


def beside(root: Path, settings: Settings, texts: Sequence[str]) -> Beside:
    """What stands beside the code of the project at `root`, which consists of `texts`."""
    installed = any(root.glob("*.dist-info"))
    return Beside(settings_of(root, settings, texts), is_packaged(root), installed, commands_of(root, settings, texts))


def is_packaged(root: Path) -> bool:
    """Whether what is at `root` can be installed."""
    for name in _PACKAGED:
        try:
            text = (root / name).read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        if _NAMED.search(text):
            return True
    return False


def settings_of(root: Path, settings: Settings, texts: Iterable[str]) -> str | None:
    """The texts of a project's files of settings, one after the other; None where it makes nothing by name.

    Also None where there are too many, or one cannot be read: then nobody knows what they name. What git ignores and
    what the settings exclude is left out.
    """
    if not any(map(builds_by_name, texts)):
        return None
    return _texts_of(root, settings, _ENDINGS)


_NO_WORKERS = pattern(r"add_argument\([^)]{0,80}workers[^)]{0,200}\bdefault\s*=\s*[\"']?0\b")


def commands_of(root: Path, settings: Settings, texts: Iterable[str]) -> str:
    """The texts of scripts and pages that show command lines; empty where no option asks for no workers by default, or
    is off.

    Also empty where there are too many, or one cannot be read.
    """
    if not any("store_true" in text or ("workers" in text and _NO_WORKERS.search(text)) for text in texts):
        return ""
    return _texts_of(root, settings, _STARTS) or ""


def _texts_of(root: Path, settings: Settings, endings: tuple[str, ...]) -> str | None:
    """The texts of all files with such endings; None where there are too many, or one cannot be read."""
    walk = Walk(root, root, lambda path: settings.excludes(shown(Path(path), root)), MAX_ENTRIES, endings=endings)
    found: list[str] = []
    try:
        for number, path in enumerate(walk):
            if number == _MOST:
                return None
            if path.stat().st_size <= _LARGEST:
                found.append(path.read_bytes().decode("utf-8", errors="replace"))
    except OSError:
        return None
    return None if walk.too_large or walk.problems else "\n".join(found)
