"""Files that are called like tests and hold none: scripts that load a model and run it over a data set.

`test_net.py` of a detector and `test_imagenet.py` of a classifier are run by hand, with options, for as long as the
data lasts; a unit test asserts.
"""

from __future__ import annotations

from pathlib import Path

from torchperf_lint.patterns import pattern

_OPTIONS = pattern(r"\bArgumentParser\(|\.parse_args\(|\badd_argument\(")
_RUNS = pattern(r"\.eval\(\)|\bload_state_dict\(|\btorch\.load\(|\bDataLoader\(|\bdata_loader\b|\bfrom_pretrained\(")
_TESTS = pattern(r"(?m)^\s*assert\b|\bunittest\b|\bpytest\b|^class Test|^\s*def test_\w*\((?:self)?\)|\bassert_close\b")
_SIZE = 400_000
"""Characters; what is longer is no script."""


def is_evaluation_script(path: Path) -> bool:
    """Whether a file named `test_*.py` or `*_test.py` takes options, runs a model and asserts nothing."""
    if not path.name.endswith(".py") or not (path.name.startswith("test_") or path.stem.endswith("_test")):
        return False
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(_SIZE)
    except (OSError, UnicodeDecodeError):
        return False
    return bool("torch" in text and _OPTIONS.search(text) and _RUNS.search(text) and not _TESTS.search(text))
