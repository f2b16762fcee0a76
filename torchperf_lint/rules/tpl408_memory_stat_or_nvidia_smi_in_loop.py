"""TPL408."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.confirming import unmeasured
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.syntax.syntax import names_of
from torchperf_lint.model import Confidence, Finding, Severity, Verdict
from torchperf_lint.rule import SourceRule

_REPORTS = {
    "torch.cuda.memory_summary": "writes a table of all the allocator's figures",
    "torch.cuda.memory.memory_summary": "writes a table of all the allocator's figures",
    "torch.cuda.memory_snapshot": "lists every block of the allocator",
    "torch.cuda.memory.memory_snapshot": "lists every block of the allocator",
    "torch.cuda.list_gpu_processes": "asks the driver for all processes",
    "torch.cuda.memory.list_gpu_processes": "asks the driver for all processes",
    "GPUtil.getGPUs": "starts `nvidia-smi` and waits for it",
    "GPUtil.showUtilization": "starts `nvidia-smi` and waits for it",
    "gpustat.new_query": "asks the driver for all devices and processes",
    "gpustat.GPUStatCollection.new_query": "asks the driver for all devices and processes",
}
_FREE = ("torch.cuda.mem_get_info", "torch.cuda.memory.mem_get_info")
_STARTS = (
    *("subprocess.run", "subprocess.check_output", "subprocess.check_call", "subprocess.call", "subprocess.Popen"),
    *("subprocess.getoutput", "subprocess.getstatusoutput", "os.system", "os.popen"),
)
_SMI = "nvidia-smi"
_DECIDE = (ast.Compare, ast.BoolOp, ast.IfExp)


class MemoryStatOrNvidiaSmiInLoop(SourceRule):
    """The device's memory is asked for in detail at every step.

    ## What it does
    Flags `nvidia-smi` started by `subprocess` or `os`, `GPUtil.getGPUs()`, `torch.cuda.memory_summary()` in
    code that runs at every step, evaluation batch or forward pass; and `memory_snapshot()` and, as information,
    `torch.cuda.mem_get_info()` there, where they are only shown. `memory_allocated()` and its like are cheap.

    ## Why it is slow
    A program is started, loads the driver's library and asks every device, while the training loop waits for it.
    The summary formats a page of text, the snapshot lists every block, and `mem_get_info` calls the driver.

    ## Example
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion, device):
        for x, y in loader:
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(torch.cuda.memory_summary())
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion, device):
        for step, (x, y) in enumerate(loader):
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 100 == 0:
                print(torch.cuda.max_memory_allocated())
    ```

    ## When it is fine
    Between phases, every so many steps, and where memory has run out:
    ```python
    import subprocess

    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion, device):
        print(subprocess.check_output(["nvidia-smi"], text=True))
        for x, y in loader:
            try:
                loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
                loss.backward()
            except torch.cuda.OutOfMemoryError:
                print(torch.cuda.memory_summary())
                raise
            optimizer.step()
            optimizer.zero_grad()
    ```

    ## Fix safety
    There is no automatic fix: how often the figures are wanted is not in the code.

    ## Confirmed by
    Nothing: no probe times such calls. That the line did not run is reported.

    ## References
    - PyTorch documentation of `torch.cuda.memory_summary`, `torch.cuda.mem_get_info` (cudaMemGetInfo) and
      `torch.cuda.max_memory_allocated`.
    - GPUtil: its functions run `nvidia-smi`.
    """

    code, name, since = "TPL408", "memory-stat-or-nvidia-smi-in-loop", "0.1.0"
    triggers = (_SMI, "memory_summary", "memory_snapshot", "mem_get_info", "GPUtil", "list_gpu_processes", "gpustat")

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each question about the device that every step asks."""
        del project
        for site in file.calls_of(*_REPORTS, *_FREE, *(_STARTS if file.mentions((_SMI,)) else ())):
            if site.hot is None or site.hot.kind == "data":
                continue
            called = file.denotes(site.call.func, site) or ""
            if called in _REPORTS and (not called.endswith("_snapshot") or _is_shown(site)):
                yield self._told(site, _REPORTS[called])
            elif called in _FREE:
                if _is_shown(site):
                    yield self._told(site, "calls the driver for the free memory", Severity.INFO)
            elif _names_smi(site.call):
                yield self._told(site, "starts a program and waits for it")

    def _told(self, site: Site, does: str, severity: Severity | None = None) -> Finding:
        assert site.hot is not None
        mild = site.hot.optional or site.hot.kind == "eval"
        return self.found(
            site,
            message=f"`{site.file.brief(site.call)}` {does} {site.hot.when}",
            instead="ask every so many steps: `if step % 100 == 0:`; for what PyTorch uses, "
            "`torch.cuda.max_memory_allocated()` is enough",
            severity=Severity.INFO if mild else severity,
            confidence=Confidence.POSSIBLE if site.hot.optional else None,
            hot=site.hot,
        )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """No probe times such calls."""
        return unmeasured(run, finding.location, "no probe times questions about the device")


def _names_smi(call: ast.Call) -> bool:
    """Whether a command is `nvidia-smi`, as a text or as a list that begins with it."""
    given = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg in ("args", "cmd")), None)
    first = given.elts[0] if isinstance(given, ast.List | ast.Tuple) and given.elts else given
    if isinstance(first, ast.JoinedStr) and first.values:
        first = first.values[0]
    return isinstance(first, ast.Constant) and isinstance(first.value, str) and _SMI in first.value


def _is_shown(site: Site) -> bool:
    """Whether what is asked for goes into a call for its own sake, as logging does, itself or by the names it gets."""
    around = site.file.enclosing(site.function)
    if any(isinstance(node, _DECIDE) and not _is_body(node, site.call) for node in around.ancestors(site.call)):
        return False
    statement = around.statement(site.call)
    if not isinstance(statement, ast.Assign | ast.AugAssign):
        return isinstance(statement, ast.Expr)
    names = names_of(*(statement.targets if isinstance(statement, ast.Assign) else [statement.target]))
    uses = [node for node in around.of_kinds((ast.Name,)) if isinstance(node, ast.Name) and node.id in names]
    read = [around.statement(use) for use in uses if isinstance(use.ctx, ast.Load)]
    # `used = 0.9 * used + 0.1 * asked()` reads itself: a mean of all steps, for whoever is shown it.
    return bool(names) and all(isinstance(use, ast.Expr) or use is statement for use in read)


def _is_body(node: ast.AST, call: ast.Call) -> bool:
    """Whether a call is what an `if` expression gives, and not what it asks."""
    return isinstance(node, ast.IfExp) and not any(part is call for part in ast.walk(node.test))
