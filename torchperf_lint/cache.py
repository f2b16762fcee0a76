"""Outlines kept between runs, addressed by what the file holds and by what made them.

JSON and not pickle: a cache directory may come with a repository, and reading it must not run anything.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from torchperf_lint import __version__
from torchperf_lint.facts import chains, guards, outline, records, signatures, syntax
from torchperf_lint.facts.records import Outline
from torchperf_lint.settings import Settings

logger = logging.getLogger(__name__)
FEW_FILES = 20
"""Projects this small are outlined faster than a cache is read and written."""


class Cache:
    """The outlines of one project from the last run."""

    def __init__(self, root: Path, settings: Settings) -> None:
        self.file = _directory(settings) / f"{_digest(str(root))}.json" if settings.cache else None
        self._kept: dict[str, tuple[str, object]] = self._load()

    def get(self, name: str, text: str) -> Outline | None:
        """The outline of a file with exactly this text, or None."""
        kept = self._kept.get(name)
        if kept is None or kept[0] != _digest(text):
            return None
        try:
            return records.from_json(kept[1])
        except (TypeError, ValueError, KeyError, IndexError):
            return None

    def save(self, outlines: Mapping[str, tuple[str, Outline]]) -> None:
        """Keep these for the next run; a cache that cannot be written is no one's problem."""
        if self.file is None or len(outlines) <= FEW_FILES:
            return
        digests = {name: _digest(text) for name, (text, _) in outlines.items()}
        if digests == {name: digest for name, (digest, _) in self._kept.items()}:
            return
        entries = {name: (digests[name], records.to_json(found)) for name, (_, found) in outlines.items()}
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self.file.parent)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump({"made_by": _made_by(), "entries": entries}, file, separators=(",", ":"))
            Path(temporary).replace(self.file)
        except OSError as error:
            logger.debug("cannot write %s: %s", self.file, error)

    def _load(self) -> dict[str, tuple[str, object]]:
        if self.file is None:
            return {}
        try:
            held = json.loads(self.file.read_text(encoding="utf-8"))
            if held["made_by"] == _made_by():
                return {name: (digest, found) for name, (digest, found) in held["entries"].items()}
        except FileNotFoundError:
            pass
        except (
            OSError,
            ValueError,
            KeyError,
            TypeError,
            AttributeError,
            RecursionError,
        ) as error:  # a torn or foreign file
            logger.debug("cannot use %s: %s", self.file, error)
        return {}


def _directory(settings: Settings) -> Path:
    if settings.cache_dir:
        return Path(settings.cache_dir)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111 -- never raises
    return Path(base) / "torchperf-lint"


def _made_by() -> str:
    """What an outline depends on besides the text: our version and code, and Python's parser."""
    makers = (outline, guards, chains, records, signatures, syntax)
    stamps = [str(Path(str(m.__file__)).stat().st_mtime_ns) for m in makers]
    return ".".join([__version__, *stamps, *map(str, sys.version_info[:3])])


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
