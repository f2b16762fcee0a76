"""TPL706."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.confirming import unmeasured
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.switches import Mark, asked_for, reached
from torchperf_lint.facts.fixes.edits import fix_of
from torchperf_lint.facts.processes.compiling import COMPILE
from torchperf_lint.facts.processes.environment import settings_of, unset
from torchperf_lint.facts.processes.process_flags import explained, flags_set
from torchperf_lint.facts.processes.text_files import TextFile
from torchperf_lint.facts.processes.text_settings import text_settings
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.facts.syntax.literals import is_true
from torchperf_lint.model import Confidence, Finding, Safety, Severity, Verdict
from torchperf_lint.rule import SourceRule, TextRule

_DEBUG = "TORCH_COMPILE_DEBUG"
_LOGS = "TORCH_LOGS"
_DISABLES = ("TORCHDYNAMO_DISABLE", "TORCH_COMPILE_DISABLE")
_CONFIG = {
    "torch._dynamo.config.disable": "switches the compiler off: what `torch.compile` wraps runs uncompiled",
    "torch._dynamo.config.suppress_errors": "lets what fails to compile run uncompiled, and only a log tells",
}
_RESETS = ("torch._dynamo.reset", "torch.compiler.reset")
_BACKENDS = frozenset({"eager", "aot_eager", "aot_eager_decomp_partition", "eager_noexcept"})
_SELDOM = frozenset({"recompiles", "recompiles_verbose", "graph_breaks", "perf_hints"})
"""Logs that a program which compiles well never writes to."""


class CompileDebugOrDisabledConfig(SourceRule, TextRule):
    """The compiler is switched off or debugged in every run.

    ## What it does
    Flags `TORCH_COMPILE_DEBUG=1`, `torch.compile(backend="eager")` and `"aot_eager"`, and `torch._dynamo.reset()` in
    code that runs every step, where no flag decides about it; as information `TORCHDYNAMO_DISABLE=1`,
    `TORCH_COMPILE_DISABLE=1`, `TORCH_LOGS` with logs that each compilation writes to, and
    `torch._dynamo.config.suppress_errors = True` and `.disable = True`. The variables are also looked for in shell
    scripts, Dockerfiles, yaml and .env files. What a comment gives a reason for is only `possible`.

    ## Why it is slow
    The backends `eager` and `aot_eager` are made to find faults: they check guards at each call and compile nothing.
    With `TORCH_COMPILE_DEBUG` each graph is written to files at every stage of its compilation. `reset` throws away
    all that was compiled. What is switched off gains nothing.

    ## Example
    ```python
    import torch
    from torch import nn

    def build(width):
        return torch.compile(nn.Linear(width, width).cuda(), backend="aot_eager")

    model = build(64)
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    def build(width):
        return torch.compile(nn.Linear(width, width).cuda())

    model = build(64)
    ```

    ## When it is fine
    From the shell (`TORCH_LOGS=recompiles python train.py`), or behind a flag:
    ```python
    import os
    import sys

    if "--debug" in sys.argv:
        os.environ["TORCH_COMPILE_DEBUG"] = "1"
    ```

    ## Fix safety
    Unsafe: a variable that is set is removed, with the import that nothing else uses. What did not compile may fail
    then.

    ## Confirmed by
    Nothing: these variables are not recorded, and no probe counts compilations.

    ## References
    - PyTorch documentation of `torch.compile`, "Troubleshooting", and of `torch._logging`.
    - Read in torch 2.13: `torch/_dynamo/config.py`, `torch/_dynamo/eval_frame.py`, `torch/_inductor/config.py`.
    """

    code, name, since = "TPL706", "compile-debug-or-disabled-config", "0.1.0"
    triggers = (_DEBUG, _LOGS, *_DISABLES, "dynamo", "compiler.reset", "eager")
    keys = (_DEBUG, *_DISABLES, _LOGS)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each setting, debug backend and reset."""
        del project
        for variable in self.keys:
            if file.mentions((variable,)):
                yield from self._set(file, variable)
        if file.mentions(("suppress_errors", "config.disable")):
            for flag in flags_set(file, *_CONFIG):
                if is_true(flag.value) and not _asked(flag.mark):
                    yield self._told(
                        flag.mark, f"`{_short(flag.dotted)}` {_CONFIG[flag.dotted]}", "remove it", info=True
                    )
        if file.mentions(('"eager', "'eager", '"aot_eager', "'aot_eager")):
            yield from self._backends(file)
        if file.mentions((".reset()",)):
            yield from self._resets(file)

    def _set(self, file: SourceFile, variable: str) -> Iterator[Finding]:
        for mark, value in settings_of(file, variable):
            what = _effect(variable, str(value.value)) if isinstance(value, ast.Constant) else ""
            if what and not _asked(mark):
                yield self._told(mark, f"{variable} is set for every run: {what}", _SHELL, info=variable != _DEBUG)

    def _told(self, mark: Mark, message: str, instead: str, info: bool) -> Finding:
        file, node = mark.file, mark.expression
        statement = file.enclosing(mark.function).statement(node) or node
        variable = message.partition(" ")[0]
        set_here = variable in self.keys
        return self.found(
            mark,
            message=message,
            instead=instead,
            severity=Severity.INFO if info else None,
            confidence=Confidence.LIKELY
            if reached(file, mark.function) and not explained(file, statement)
            else Confidence.POSSIBLE,
            fix=fix_of(mark, Safety.UNSAFE, lambda edit: unset(edit, node, variable)) if set_here else None,
        )

    def _backends(self, file: SourceFile) -> Iterator[Finding]:
        called = [Mark(file, site.call, site.function, site.hot) for site in file.calls_of(COMPILE)]
        for mark in (*called, *_decorators(file)):
            assert isinstance(mark.expression, ast.Call)
            given = {keyword.arg: keyword.value for keyword in mark.expression.keywords}
            backend = given.get("backend")
            known = isinstance(backend, ast.Constant) and backend.value in _BACKENDS and "disable" not in given
            if known and not _asked(mark):
                message = f"`{file.brief(mark.expression)}` has a backend made to find faults: it compiles nothing"
                yield self._told(mark, message, _NO_BACKEND, info=False)

    def _resets(self, file: SourceFile) -> Iterator[Finding]:
        for site in file.calls_of(*_RESETS):
            if site.hot is not None and not site.hot.optional and site.hot.kind != "data":
                yield self.found(
                    site,
                    message=f"`{file.brief(site.call)}` throws away all that was compiled {site.hot.when}",
                    instead="remove it; between parts of a program that have nothing in common, call it once",
                    hot=site.hot,
                )

    def check_text(self, file: TextFile) -> Iterator[Finding]:
        """Yield a finding for each line that sets a variable."""
        for setting in text_settings(file, self.keys):
            what = _effect(setting.variable, setting.value)
            if what and not setting.explained:
                yield self.found_in_text(
                    setting,
                    message=f"{setting.variable} is set for every run: {what}",
                    instead=_SHELL,
                    severity=None if setting.variable == _DEBUG else Severity.INFO,
                )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """No probe records what is set for the compiler."""
        return unmeasured(run, finding.location, "no probe looks at the compiler's settings")


