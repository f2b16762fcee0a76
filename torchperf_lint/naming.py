"""The files of settings of a project that makes objects by their names: `target: models.unet.UNet` in a YAML file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from torchperf_lint.facts.unmentioned import BUILDS_BY_NAME

_ENDINGS = (".yaml", ".yml", ".json", ".toml", ".cfg", ".ini", ".sh", ".gin", ".conf", ".jsonnet")
_LARGEST = 200_000
"""Bytes; what is larger holds data."""
_MOST = 4_000
"""Files that are read; a project with more is not told about."""


def settings_of(root: Path, texts: Iterable[str]) -> str | None:
    """The texts of a project's files of settings, one after the other; None where it makes nothing by name.

    Also None where there are too many, or one cannot be read: then nobody knows what they name.
    """
    if not any(BUILDS_BY_NAME.search(text) for text in texts):
        return None
    found: list[str] = []
    try:
        for number, path in enumerate(_files(root)):
            if number == _MOST:
                return None
            found.append(path.read_bytes().decode("utf-8", errors="replace"))
    except OSError:
        return None
    return "\n".join(found)


def _files(root: Path) -> Iterator[Path]:
    for directory, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "node_modules")
        for name in sorted(names):
            path = Path(directory, name)
            if name.endswith(_ENDINGS) and path.is_file() and path.stat().st_size <= _LARGEST:
                yield path
