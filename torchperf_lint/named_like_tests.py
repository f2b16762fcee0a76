"""Files that are called like tests and hold none: scripts that load a model and run it over a data set.

`test_net.py` of a detector and `test_imagenet.py` of a classifier are run by hand, with options, for as long as the
data lasts; a unit test asserts. `train_test.py` holds the loops of a program that trains, and then tests.
"""

from __future__ import annotations

from pathlib import Path

from torchperf_lint.patterns import pattern

TRAINS_AND_TESTS = r"(?:\w+_)?train(?:_?(?:and|val|valid|eval))*_test\.py$"
"""Names of files that train and test: `train_test.py`, `train_val_test.py`."""
_TRAINS_AND_TESTS = pattern(TRAINS_AND_TESTS)
_OPTIONS = pattern(r"\bArgumentParser\(|\.parse_args\(|\badd_argument\(")
_RUNS = pattern(r"\.eval\(\)|\bload_state_dict\(|\btorch\.load\(|\bDataLoader\(|\bdata_loader\b|\bfrom_pretrained\(")
_ASSERTS = pattern(r"(?m)^\s*assert\b")
_TESTS = pattern(r"(?m)\bunittest\b|\bpytest\b|^class Test|^\s*def test_\w*\((?:self)?\)|\bassert_close\b")
_SIZE = 400_000
"""Characters; what is longer is no script."""


def is_script_named_like_a_test(path: Path) -> bool:
    """Whether a file named `test_*.py` or `*_test.py` trains, or takes options, runs a model and asserts nothing."""
    if not path.name.endswith(".py") or not (path.name.startswith("test_") or path.stem.endswith("_test")):
        return False
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(_SIZE)
    except (OSError, UnicodeDecodeError):
        return False
    if "torch" not in text or _TESTS.search(text):
        return False
    if _TRAINS_AND_TESTS.match(path.name):
        return ".backward(" in text
    return bool(_OPTIONS.search(text) and _RUNS.search(text) and not _ASSERTS.search(text))
