"""TPL404."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.confirming import by_events
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.autograd.recomputed_graphs import retained_after_recomputing
from torchperf_lint.facts.autograd.retained_graphs import retained_in_vain
from torchperf_lint.facts.autograd.separate_graphs import retained_for_others
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.fixes.edits import fix_of
from torchperf_lint.model import Finding, Safety, Verdict
from torchperf_lint.rule import SourceRule


class RetainGraphTrue(SourceRule):
    """`loss.backward(retain_graph=True)` where each step computes gradients once.

    ## What it does
    Flags a backward pass with a literal `retain_graph=True` in a training loop whose turn computes gradients nowhere
    else, hands the loss to nothing afterwards, and takes no graph in from before the loop; one whose step has other
    passes behind it, which all go through graphs of their own (`critic(fake.detach())`), in the same function or in
    methods called one after the other; and one that ends a `with torch.enable_grad():` in which its graph begins at a
    leaf, as the layers of reversible networks compute theirs anew.

    ## Why it is slow
    A backward pass gives the tensors that the graph holds back to the allocator as it goes. Kept, they stay until
    the last reference to the loss is gone, which is in the next step, beside the tensors of that step. Where the
    argument was put in because of the error "Trying to backward through the graph a second time", each step goes back
    through all steps before it, and takes longer than the one before.

    ## Example
    ```python
    from torch import nn

    def train(model: nn.Module, loader, optimizer, device):
        for x, y in loader:
            x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward(retain_graph=True)
            optimizer.step()
    ```

    ## Use instead
    ```python
    from torch import nn

    def train(model: nn.Module, loader, optimizer, device):
        for x, y in loader:
            x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```
    A state that goes from step to step is detached: `hidden = hidden.detach()`.

    ## When it is fine
    Where a second backward pass goes through the same graph. Two losses whose gradients are only added are one sum:
    ```python
    from torch import nn

    def train(trunk: nn.Module, heads, loader, optimizers, device):
        for x, y in loader:
            features = trunk(x.to(device, non_blocking=True))
            first, second = (nn.functional.cross_entropy(head(features), y.to(device)) for head in heads)
            first.backward(retain_graph=True)
            second.backward()
            for optimizer in optimizers:
                optimizer.step()
                optimizer.zero_grad()
    ```

    ## Fix safety
    Unsafe: the argument is removed. Where a state is carried from step to step with its graph, the second step then
    ends with an error that says so.

    ## Confirmed by
    Backward passes at the line that were asked to keep their graph, counted. What the memory costs no probe measures.

    ## References
    - PyTorch documentation of `torch.Tensor.backward`: "in nearly all cases setting this option to True is not needed
      and often can be worked around in a much more efficient way".
    """

    code, name, since = "TPL404", "retain-graph-true", "0.1.0"
    triggers = ("retain_graph",)
    probes = ("steps",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each graph that is kept for nothing."""
        del project
        for site in retained_in_vain(file):
            yield self._found(
                file,
                site,
                "nothing in the turn computes gradients through it again",
                "leave `retain_graph=True` out; if a state goes from step to step, detach it: `state = state.detach()`",
            )
        recomputed = list(retained_after_recomputing(file))
        for site in recomputed:
            yield self._found(
                file,
                site,
                "the graph begins in the block around, which ends with this pass",
                "leave `retain_graph=True` out: what the graph holds is given back as the pass goes",
            )
        for site in retained_for_others(file, {site.call for site in recomputed}):
            yield self._found(
                file,
                site,
                "the other backward passes of the step go through graphs of their own",
                "leave `retain_graph=True` out: what another forward pass kept, and what lies behind a `.detach()`, is "
                "not given back by this one",
            )

    def _found(self, file: SourceFile, site: Site, why: str, instead: str) -> Finding:
        return self.found(
            site,
            message=f"`{file.brief(site.call)}` keeps the graph and its tensors, and {why}",
            instead=instead,
            hot=site.hot,
            fix=fix_of(site, Safety.UNSAFE, lambda edit: edit.drop_argument(site.call, "retain_graph")),
        )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By backward passes at the line that kept their graph; needs no device."""
        seen = run.at(finding, "kept-graph")
        what = "backward pass that kept the graph"
        return by_events(finding, run, seen, what, needs_device=False, probes=self.probes)
