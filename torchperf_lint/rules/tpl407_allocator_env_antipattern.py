"""TPL407."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.confirming import by_variable
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.switches import Mark, asked_for, reached
from torchperf_lint.facts.fixes.edits import fix_of
from torchperf_lint.facts.processes.environment import settings_of, unset
from torchperf_lint.facts.processes.process_flags import explained
from torchperf_lint.facts.processes.text_files import TextFile
from torchperf_lint.facts.processes.text_settings import text_settings
from torchperf_lint.model import Confidence, Finding, Fix, Safety, Severity, Verdict
from torchperf_lint.rule import SourceRule, TextRule

_UNCACHED = "PYTORCH_NO_CUDA_MEMORY_CACHING"
_CONFIGURED = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF")
_SPLIT, _COLLECT = "max_split_size_mb", "garbage_collection_threshold"
_SMALL_SPLIT = 64
_LOW_THRESHOLD = 0.5


class AllocatorEnvAntipattern(SourceRule, TextRule):
    """The caching allocator for device memory is switched off, or kept from reusing what it has.

    ## What it does
    Flags `PYTORCH_NO_CUDA_MEMORY_CACHING` where no flag decides about it: in Python, in shell scripts, Dockerfiles,
    yaml and .env files. In `PYTORCH_CUDA_ALLOC_CONF` a `max_split_size_mb` of 64 or less without
    `expandable_segments:True`, and a `garbage_collection_threshold` below 0.5 are reported as info. A setting with a
    comment that says why, and one in a function that nothing in the project calls are only `possible`.

    ## Why it is slow
    Without caching every tensor costs a `cudaMalloc` and a `cudaFree`, which waits for the device. Blocks above
    `max_split_size_mb` are never split, so a large one serves only requests of nearly its size and the next one is
    allocated anew; the documentation calls the option a last resort. A low threshold gives blocks back to the driver
    that the next step asks for again.

    ## Example
    ```python
    import os

    os.environ["PYTORCH_NO_CUDA_MEMORY_CACHING"] = "1"

    import torch
    ```

    ## Use instead
    Nothing, or against fragmentation:
    ```python
    import os

    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"

    import torch
    ```

    ## When it is fine
    Under a memory checker, from the shell or behind a flag:
    ```python
    import os
    import sys

    if "--memcheck" in sys.argv:
        os.environ["PYTORCH_NO_CUDA_MEMORY_CACHING"] = "1"
    ```

    ## Fix safety
    Unsafe: the setting is removed where it sets nothing else, and a run that just fitted into memory with it may not
    fit without.

    ## Confirmed by
    The variable in the environment of a training step of the run. What it costs no probe measures.

    ## References
    - PyTorch CUDA semantics, "Memory management" and "Optimizing memory usage with PYTORCH_CUDA_ALLOC_CONF".
    """

    code, name, since = "TPL407", "allocator-env-antipattern", "0.1.0"
    triggers = (_UNCACHED, _SPLIT, _COLLECT)
    probes = ("state",)
    keys = (_UNCACHED, *_CONFIGURED)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each setting in code."""
        del project
        for variable in self.keys:
            if not file.mentions((variable,)):
                continue
            for mark, value in settings_of(file, variable):
                what = _effect(variable, str(value.value)) if isinstance(value, ast.Constant) else None
                if what is None or asked_for(file, mark.expression, mark.function):
                    continue
                statement = file.enclosing(mark.function).statement(mark.expression) or mark.expression
                sure = reached(file, mark.function) and not explained(file, statement)
                yield self.found(
                    mark,
                    message=f"{variable} {what}",
                    instead=_instead(variable),
                    severity=None if variable == _UNCACHED else Severity.INFO,
                    confidence=Confidence.LIKELY if sure else Confidence.POSSIBLE,
                    fix=_removal(mark, variable, value),
                )

    def check_text(self, file: TextFile) -> Iterator[Finding]:
        """Yield a finding for each setting in other files."""
        for setting in text_settings(file, self.keys):
            what = _effect(setting.variable, setting.value)
            if what is not None:
                yield self.found_in_text(
                    setting,
                    message=f"{setting.variable} {what}",
                    instead=_instead(setting.variable),
                    severity=None if setting.variable == _UNCACHED else Severity.INFO,
                )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By the environment that a training step found."""
        variable = finding.message.partition(" ")[0]
        return by_variable(finding, run, variable, lambda value: _effect(variable, value) is not None)


def _removal(mark: Mark, variable: str, value: ast.expr) -> Fix | None:
    """None where the value says something else, too."""
    if "," in ast.unparse(value):
        return None
    return fix_of(mark, Safety.UNSAFE, lambda edit: unset(edit, mark.expression, variable))


def _effect(variable: str, value: str) -> str | None:
    """What a setting does, in words; None where it does no harm."""
    if variable == _UNCACHED:
        if value.lower() in ("", "0", "false"):
            return None
        return (
            "is set for every run: each tensor is allocated and freed by the driver, and freeing waits for the device"
        )
    options = dict(part.strip().partition(":")[::2] for part in value.split(","))
    split, threshold = _number(options.get(_SPLIT)), _number(options.get(_COLLECT))
    if split is not None and split <= _SMALL_SPLIT and options.get("expandable_segments", "").lower() != "true":
        return f"keeps blocks above {split:g} MB from being split: a large one is not reused for smaller tensors"
    if threshold is not None and 0 < threshold < _LOW_THRESHOLD:
        return (
            f"gives cached blocks back once {threshold:g} of the memory is in use: what the next step needs is "
            "allocated anew"
        )
    return None


def _number(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None


def _instead(variable: str) -> str:
    if variable == _UNCACHED:
        return "remove it, and type it in front of the command that looks for memory errors"
    return f"remove it; against fragmentation set `{variable}=expandable_segments:True`"
