"""TPL403."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.confirming import unmeasured
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.autograd.detaching import without_graph
from torchperf_lint.facts.autograd.kept import Kept, detached, is_loss, kept_graphs
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.model import Finding, Severity, Verdict
from torchperf_lint.rule import SourceRule


class LossGraphAccumulation(SourceRule):
    """A loss summed up or stored over the steps together with its graph.

    ## What it does
    Flags `total += loss`, `mean = 0.9 * mean + 0.1 * loss`, `losses.append(loss)` and their like, where the loss has an
    autograd graph, the target outlives the step, and nobody computes gradients through the target. Evaluation loops
    without `no_grad` are info.

    ## Why it is slow
    The graph of a step lives as long as anything made of its loss. A sum over the epoch is a chain of all steps'
    graphs: memory grows with each step, tensors that the graphs hold are not given back, and reading or dropping the
    sum at the end walks the whole chain. After `backward()` the largest buffers are gone, the nodes are not.

    ## Example
    ```python
    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion: nn.Module, device):
        total = 0.0
        for x, y in loader:
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss
        return total / len(loader)
    ```

    ## Use instead
    ```python
    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion: nn.Module, device):
        total = 0.0
        for x, y in loader:
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.detach()
        return total / len(loader)
    ```

    ## When it is fine
    Where the sum is what gradients are computed of:
    ```python
    from torch import nn

    def train(model: nn.Module, loader, optimizer, criteria, device):
        for x, ys in loader:
            out = model(x.to(device, non_blocking=True))
            total = 0.0
            for criterion, y in zip(criteria, ys):
                total += criterion(out, y.to(device, non_blocking=True))
            optimizer.zero_grad()
            total.backward()
            optimizer.step()
    ```

    ## Fix safety
    `.detach()` goes behind the loss. It changes no value and copies nothing; unlike `.item()` it does not wait for the
    device either. Safe for a local sum that begins as a number and is only read with `.item()`. Unsafe otherwise:
    whoever gets the sum or the list could compute gradients of it, and printed it no longer shows a `grad_fn`.
    No fix where the code does not show the loss to be one tensor: a function of torch made it, or `backward` runs on
    it in the same turn.

    ## Confirmed by
    Nothing yet: no probe follows memory from step to step. That the line did not run is reported.

    ## References
    - PyTorch FAQ, "My model reports cuda runtime error(2): out of memory": don't accumulate history across your
      training loop.
    """

    code, name, since = "TPL403", "loss-graph-accumulation", "0.1.0"
    triggers = ("+=", "append(", "extend(", "] = ", " + ")

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each loss that is kept with its graph."""
        del project
        for kept in file.once(kept_graphs):
            if is_loss(kept):
                yield self._finding(file, kept)

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By nothing yet; that the line did not run can be told."""
        return unmeasured(run, finding.location, "no probe follows memory from step to step")

    def _finding(self, file: SourceFile, kept: Kept) -> Finding:
        written, value = file.brief(kept.spot.expression), file.brief(kept.store.value)
        told = f"the graph of `{value}`" if kept.trained else f"`{value}` with all activations that made it"
        hot = kept.spot.hot
        return self.found(
            kept.spot,
            message=f"`{written}` keeps {told}, and memory grows {hot.when}",
            instead=detached(kept),
            severity=Severity.INFO if hot.kind == "eval" else None,
            hot=hot,
            value=kept.as_value,
            fix=without_graph(kept),
            related=[file.related(*kept.meter, 1, "adds it up, graph and all")] if kept.meter else (),
        )
