"""TPL604."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.amounts import ms, us
from torchperf_lint.confirming import priced, waits_of_loop
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.constants.off_flags import OffFlags
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.spots import Spot
from torchperf_lint.facts.optimizers.copied_from_flat import MENTIONED as FLAT
from torchperf_lint.facts.optimizers.copied_from_flat import copied_from_flat
from torchperf_lint.facts.optimizers.foreach_forms import updating
from torchperf_lint.facts.optimizers.parameter_loops import (
    BLEND,
    CHANGE,
    COPY,
    DESCENT,
    GATHER,
    OPTIMIZER,
    SHIFT,
    Update,
    updates,
)
from torchperf_lint.facts.optimizers.penalties import Penalty, penalties
from torchperf_lint.model import Confidence, Finding, Location, Outcome, Related, Severity, Verdict
from torchperf_lint.optimizers import Optimizer, optimizers_of, step_of
from torchperf_lint.rule import SourceRule


class PerParamPythonUpdate(SourceRule):
    """A Python loop that updates a model tensor by tensor, every step.

    ## What it does
    Flags loops over `parameters()`, `state_dict().values()`, `group["params"]` and their like that run every training
    step and blend one model into another (moving averages, target networks), scale, bound or shift every gradient, take
    the step of plain SGD by hand, add what is kept for each parameter (perturbations), add up gradients or their
    squares, copy one list into another, `p.data.copy_(master.data)`, or are the whole update of an optimizer of your
    own, where `torch._foreach_*` has a form of every operation, or copy the parts of one flat tensor back,
    `p.copy_(part)` for those that `_unflatten_dense_tensors` gives, or add a norm of each parameter to the loss.
    Optimizers, such penalties, copies, and loops that treat parameters by their names, are reported as info. Under a
    `target-torch` before 2.0 only averages are asked for, and nothing before 1.9.

    ## Why it is slow
    Each turn launches its kernels for one tensor, and a model has hundreds: the host is busy for milliseconds, and
    the device gets kernels that are far too small for it. The forms for lists do many tensors in one kernel.

    ## Example
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, ema: nn.Module, loader, optimizer, criterion, decay: float):
        for x, y in loader:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                for average, p in zip(ema.parameters(), model.parameters()):
                    average.mul_(decay).add_(p, alpha=1 - decay)
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, ema: nn.Module, loader, optimizer, criterion, decay: float):
        averages, parameters = list(ema.parameters()), list(model.parameters())
        for x, y in loader:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                torch._foreach_lerp_(averages, parameters, 1 - decay)
    ```
    Or `torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(decay))`, since torch 2.1.

    ## When it is fine
    Now and then, or once: at the end of an epoch, every n-th step, to load or merge weights; and where each tensor
    gets another treatment:
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, ema: nn.Module, loader, optimizer, criterion, decay: float):
        for step, (x, y) in enumerate(loader):
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 100 == 0:
                for average, p in zip(ema.parameters(), model.parameters()):
                    average.data.mul_(decay).add_(p.data, alpha=1 - decay)
    ```

    ## Fix safety
    There is no automatic fix: the lists have to be gathered where all tensors are on one device and have gradients,
    and integers in a `state_dict` (`num_batches_tracked`) are copied, not blended.

    ## Confirmed by
    Within an optimizer's `step` by what that took in the steps of the run, and by how many tensors it updates. Of loops
    elsewhere nothing is known: no probe counts the kernels of a line.

    ## References
    - PyTorch documentation of `torch.optim.swa_utils.AveragedModel`, `multi_avg_fn`.
    - ecmwf/WeatherGenerator #2551: a moving average from 100 ms to 10 ms; huggingface/pytorch-image-models #1553.
    """

    code, name, since = "TPL604", "per-param-python-update", "0.1.0"
    triggers = ("parameters()", "state_dict()", "params", "grads", *FLAT)
    probes = ("steps",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each loop that updates tensors one by one every step."""
        if project.must_run_before(*_FIRST):
            return
        for update in updates(file):
            # What bounds gradients or makes an optimizer of one's own came over the years; to blend takes two forms.
            since = _SINCE.get(update.kind, (2, 0))
            if since is None or not project.must_run_before(*since):
                yield self._found(file, project, update)
        for spot in copied_from_flat(file) if not project.must_run_before(2, 1) else ():
            yield self._copied_back(file, spot)
        for penalty in penalties(file) if not project.must_run_before(2, 1) else ():
            yield self._penalised(file, penalty)

    def _copied_back(self, file: SourceFile, spot: Spot) -> Finding:
        loop = spot.expression
        assert isinstance(loop, ast.For)
        return self.found(
            spot._replace(expression=loop.iter),
            message=f"`for ... in {file.brief(loop.iter)}` copies the parts of one flat tensor back, tensor by tensor, "
            f"{spot.hot.when}: a kernel of its own for each of them",
            instead="copy all of them in one call, `torch._foreach_copy_(tensors, parts)`",
            hot=spot.hot,
            confidence=_weaker(file, spot, loop.iter),
            loop=loop,
        )

    def _penalised(self, file: SourceFile, penalty: Penalty) -> Finding:
        spot, over = penalty.spot, penalty.spot.expression
        assert isinstance(over, ast.expr)
        decay = "leave squares to the optimizer's `weight_decay`, or " if penalty.squares else ""
        return self.found(
            spot,
            message=f"`for ... in {file.brief(over)}` adds a norm of each parameter to the loss, tensor by tensor, "
            f"{spot.hot.when}: kernels of their own for each of them, and again in the backward pass",
            instead=f"{decay}compute the terms of all parameters in a few calls that have gradients, "
            "`torch._foreach_norm(parameters)`, `torch._foreach_sub`, `torch._foreach_mul`; stack them and add them up",
            hot=spot.hot,
            severity=Severity.INFO,
            confidence=_weaker(file, spot, over),
            loop=penalty.loop if isinstance(penalty.loop, ast.For) else None,
        )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By the optimizer in whose `step` it stands, if there is one."""
        if run.ran(finding.location) == 0:
            return Verdict(Outcome.NOT_REACHED, "the line did not run")
        known = optimizers_of(run)
        here = [one for one in known if one.steps_at(finding.location)]
        if not here:
            reason = (
                "it stands in the `step` of no optimizer that stepped, and no probe tells what a loop costs elsewhere"
            )
            waits = waits_of_loop(finding, run)
            waited = f"; its turns wait: {waits.reason}" if waits is not None else ""
            return Verdict(Outcome.UNOBSERVABLE, run.unwatched.get("steps", reason) + waited)
        return _verdict(run, max(here, key=lambda one: one.tensors), alone=len(known) == 1)

    def _found(self, file: SourceFile, project: Project, update: Update) -> Finding:
        hot = update.spot.hot
        mild = update.named or update.kind in (OPTIMIZER, COPY)
        instead = _BEFORE_LERP if update.kind == BLEND and project.must_run_before(2, 0) else _INSTEAD[update.kind]
        if update.kind == BLEND and not project.must_run_before(2, 1):
            instead += _AVERAGED
        return self.found(
            update.spot,
            message=f"`for ... in {file.brief(update.loop.iter)}` {_DOES[update.kind]} tensor by tensor {hot.when}: "
            "kernels of their own for each of them",
            instead=instead,
            hot=hot,
            severity=Severity.INFO if mild else None,
            confidence=Confidence.POSSIBLE if hot.optional else None,
            loop=update.loop,
            related=_changing(file, update) if update.kind != OPTIMIZER else (),
        )


def _changing(file: SourceFile, update: Update) -> list[Related]:
    """The statements of the turns that change a tensor."""
    spans = (file.span(statement) for statement in updating(update.loop)[:_SHOWN])
    return [Related(Location(file.shown, *start, *end), "a tensor of the turn is changed here") for start, end in spans]


_SHOWN = 4
"""Statements of a turn that are named beside the loop."""


def _weaker(file: SourceFile, spot: Spot, node: ast.expr) -> Confidence | None:
    """POSSIBLE for what a branch does that is only taken on request."""
    asked = spot.hot.optional or OffFlags(file, spot.function, numbers=True).before(node) is not None
    return Confidence.POSSIBLE if asked else None


def _verdict(run: Evidence, optimizer: Optimizer, *, alone: bool) -> Verdict:
    """`alone`: whether all the time of optimizers' steps is that of this one."""
    if optimizer.tensors <= 1:
        return Verdict(Outcome.REFUTED, f"{optimizer.name} has one tensor to update")
    spent, calls = step_of(run)
    reason = f"{optimizer.name} updated {optimizer.tensors} tensors one by one"
    if run.simulated or not alone or not calls:
        return Verdict(Outcome.CONFIRMED, reason)
    each = f"{ms(spent / calls)} each time, {us(spent / calls / optimizer.tensors)} a tensor"
    return priced(run, Outcome.CONFIRMED, f"{reason}: {each}", spent)


