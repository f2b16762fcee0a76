"""Outlines kept between runs, addressed by what the file holds and by what made them.

JSON and not pickle: a cache directory may come with a repository, and reading it must not run anything.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from torchperf_lint import __version__
from torchperf_lint.facts.hotness import reach
from torchperf_lint.facts.hotness.hotness import Reach
from torchperf_lint.facts.outlines import (
    anomalies,
    assignments,
    class_flags,
    complaints,
    counted_turns,
    cut_by_while,
    device_tests,
    documented,
    expressions,
    filled_elsewhere,
    filled_globals,
    filled_names,
    first_turns,
    flags,
    guards,
    imported,
    intervals,
    kept_parameters,
    memo,
    mentions,
    modes,
    moved_beside,
    notes,
    once,
    outline,
    parameter_tests,
    reached_lengths,
    records,
    returned_parts,
    shape_hints,
    signatures,
    states,
    switched_off,
    torch_versions,
    turned_flags,
    type_aliases,
    unit_intervals,
)
from torchperf_lint.facts.outlines.records import Outline
from torchperf_lint.facts.syntax import chains, conditions, expressions_written, literals, operands, syntax
from torchperf_lint.settings import Settings

logger = logging.getLogger(__name__)
FEW_FILES = 20
"""Projects this small are outlined faster than a cache is read and written."""


class Cache:
    """The outlines of one project from the last run."""

    def __init__(self, root: Path, settings: Settings) -> None:
        self.file = _directory(settings) / f"{_digest(str(root))}.json" if settings.cache else None
        self._kept: dict[str, tuple[str, object]] = self._load()
        self._digests: dict[str, str] = {}

    def get(self, name: str, text: str) -> Outline | None:
        """The outline of a file with exactly this text, or None."""
        kept = self._kept.get(name)
        if kept is None or kept[0] != self._digest(text):
            return None
        try:
            return records.from_json(kept[1])
        except (TypeError, ValueError, KeyError, IndexError):
            return None

    def _digest(self, text: str) -> str:
        """The digest of a file's text, worked out once."""
        if text not in self._digests:
            self._digests[text] = _digest(text)
        return self._digests[text]

    def save(self, outlines: Mapping[str, tuple[str, Outline]]) -> None:
        """Keep these for the next run; a cache that cannot be written is no one's problem."""
        if self.file is None or len(outlines) <= FEW_FILES:
            return
        digests = {name: self._digest(text) for name, (text, _) in outlines.items()}
        if digests == {name: digest for name, (digest, _) in self._kept.items()}:
            return
        entries = {name: (digests[name], records.to_json(found)) for name, (_, found) in outlines.items()}
        _write(self.file, {"made_by": _made_by(), "entries": entries})

    def reach(self, texts: Mapping[str, str], settings: str = "") -> KeptReach | None:
        """Where who calls whom in a project with just these texts is kept; None for projects that need no cache.

        `settings`: the texts of files of settings that tell of it as well.
        """
        if self.file is None or len(texts) <= FEW_FILES:
            return None
        every = "".join(f"{name}\0{self._digest(text)}\0" for name, text in sorted(texts.items()))
        every += self._digest(settings) if settings else ""
        return KeptReach(self.file.with_suffix(".calls.json"), f"{_digest(every)}.{_facts_made_by()}")

    def _load(self) -> dict[str, tuple[str, object]]:
        if self.file is None:
            return {}
        try:
            held = json.loads(self.file.read_text(encoding="utf-8"))
            if held["made_by"] == _made_by():
                return {name: (digest, found) for name, (digest, found) in held["entries"].items()}
        except FileNotFoundError:
            pass
        except _UNUSABLE as error:
            logger.debug("cannot use %s: %s", self.file, error)
        return {}


class KeptReach:
    """What the files of a project say together: good for as long as none of them changes."""

    def __init__(self, file: Path, digest: str) -> None:
        self.file = file
        self.digest = digest

    def load(self, outlines: Mapping[str, Outline]) -> Reach | None:
        """What was kept, or None when anything has changed."""
        try:
            held = json.loads(self.file.read_text(encoding="utf-8"))
            return reach.from_json(held["reach"], outlines) if held["digest"] == self.digest else None
        except FileNotFoundError:
            return None
        except _UNUSABLE as error:
            logger.debug("cannot use %s: %s", self.file, error)
            return None

    def save(self, found: Reach | None, outlines: Mapping[str, Outline]) -> None:
        """Keep what a run worked out; None where it took what was kept, or needed nothing."""
        if found is not None:
            _write(self.file, {"digest": self.digest, "reach": reach.to_json(found, outlines)})


_UNUSABLE = (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError)
"""What reading a torn or foreign file raises."""


def _write(path: Path, held: object) -> None:
    try:
        import tempfile

        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(json.dumps(held, separators=(",", ":")))
        Path(temporary).replace(path)
    except OSError as error:
        logger.debug("cannot write %s: %s", path, error)


def _facts_made_by() -> str:
    """What hotness depends on besides the texts: all of our code that looks at them, and Python's parser."""
    stamps = "".join(f"{file.name}{file.stat().st_mtime_ns}" for file in sorted(_FACTS.rglob("*.py")))
    return _digest(stamps + _made_by())


_FACTS = Path(str(records.__file__)).parents[1]


def _directory(settings: Settings) -> Path:
    if settings.cache_dir:
        return Path(settings.cache_dir)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111 -- never raises
    return Path(base) / "torchperf-lint"


def _made_by() -> str:
    """What an outline depends on besides the text: our version and code, and Python's parser."""
    makers = (
        outline,
        expressions,
        expressions_written,
        filled_elsewhere,
        filled_globals,
        filled_names,
        moved_beside,
        notes,
        operands,
        parameter_tests,
        anomalies,
        assignments,
        conditions,
        expressions_written,
        counted_turns,
        device_tests,
        flags,
        guards,
        imported,
        intervals,
        kept_parameters,
        literals,
        memo,
        reached_lengths,
        once,
        chains,
        class_flags,
        complaints,
        cut_by_while,
        documented,
        first_turns,
        states,
        switched_off,
        mentions,
        modes,
        records,
        returned_parts,
        shape_hints,
        signatures,
        syntax,
        torch_versions,
        turned_flags,
        type_aliases,
        unit_intervals,
    )
    stamps = [str(Path(str(m.__file__)).stat().st_mtime_ns) for m in makers]
    return ".".join([__version__, *stamps, *map(str, sys.version_info[:3])])


def _digest(text: str) -> str:
    import hashlib  # brings OpenSSL with it, for nothing where no cache is kept

    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
