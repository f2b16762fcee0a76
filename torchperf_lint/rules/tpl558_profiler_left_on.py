"""TPL558."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.confirming import by_setting, unmeasured
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.files.switches import asked_for, reached
from torchperf_lint.facts.processes.framework_runs import is_trial_file
from torchperf_lint.facts.processes.process_flags import explained
from torchperf_lint.facts.processes.profiled import PROFILERS, profiled
from torchperf_lint.model import Confidence, Finding, Verdict
from torchperf_lint.rule import SourceRule

_HISTORY = ("torch.cuda.memory._record_memory_history", "torch.cuda._record_memory_history")


class ProfilerLeftOn(SourceRule):
    """A profiler that records a whole run.

    ## What it does
    Flags `with torch.profiler.profile(...)`, `torch.autograd.profiler.profile`, `emit_nvtx` and `cProfile.Profile`
    around a whole training or evaluation loop, around a call that trains, or in each step anew, where there is no
    `schedule`, no flag decides, and the loop has no early end. `torch.cuda.memory._record_memory_history()` that
    nothing in the file ends is flagged as well. Files for profiling, by their names, are left alone.
    `Trainer(profiler=...)` is TPL854.

    ## Why it is slow
    Each operation is recorded as it is launched, with shapes, stacks or memory where that is asked for, and the
    records of the whole run stay in memory until it ends. The history of memory keeps the stack of each allocation.

    ## Example
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion, device):
        with torch.profiler.profile(record_shapes=True, with_stack=True) as prof:
            for x, y in loader:
                loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        prof.export_chrome_trace("trace.json")
    ```

    ## Use instead
    A few steps, in a run that is there to be looked at:
    ```python
    import torch
    from torch import nn

    def profile_training(model: nn.Module, loader, optimizer, criterion, device):
        few = torch.profiler.schedule(wait=1, warmup=1, active=3, repeat=1)
        with torch.profiler.profile(schedule=few, record_shapes=True) as prof:
            for _, (x, y) in zip(range(5), loader):
                loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                prof.step()
        prof.export_chrome_trace("trace.json")
    ```

    ## When it is fine
    Behind a flag, and over a few steps:
    ```python
    import contextlib

    import torch
    from torch import nn

    def train(args, model: nn.Module, loader, optimizer, criterion, device):
        profiler = torch.autograd.profiler.profile() if args.profile else contextlib.nullcontext()
        with profiler:
            for x, y in loader:
                loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    ```

    ## Fix safety
    There is no automatic fix: what reads the profiler's results would have to go as well.

    ## Confirmed by
    Whether a profiler recorded in the training steps that were looked at: the third, the tenth, every thousandth.

    ## References
    - PyTorch documentation of `torch.profiler`: a schedule for long jobs; shapes and stacks add overhead.
    - PyTorch performance tuning guide, "Disable debugging APIs".
    - facebookresearch/dlrm #197, AnswerDotAI/fsdp_qlora #67: slower iterations and traces of gigabytes.
    """

    code, name, since = "TPL558", "profiler-left-on", "0.1.0"
    triggers = ("profile(", "emit_nvtx", "emit_itt", "Profile(", "_record_memory_history")
    probes = ("state",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each profiler that nothing ends before the run does."""
        del project
        if is_trial_file(file.path):
            return
        if file.mentions(("profile(", "emit_", "Profile(")):
            for found in profiled(file):
                block = _block(found.site)
                if block is None or asked_for(file, block, found.site.function):
                    continue
                called = file.denotes(found.site.call.func, found.site) or ""
                yield self._told(
                    found.site,
                    f"`{file.brief(found.site.call)}` {PROFILERS.get(called, 'records')}: {found.what}",
                    "profile a few steps behind a flag: `torch.profiler.profile(schedule=torch.profiler.schedule("
                    "wait=1, warmup=1, active=3, repeat=1))` with `prof.step()` in the loop",
                )
        if file.text.count("_record_memory_history") == 1:
            yield from self._history(file)

    def _history(self, file: SourceFile) -> Iterator[Finding]:
        for site in file.calls_of(*_HISTORY):
            enabled = site.call.args[0] if site.call.args else site.keyword("enabled")
            on = enabled is None or (isinstance(enabled, ast.Constant) and enabled.value not in (None, False))
            in_class = file.outline.functions[site.function].class_index >= 0
            if on and not in_class and not asked_for(file, site.call, site.function):
                yield self._told(
                    site,
                    f"`{file.brief(site.call)}` keeps the stack of every allocation from here on, and nothing ends it",
                    "call it behind a flag, and end it with `_record_memory_history(enabled=None)` after a few steps",
                )

    def _told(self, site: Site, message: str, instead: str) -> Finding:
        file = site.file
        sure = (reached(file, site.function) or site.hot is not None) and not explained(file, _block(site) or site.call)
        return self.found(
            site, message=message, instead=instead, confidence=Confidence.LIKELY if sure else Confidence.POSSIBLE
        )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By whether a profiler recorded when training steps were looked at."""
        if "stack of every allocation" in finding.message:
            return unmeasured(run, finding.location, "no probe asks whether allocations are recorded")
        said = (f"a profiler recorded while it {run.trained}", "no profiler recorded in the steps that were looked at")
        return by_setting(finding, run, run.state.get("profiling"), said)


def _block(site: Site) -> ast.stmt | None:
    """The `with` statement whose context a call makes."""
    parents = site.file.enclosing(site.function).parents
    around = parents.get(parents.get(site.call, site.call))
    return around if isinstance(around, ast.With | ast.AsyncWith) else None
