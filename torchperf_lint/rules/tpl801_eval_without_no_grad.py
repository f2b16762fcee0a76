"""TPL801."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.facts.autograd.answered_with_grad import answered_with_grad
from torchperf_lint.facts.autograd.evaluated_by_mode import ByMode, evaluated_by_mode
from torchperf_lint.facts.autograd.evaluated_elsewhere import evaluated_elsewhere
from torchperf_lint.facts.autograd.evaluated_in_training import EvaluatedBeside, evaluated_in_training
from torchperf_lint.facts.autograd.evaluated_per_call import evaluated_per_call
from torchperf_lint.facts.autograd.evaluated_with_grad import Evaluated, evaluated_with_grad
from torchperf_lint.facts.autograd.gradients_in_passes import may_ask_for_gradients
from torchperf_lint.facts.autograd.graph_for_nobody import Recorded, recorded_for_nobody
from torchperf_lint.facts.autograd.run_by_helpers import run_by_helper
from torchperf_lint.facts.autograd.target_networks import trained_through_targets
from torchperf_lint.facts.autograd.volatile import Fed, fed_volatile
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.hotness.hot import Hot, place
from torchperf_lint.facts.values.value import Value
from torchperf_lint.model import Confidence, Finding, Related, Severity
from torchperf_lint.rule import SourceRule


class EvalWithoutNoGrad(SourceRule):
    """A model is evaluated while autograd records: `model.eval()` without `torch.no_grad()`.

    ## What it does
    Flags the call of a model in a loop, itself or through a helper, or in a function that a loop calls for each batch,
    where the function, its caller or its object has put that model into evaluation mode and nothing switches gradients
    off: no `with`, no decorator, no caller, nothing in the model's own code. Functions that speak of gradients in any
    way (attacks, attributions, forces) are left alone, and so are files that freeze parameters. In a training function
    it flags a model that a flag puts into evaluation mode where the same flag decides over the backward pass, one
    whose backward pass an argument leaves out, `run_epoch(loader, mode="val")`, and one that is evaluated after the
    step. Also
    calls of a model in code that runs every step whose whole output is detached afterwards, as targets and actions in
    reinforcement learning are, also through lists, helpers and methods; calls in evaluation loops whose output is only
    read; calls of a network in evaluation mode in a method that answers a request, `predict`, and brings the output to
    the host; calls of target networks that a loss goes back through, and calls on a
    `Variable(x, volatile=True)`, which does nothing since torch 0.4.

    ## Why it is slow
    `eval()` changes dropout and batch normalisation; it does not stop autograd. Every operation records a node, and
    all activations of the batch stay in memory until its outputs go: where they are collected, until the loop ends.
    That is what runs out of memory in validation first.

    ## Example
    ```python
    import torch
    from torch import nn
    from torch.utils.data import DataLoader

    def evaluate(model: nn.Module, data, device):
        loader = DataLoader(data, batch_size=64, num_workers=4, pin_memory=True)
        model.eval()
        correct = torch.zeros((), device=device)
        for x, y in loader:
            out = model(x.to(device, non_blocking=True))
            correct += (out.argmax(1) == y.to(device, non_blocking=True)).sum()
        return correct.item() / len(data)
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn
    from torch.utils.data import DataLoader

    @torch.no_grad()
    def evaluate(model: nn.Module, data, device):
        loader = DataLoader(data, batch_size=64, num_workers=4, pin_memory=True)
        model.eval()
        correct = torch.zeros((), device=device)
        for x, y in loader:
            out = model(x.to(device, non_blocking=True))
            correct += (out.argmax(1) == y.to(device, non_blocking=True)).sum()
        return correct.item() / len(data)
    ```
    Or `with torch.inference_mode():` around the loop, where no output is used in training later.

    ## When it is fine
    Where gradients are what the loop is for:
    ```python
    import torch
    from torch import nn
    from torch.utils.data import DataLoader

    def salient(model: nn.Module, data):
        model.eval()
        found = []
        for x, y in DataLoader(data, batch_size=64):
            x = x.cuda().requires_grad_()
            score = model(x).gather(1, y.cuda()[:, None]).sum()
            found.append(torch.autograd.grad(score, x)[0].abs())
        return found
    ```

    ## Fix safety
    There is no automatic fix: whether somebody asks the outputs for gradients later only the author knows.

    ## Confirmed by
    Nothing yet: no probe asks outputs whether they require gradients.

    ## References
    - PyTorch performance tuning guide, "Disable gradient calculation for validation or inference".
    - PyTorch notes on autograd, "Evaluation mode (`nn.Module.eval()`)".
    """

    code, name, since = "TPL801", "eval-without-no-grad", "0.1.0"
    triggers = (".eval()", ".detach()", ".data", "argmax(", "for ")

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each model that a loop evaluates with gradients."""
        mode = "torch.no_grad" if project.must_run_before(1, 9) else "torch.inference_mode"
        seen: set[tuple[int, int]] = set()
        told: set[int] = set()
        for site, found in self._in_evaluation(file, mode):
            told.add(site.function)
            if site.start not in seen:
                seen |= {site.start, *_beside(found)}
                yield found
        for site, found in self._in_training(file):
            again = site.hot is not None and site.hot.kind == "eval" and site.function in told
            if site.start not in seen and not again:
                seen.add(site.start)
                yield found

    def _in_evaluation(self, file: SourceFile, mode: str) -> Iterator[tuple[Site, Finding]]:
        for evaluated in (*evaluated_with_grad(file), *evaluated_elsewhere(file), *evaluated_per_call(file)):
            if not may_ask_for_gradients(evaluated.site):
                yield evaluated.site, self._found(file, evaluated, mode)
        for fed in fed_volatile(file) if file.mentions(("volatile=",)) else ():
            yield fed.site, self._volatile(file, fed)

    def _in_training(self, file: SourceFile) -> Iterator[tuple[Site, Finding]]:
        for beside in evaluated_in_training(file) if file.mentions((".eval()",)) else ():
            if not may_ask_for_gradients(beside.site):
                yield beside.site, self._beside(beside)
        for by_mode in evaluated_by_mode(file) if file.mentions(("backward(",)) else ():
            if not may_ask_for_gradients(by_mode.site):
                yield by_mode.site, self._by_mode(file, by_mode)
        for site in trained_through_targets(file) if file.mentions(("target", "tgt", "targ", "old", "prev")) else ():
            yield site, self._target(file, site)
        for recorded in (*recorded_for_nobody(file), *answered_with_grad(file)):
            if not may_ask_for_gradients(recorded.site):
                yield recorded.site, self._detached(file, recorded)

    def _found(self, file: SourceFile, evaluated: Evaluated, mode: str) -> Finding:
        site, model = evaluated.site, evaluated.model
        at = place(*evaluated.place, file.path)
        what = f"loop on line {evaluated.head}" if evaluated.head else f"call on line {site.start[0]}"
        return self.found(
            site,
            message=f"`{model}` is evaluated with gradients recorded, {evaluated.hot.when}: `{model}.eval()` ({at}) "
            "does not stop autograd",
            instead=f"put the {what} under `with {mode}():`, or the function under `@{mode}()`",
            value=Value("module", because=f"`{model}` is a module, put into evaluation mode at {at}"),
            hot=evaluated.hot,
            related=[*_called_from(file, evaluated.hot), *_run_in_helper(site, model)],
            root_cause=f"{self.code} of the {what}",
        )

    def _beside(self, found: EvaluatedBeside) -> Finding:
        site, model, flag = found.site, found.model, found.flag
        assert site.hot is not None
        why = f"where `{flag}` does not hold no backward pass follows" if flag else "no backward pass follows"
        return self.found(
            site,
            message=f"`{model}` is evaluated with gradients recorded, {site.hot.when}: {why} `{model}.eval()` (line "
            f"{found.line})",
            instead=f"run the forward pass under `with torch.set_grad_enabled({flag}):`"
            if flag
            else "run the evaluation under `with torch.no_grad():`",
            value=Value("module", because=f"`{model}` is a module, put into evaluation mode on line {found.line}"),
            hot=site.hot,
            root_cause=f"{self.code} of function {site.function}",
        )

    def _by_mode(self, file: SourceFile, found: ByMode) -> Finding:
        site, model, flag = found.site, found.model, found.flag
        assert site.hot is not None
        at = place(*found.ended, file.path)
        return self.found(
            site,
            message=f"`{model}` is evaluated with gradients recorded, {site.hot.when}: that call trains nothing, and "
            f"`eval()` ({at}) does not stop autograd",
            instead=f"run the forward pass under `with torch.set_grad_enabled({flag}):`, or the call that evaluates "
            "under `with torch.no_grad():`",
            value=Value("module", because=f"`{model}` is a module, put into evaluation mode at {at}"),
            hot=site.hot,
            confidence=Confidence.LIKELY,
            root_cause=f"{self.code} of function {site.function}",
        )

    def _volatile(self, file: SourceFile, found: Fed) -> Finding:
        site = found.site
        return self.found(
            site,
            message=f"`{file.brief(site.call)}` records gradients, {found.hot.when}: `volatile=True` (line "
            f"{found.line}) does nothing since torch 0.4",
            instead="call it under `with torch.no_grad():`",
            value=file.value(site.call.func, site),
            hot=found.hot,
            root_cause=f"{self.code} of function {site.function}",
        )

    def _target(self, file: SourceFile, site: Site) -> Finding:
        assert site.hot is not None
        called = file.brief(site.call.func)
        return self.found(
            site,
            message=f"gradients flow through `{called}(...)` {site.hot.when}, a copy that no optimizer updates",
            instead=f"call `{called}` under `with torch.no_grad():`",
            value=file.value(site.call.func, site),
            hot=site.hot,
            root_cause=f"{self.code} detached in function {site.function}",
        )

    def _detached(self, file: SourceFile, found: Recorded) -> Finding:
        site = found.site
        assert site.hot is not None
        then = "detached" if found.detached else "only read"
        return self.found(
            site,
            message=f"`{file.brief(site.call)}` records a graph for nobody, {site.hot.when}: its whole output is "
            f"{then} (line {found.end})",
            instead="call it under `with torch.no_grad():`",
            value=file.value(site.call.func, site),
            hot=site.hot,
            severity=Severity.INFO,
            confidence=site.hot.confidence.at_most(Confidence.LIKELY) if found.named else None,
            related=_called_from(file, site.hot) if site.hot.kind == "eval" else (),
            root_cause=f"{self.code} detached in function {site.function}",
        )


def _beside(found: Finding) -> Iterator[tuple[int, int]]:
    """The places of the same file that belong to a finding: nothing more is to be said of them."""
    locations = (other.location for other in found.related)
    yield from ((at.line, at.column) for at in locations if at.path == found.location.path)


def _run_in_helper(site: Site, model: str) -> list[Related]:
    """The line of another function that runs the model it is handed: `no_grad` may stand there too."""
    found = run_by_helper(site, model)
    if found is None:
        return []
    path, call = found
    return [site.file.related(path, call.line, call.column, "runs the model that it is given", len(call.callee))]


def _called_from(file: SourceFile, hot: Hot) -> list[Related]:
    """The call in the loop that evaluates, where the model is called in a function: `no_grad` may stand there too."""
    called = next((part for part in hot.story if not isinstance(part, str)), None) if hot.depth else None
    return [file.related(*called, 1, "is called from here, in the loop that evaluates")] if called else []
