"""What a framework's trainer is made for: what its literal arguments say, and whether the run is an ordinary one."""

from __future__ import annotations

import ast
import re

from torchperf_lint.facts.constants.named_settings import literals_written_out
from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.files.switches import asked_for, reached
from torchperf_lint.facts.syntax.arguments import literal
from torchperf_lint.facts.syntax.literals import UNKNOWN
from torchperf_lint.patterns import pattern

_TRIAL_STEPS = 200
"""A run of fewer steps is a trial: what a step costs there matters to nobody."""
_TRIED = frozenset({"fast_dev_run", "overfit_batches", "barebones"})
_STEPS = frozenset({"max_steps", "limit_train_batches"})
_ON_HOST = frozenset({"use_cpu", "no_cuda"})
_TRIAL_FILE = pattern(
    r"(?:^|[_/.])(?:tests?|debug\w*|profil\w+|bench\w*|conftest|smoke|sanity|dry_?run|demo|toy)(?=[_/.]|$)",
    re.IGNORECASE,
)


def small(value: object, most: int) -> bool:
    """Whether a literal is a whole number from 1 to `most`; True is none."""
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most


def is_short(call: ast.Call) -> bool:
    """Whether the arguments say that a run is there to be tried out: few steps, or little data."""
    return any(literal(call, name) not in (UNKNOWN, None, False, 0) for name in _TRIED) or any(
        small(literal(call, name), _TRIAL_STEPS) for name in _STEPS
    )


def is_trial_file(path: str) -> bool:
    """Whether a file is there for tests, debugging or demonstrations, by its name."""
    return bool(_TRIAL_FILE.search(path.removesuffix(".py")))


def is_trial(call: ast.Call) -> bool:
    """Whether the arguments say that a run is there to be tried out, or uses no CUDA device."""
    return (
        is_short(call)
        or any(literal(call, name) is True for name in _ON_HOST)
        or literal(call, "accelerator") in ("cpu", "mps", "tpu")
    )


def is_ordinary(site: Site) -> bool:
    """Whether a trainer, or its arguments, are for ordinary runs: no flag, no trial, no test, and reached.

    `site` is the call that makes them.
    """
    return (
        not is_trial(literals_written_out(site))
        and not is_trial_file(site.file.path)
        and not asked_for(site.file, site.call, site.function)
        and reached(site.file, site.function)
    )
