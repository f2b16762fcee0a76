"""TPL405."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.confirming import unmeasured
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.autograd.detaching import without_graph
from torchperf_lint.facts.autograd.kept import Kept, detached, is_loss, kept_graphs
from torchperf_lint.facts.autograd.read_by_nobody import Unread, unread_lists
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.model import Finding, Severity, Verdict
from torchperf_lint.rule import SourceRule


class OutputsKeptWithGraph(SourceRule):
    """What a model returns, stored for each batch together with the graph that made it.

    ## What it does
    Flags `outputs.append(model(x))` and its like in loops over batches, where gradients are recorded, the container
    outlives the loop's turn, and nobody computes gradients through what it holds. Evaluation without `no_grad` is
    info, as long as nobody calls it under `no_grad`. With gradients or without, a list that is filled with tensors of
    the device and that nothing reads is info as well.

    ## Why it is slow
    An output with a graph keeps the activations of the whole forward pass alive, until a backward pass frees them; in
    evaluation none ever comes. Memory grows with every batch by what a training step needs. After a backward pass the
    nodes of the graph stay.

    ## Example
    ```python
    import torch
    from torch import nn

    def predict(model: nn.Module, loader, device):
        model.eval()
        outputs = []
        for x, _ in loader:
            outputs.append(model(x.to(device, non_blocking=True)))
        return torch.cat(outputs)
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    @torch.inference_mode()
    def predict(model: nn.Module, loader, device):
        model.eval()
        outputs = []
        for x, _ in loader:
            outputs.append(model(x.to(device, non_blocking=True)))
        return torch.cat(outputs)
    ```

    ## When it is fine
    Where the loss is computed of all of them:
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion, device):
        for views, y in loader:
            outputs = []
            for view in views:
                outputs.append(model(view.to(device, non_blocking=True)))
            loss = criterion(torch.stack(outputs).mean(0), y.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## Fix safety
    Unsafe: `.detach()` goes behind what is kept; whoever reads the container later must not need gradients of it.
    `no_grad` around the loop, which saves more, is for you to write. No fix where the code does not show the output to
    be one tensor, as `torch.cat` of the container, a loss function that is given it, or a method of tensors do.

    ## Confirmed by
    Nothing yet: no probe follows memory from step to step. That the line did not run is reported.

    ## References
    - PyTorch FAQ, "My model reports cuda runtime error(2): out of memory".
    - PyTorch documentation, "Locally disabling gradient computation".
    """

    code, name, since = "TPL405", "outputs-kept-with-graph", "0.1.0"
    triggers = ("append(", "extend(", "] = ", "add(", "appendleft(")

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each store of outputs with their graph."""
        del project
        told = []
        for kept in file.once(kept_graphs):
            if not is_loss(kept):
                told.append(kept.store.statement)
                yield self._finding(file, kept)
        for unread in unread_lists(file):
            if unread.store.statement not in told:
                yield self._unread(file, unread)

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By nothing yet; that the line did not run can be told."""
        return unmeasured(run, finding.location, "no probe follows memory from step to step")

    def _finding(self, file: SourceFile, kept: Kept) -> Finding:
        written, value = file.brief(kept.spot.expression), file.brief(kept.store.value)
        hot = kept.spot.hot
        if kept.trained:
            told, instead = f"the graph of `{value}`", detached(kept)
        else:
            told = f"`{value}` with all activations that made it"
            instead = f"run the loop under `torch.inference_mode()`; or {detached(kept)}"
        return self.found(
            kept.spot,
            message=f"`{written}` keeps {told}, and memory grows {hot.when}",
            instead=instead,
            severity=Severity.INFO if hot.kind == "eval" else None,
            hot=hot,
            value=kept.as_value,
            fix=without_graph(kept),
        )

    def _unread(self, file: SourceFile, unread: Unread) -> Finding:
        hot = unread.spot.hot
        return self.found(
            unread.spot,
            message=f"`{file.brief(unread.spot.expression)}` keeps a tensor of the device {hot.when}, and nothing "
            f"reads `{unread.name}`",
            instead=f"delete `{unread.name}`: what no list keeps gives its memory to the next turn",
            severity=Severity.INFO,
            hot=hot,
            value=unread.value,
            root_cause=f"{self.code} lists that nothing reads in function {unread.spot.function}",
        )
