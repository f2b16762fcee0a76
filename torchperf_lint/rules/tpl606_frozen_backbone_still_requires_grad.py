"""TPL606."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from torchperf_lint.confirming import unmeasured
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.autograd.input_gradients import ForAnInput, for_an_input
from torchperf_lint.facts.autograd.looked_through import LookedThrough, looked_through
from torchperf_lint.facts.autograd.thrown_graphs import thrown_graphs
from torchperf_lint.facts.autograd.undetached import Undetached, undetached
from torchperf_lint.facts.autograd.unowned_parameters import Unowned, unowned_parameters
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.hotness.hot import place
from torchperf_lint.facts.values.value import Value
from torchperf_lint.model import Confidence, Finding, Severity, Verdict
from torchperf_lint.rule import SourceRule

_NAMES = "Adam AdamW SGD RMSprop Adagrad Adadelta Adamax NAdam RAdam ASGD Rprop Adafactor LBFGS".split()
_DOTTED = tuple(dotted for name in _NAMES for dotted in (f"torch.optim.{name}", f"torch.optim.{name.lower()}.{name}"))


class FrozenBackboneStillRequiresGrad(SourceRule):
    """Gradients of weights that no optimizer updates, or a graph of outputs that are detached at once.

    ## What it does
    Flags optimizers that get the parameters of a part of a model (`model.fc.parameters()`) where a training step calls
    the whole, no other optimizer owns the rest, and nothing near says anything about freezing. Also calls of a network
    whose output is detached at once, `generator(noise).detach()`, where autograd records the call; as info. And a
    discriminator that gets what a generator made, not detached, where the gradients that the backward pass leaves in
    the generator are zeroed before its optimizer steps. And a backward pass for the gradient of an input, as attacks
    and style transfer run it, which computes those of all parameters as well. And pretrained networks that a loss looks
    through, as perceptual losses do, where no optimizer has their parameters.

    ## Why it is slow
    Autograd computes what asks for gradients, whoever uses them. The backward pass goes through the whole backbone,
    whose activations stay in memory for it, and its gradients are added up step after step, as the optimizer's
    `zero_grad` knows nothing of them. What is detached is never gone back through, but recorded all the same: every
    activation stays until the call is over.

    ## Example
    ```python
    import torch
    import torchvision
    from torch import nn

    def train(loader, criterion, device):
        model = torchvision.models.resnet50(weights="DEFAULT")
        model.fc = nn.Linear(2048, 10)
        model = model.to(device)
        optimizer = torch.optim.SGD(model.fc.parameters(), lr=0.1)
        for x, y in loader:
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## Use instead
    ```python
    import torch
    import torchvision
    from torch import nn

    def train(loader, criterion, device):
        model = torchvision.models.resnet50(weights="DEFAULT").requires_grad_(False)
        model.fc = nn.Linear(2048, 10)
        model = model.to(device)
        optimizer = torch.optim.SGD(model.fc.parameters(), lr=0.1)
        for x, y in loader:
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```
    Where nothing before the backbone is trained, it may run under `torch.no_grad()` as well; and
    `with torch.no_grad(): fake = generator(noise)` instead of `generator(noise).detach()`. The step of a discriminator
    takes `discriminator(fake.detach())`; an attack asks for `torch.autograd.grad(loss, x)`.

    ## When it is fine
    Where several optimizers share the model, or the rest takes no gradients:
    ```python
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(64, 64)
            self.head = nn.Linear(64, 10)

        def forward(self, x):
            return self.head(self.body(x))

    def train(loader, criterion):
        model = Net().cuda()
        slow = torch.optim.SGD(model.body.parameters(), lr=1e-3)
        fast = torch.optim.SGD(model.head.parameters(), lr=1e-1)
        for x, y in loader:
            criterion(model(x), y).backward()
            slow.step()
            fast.step()
            slow.zero_grad()
            fast.zero_grad()
    ```

    ## Fix safety
    There is no automatic fix: what is to be frozen has to be told apart from what somebody forgot to train.

    ## Confirmed by
    Nothing yet: no probe asks which parameters have gradients that no optimizer owns.

    ## References
    - PyTorch notes on autograd, "Locally disabling gradient computation", `requires_grad`.
    - PyTorch tutorial "Transfer Learning for Computer Vision", "ConvNet as fixed feature extractor".
    """

    code, name, since = "TPL606", "frozen-backbone-still-requires-grad", "0.1.0"
    triggers = (".parameters()", ".detach()", ".zero_grad()", ".backward(", "torchvision", "timm", "load_state_dict(")

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each optimizer of a part, each graph and each gradient that is thrown away."""
        del project
        if file.mentions((".parameters()",)):
            for unowned in unowned_parameters(file, _DOTTED):
                yield self._unowned(file, unowned)
        if file.mentions((".detach()",)):
            for site, detach, module in thrown_graphs(file):
                yield self._thrown(file, site, detach, module)
        if file.mentions(("zero_grad(",)):
            for through in undetached(file):
                yield self._through(file, through)
        if file.mentions(("requires_grad",)):
            for wanted in for_an_input(file):
                yield self._for_an_input(file, wanted)

        for network in looked_through(file):
            yield self._looked_through(file, network)

    def _unowned(self, file: SourceFile, found: Unowned) -> Finding:
        hot = found.use.hot
        assert hot is not None
        parts = " and ".join(f"`{found.model}.{part}`" for part in found.owned)
        rest = f"the rest of `{found.model}`" if found.rest == "the rest of it" else found.rest
        freeze = f"{found.model}.requires_grad_(False)" if found.model != "self" else "module.requires_grad_(False)"
        return self.found(
            found.site,
            message=f"this optimizer updates {parts} only, but gradients of {rest} are computed {hot.when} as well",
            instead=f"freeze what is not trained, `{freeze}`, before the parts that are get `requires_grad_(True)`; or "
            "give the optimizer all parameters",
            hot=hot,
            confidence=hot.confidence.at_most(Confidence.LIKELY),
            related=[file.related(file.path, *found.use.start, "gradients flow through this call")],
        )

    def _thrown(self, file: SourceFile, site: Site, detach: ast.Call, module: Value) -> Finding:
        assert site.hot is not None
        called = file.brief(site.call.func)
        return self.found(
            site,
            message=f"autograd records `{called}(...)` {site.hot.when}, and `.detach()` throws the record away",
            instead=f"call `{called}` under `with torch.no_grad():`, which keeps no activations",
            hot=site.hot,
            severity=Severity.INFO,
            confidence=site.hot.confidence.at_most(Confidence.LIKELY),
        )

    def _through(self, file: SourceFile, found: Undetached) -> Finding:
        site = found.site
        assert site.hot is not None
        return self.found(
            site,
            message=f"the backward pass on line {found.backward} goes back through `{found.source}` as well, "
            f"{site.hot.when}, and its gradients are zeroed unused (line {found.zeroed})",
            instead=f"give `{file.brief(site.call.func)}` what takes no gradients: `{found.given}.detach()`",
            hot=site.hot,
            confidence=site.hot.confidence.at_most(Confidence.LIKELY),
            root_cause=f"{self.code} through {found.source} on line {found.backward}",
        )

    def _for_an_input(self, file: SourceFile, found: ForAnInput) -> Finding:
        site = found.site
        assert site.hot is not None
        freeze = f"`{found.model}.requires_grad_(False)` before the loop, and `True` behind it"
        ask = f"ask for that one: `torch.autograd.grad({file.brief(site.receiver or site.call)}, {found.wanted})[0]`"
        return self.found(
            site,
            message=f"this pass computes gradients of all parameters of `{found.model}`, {site.hot.when}, and only "
            f"that of `{found.wanted}` is used ({'by the optimizer' if found.updated else f'line {found.line}'})",
            instead=freeze if found.updated else ask,
            hot=site.hot,
            confidence=site.hot.confidence.at_most(Confidence.LIKELY),
        )

    def _looked_through(self, file: SourceFile, found: LookedThrough) -> Finding:
        site, use = found.site, found.use
        assert use.hot is not None
        hot, called = use.hot, use.file.brief(use.call.func)
        if use.file.path != file.path:
            runs = f"it runs every training step: `{called}(...)` ({place(use.file.path, use.record.line, file.path)})"
            hot = replace(hot, because=runs, when=hot.when.partition(" (")[0])
        at = place(*found.backward, file.path)
        return self.found(
            site,
            message=f"the backward pass ({at}) computes gradients of all parameters of this network, {hot.when}, and "
            "no optimizer has them",
            instead="freeze it where it is made, `.requires_grad_(False)`: gradients still flow through it to its "
            "input",
            hot=hot,
            confidence=hot.confidence.at_most(Confidence.POSSIBLE if hot.optional else Confidence.LIKELY),
            related=[file.related(use.file.path, *use.start, f"gradients flow through `{called}(...)`")],
        )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """No probe asks which parameters have gradients."""
        return unmeasured(run, finding.location, "no probe asks which gradients nobody uses")
