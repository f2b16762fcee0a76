"""TPL709."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.confirming import unmeasured
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.optimizers.compiled_steps import compiled_steps
from torchperf_lint.model import Confidence, Finding, Verdict
from torchperf_lint.rule import SourceRule


class OptimizerCompiledWithFloatLr(SourceRule):
    """An optimizer's step is compiled, and its learning rate is a Python number that a scheduler changes.

    ## What it does
    Flags `torch.compile` of `optimizer.step`, or of a function or lambda that calls it, where the same file makes the
    optimizer of `torch.optim` without a tensor for `lr` and makes a scheduler for it. Off by default: newer releases
    of PyTorch compile again less often.

    ## Why it is slow
    The compiled code is for one learning rate: a guard compares the number, and each change of it compiles the step
    again, until the limit of recompilations is reached and the step runs uncompiled from there on.

    ## Example
    ```python
    import torch

    def train(model, loader, compute_loss):
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=1000)

        @torch.compile(fullgraph=False)
        def step():
            optimizer.step()

        for batch in loader:
            compute_loss(model, batch).backward()
            step()
            scheduler.step()
            optimizer.zero_grad()
    ```

    ## Use instead
    ```python
    import torch

    def train(model, loader, compute_loss):
        optimizer = torch.optim.Adam(model.parameters(), lr=torch.tensor(1e-3))
        scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=1000)

        @torch.compile(fullgraph=False)
        def step():
            optimizer.step()

        for batch in loader:
            compute_loss(model, batch).backward()
            step()
            scheduler.step()
            optimizer.zero_grad()
    ```

    ## When it is fine
    Where nothing changes the learning rate:
    ```python
    import torch

    def make_step(model):
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        return torch.compile(optimizer.step)
    ```

    ## Fix safety
    There is no automatic fix: some optimizers take a tensor only with `capturable=True` or `fused=True`.

    ## Confirmed by
    Nothing: no probe counts compilations. That the line did not run is reported.

    ## References
    - PyTorch recipe, "(beta) Running the compiled optimizer with an LR Scheduler".
    - pytorch/pytorch #121857.
    """

    code, name, since = "TPL709", "optimizer-compiled-with-float-lr", "0.1.0"
    default = False
    triggers = ("compile",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each compiled step whose learning rate changes."""
        del project
        if not file.mentions((".step",)) or not file.mentions(("optim",)):
            return
        for found in compiled_steps(file):
            rate = found.made.record.line
            yield self.found(
                found.mark,
                message=f"`{file.brief(found.mark.expression)}` compiles an optimizer's step whose learning rate is "
                f"a number (line {rate}): it is compiled again whenever the scheduler (line {found.scheduler}) "
                "changes it",
                instead="hand the rate over as a tensor: `lr=torch.tensor(1e-3)`",
                confidence=Confidence.LIKELY,
                related=[file.related(file.path, *found.made.start, "the optimizer is made here")],
            )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """No probe counts compilations."""
        return unmeasured(run, finding.location, "no probe counts compilations")
