"""TPL605."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.confirming import unmeasured
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.fixes.edits import fix_of
from torchperf_lint.facts.optimizers.zeroed_again import Again, zeroed_again
from torchperf_lint.facts.optimizers.zeroed_one_by_one import zeroed_one_by_one
from torchperf_lint.model import Finding, Safety, Severity, Verdict
from torchperf_lint.rule import SourceRule


class RedundantGradZeroing(SourceRule):
    """Gradients dropped twice in one training step, or filled with zeros one by one.

    ## What it does
    Flags a `zero_grad()` in a training step that finds nothing to drop: the same optimizer or model was asked before,
    or a model and then the optimizer of all its parameters, or at the end of the turn before, and no backward pass is
    in between. Also loops over parameters in a training step that only call `p.grad.zero_()`. Reported as info.

    ## Why it is slow
    Each call goes through all parameters on the host, hundreds or thousands of them. It is little, and for nothing.
    `p.grad.zero_()` launches a kernel for each of them, and the backward pass then adds to zeros where it could write.

    ## Example
    ```python
    import torch

    def train(model, loader, criterion):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for x, y in loader:
            model.zero_grad()
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
    ```

    ## Use instead
    ```python
    import torch

    def train(model, loader, criterion):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
    ```

    ## When it is fine
    Where the model has more parameters than the optimizer, as a network that only passes gradients on:
    ```python
    import torch

    def train(generator, critic, loader):
        optimizer = torch.optim.SGD(generator.parameters(), lr=0.1)
        for z in loader:
            critic.zero_grad()
            optimizer.zero_grad()
            loss = critic(generator(z)).mean()
            loss.backward()
            optimizer.step()
    ```

    ## Fix safety
    Unsafe: the call is removed. A class of your own may do more in its `zero_grad`. There is none for loops: code
    that reads gradients has to accept None then.

    ## Confirmed by
    Nothing yet: no probe watches gradients.

    ## References
    - PyTorch documentation of `torch.optim.Optimizer.zero_grad`.
    """

    code, name, since = "TPL605", "redundant-grad-zeroing", "0.1.0"
    severity = Severity.INFO
    triggers = ("zero_grad(", "grad.zero_(", "grad.data.zero_(")

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each `zero_grad` that finds nothing to drop, and each loop that fills with zeros."""
        del project
        for again in zeroed_again(file) if file.text.count("zero_grad(") > 1 else ():
            yield self._found(file, again)
        for spot in zeroed_one_by_one(file):
            yield self.found(
                spot,
                message=f"`for ... in {file.brief(spot.expression)}` fills gradients with zeros, a kernel for each of "
                f"them, {spot.hot.when}",
                instead="drop them, `p.grad = None`, as `optimizer.zero_grad()` does; where they have to stay, fill "
                "all in one call: `torch._foreach_zero_(grads)`",
                hot=spot.hot,
            )

    def _found(self, file: SourceFile, again: Again) -> Finding:
        site = again.site
        assert site.hot is not None
        where = "in the next turn " if again.around else ""
        place = file.span(again.before)[0]
        return self.found(
            site,
            message=f"`{file.brief(site.call)}` drops gradients that `{file.brief(again.before)}` (line {place[0]}) "
            f"drops {where}as well, {site.hot.when}: no backward pass is in between",
            instead="leave one of them out",
            hot=site.hot,
            related=[file.related(file.path, *place, "the other one")],
            fix=fix_of(site, Safety.UNSAFE, lambda edit, call=site.call: edit.drop_statement(call)),  # type: ignore[misc]
        )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """No probe watches gradients."""
        return unmeasured(run, finding.location, "no probe watches gradients")