_NO_BACKEND = "leave `backend` out, which compiles by inductor, or do not compile at all"
_SHELL = "remove it, and type it in front of the command for the run that needs it"


def _decorators(file: SourceFile) -> Iterator[Mark]:
    """`@torch.compile(...)`, each where its function is defined."""
    body = file.project.body(file.path)
    for number, record in enumerate(file.outline.functions):
        compiles = any(last_part(decorator.removesuffix("()")) == "compile" for decorator in record.decorators)
        node = body.functions.get(number) if body is not None and compiles else None
        for decorator in getattr(node, "decorator_list", ()):
            mark = Mark(file, decorator, record.parent)
            if isinstance(decorator, ast.Call) and file.denotes(decorator.func, mark) == COMPILE:
                yield mark


def _short(dotted: str) -> str:
    """`config.disable` of the whole name."""
    return ".".join(dotted.split(".")[-2:])


def _asked(mark: Mark) -> bool:
    return asked_for(mark.file, mark.expression, mark.function)


def _effect(variable: str, value: str) -> str:
    """What a setting does, in words; empty where it does nothing worth a word."""
    if variable == _LOGS:
        logs = {part.strip() for part in value.split(",")} - {""}
        loud = {log for log in logs if log.lstrip("+") not in _SELDOM and not log.startswith("-")}
        return "each compilation writes to these logs" if loud else ""
    if value != "1":
        return ""
    if variable == _DEBUG:
        return "every graph is written to files at each stage of its compilation"
    return "`torch.compile` is switched off, and what it wraps runs uncompiled"