_DOES = {
    BLEND: "blends one set of weights into another",
    CHANGE: "changes the model",
    OPTIMIZER: "updates the parameters",
    DESCENT: "takes the step of plain SGD by hand,",
    SHIFT: "adds to each parameter what is kept for it,",
    GATHER: "adds up gradients, or what is computed of them,",
    COPY: "copies one set of tensors into another",
}
_SINCE: dict[str, tuple[int, int] | None] = {BLEND: None, GATHER: None, COPY: (2, 1)}
"""The release from which on a kind of loop is told of, where that is not 2.0; None for any that has lists at all."""
_INSTEAD = {
    BLEND: "blend whole lists in one call, `torch._foreach_lerp_(averages, parameters, 1 - decay)`",
    CHANGE: "gather the tensors in a list, `grads = [p.grad for p in ... if p.grad is not None]`, and change all of "
    "them in one call: `torch._foreach_mul_(grads, scale)`, `torch._foreach_clamp_min_`, `torch._foreach_add_`",
    SHIFT: "gather the parameters and what is added to them in two lists, in the same order, and call "
    "`torch._foreach_add_(parameters, shifts, alpha=scale)` once",
    GATHER: "gather both in lists, in the same order, and add all of them in one call: `torch._foreach_add_(kept, "
    "gradients)`, or of squares `torch._foreach_addcmul_(kept, gradients, gradients)`",
    COPY: "gather both in lists, in the same order, and copy all of them at once, `torch._foreach_copy_(into, of)`, "
    "which converts as `copy_` does; of gradients, those that are there",
    OPTIMIZER: "gather parameters, gradients and states in lists, and call `torch._foreach_mul_`, "
    "`torch._foreach_add_`, `torch._foreach_addcdiv_` ... once for each list, as torch's own optimizers do",
    DESCENT: "let `torch.optim.SGD(model.parameters(), lr)` do it, which is the same step in a few kernels for all "
    "tensors; or gather both in lists and call `torch._foreach_add_(parameters, gradients, alpha=-lr)` once",
}
_FIRST = 1, 9
"""The first release whose own optimizers are made of these forms; `_foreach_lerp_` came with 2.0."""
_BEFORE_LERP = (
    "blend whole lists in two calls, `torch._foreach_mul_(averages, decay)` and "
    "`torch._foreach_add_(averages, parameters, alpha=1 - decay)`"
)
_AVERAGED = ", or use `torch.optim.swa_utils.AveragedModel` with `multi_avg_fn=get_ema_multi_avg_fn(decay)`"
