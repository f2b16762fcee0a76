"""TPL607."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.confirming import unmeasured, waits_of_loop
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.element_loops.parameters import per_parameter
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.returned_for_nobody import works_for_nobody
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.fixes.edits import fix_of
from torchperf_lint.facts.optimizers.norms_one_by_one import Norms, norms_one_by_one
from torchperf_lint.facts.roles.fabrics import is_fabric
from torchperf_lint.facts.syntax.arguments import unpacks
from torchperf_lint.facts.syntax.literals import is_none, is_true
from torchperf_lint.facts.syntax.syntax import names_of
from torchperf_lint.model import Confidence, Finding, Safety, Severity, Verdict
from torchperf_lint.rule import SourceRule

_UTILITIES = "torch.nn.utils"
_NORM, _VALUE = "clip_grad_norm_", "clip_grad_value_"
_OF_FABRIC = "clip_gradients"
_OF_LIGHTNING = "grad_norm"
_RAISES = "error_if_nonfinite"
_NO_ERROR = f"pass `{_RAISES}=False`"
_ELSEWHERE = frozenset({"data", "eval"})


class InefficientGradClipOrNorm(SourceRule):
    """Gradients are clipped, or measured, one parameter at a time or in a way that waits for the device.

    ## What it does
    Flags `clip_grad_norm_(..., error_if_nonfinite=True)`, and Fabric's `clip_gradients(..., max_norm=...)`, whose
    default that is, both as info, and `clip_grad_value_(p, ...)` in a loop over parameters, in code that runs every
    step. `clip_grad_norm_(p, ...)` in such a loop bounds each gradient by itself, which may be meant: it is only
    `possible`. Clipping once with the defaults is never flagged. And loops that put the norm of all gradients together
    tensor by tensor in every step; where no caller reads that norm, it is better left out, whatever the version of
    torch. So does Lightning's `grad_norm(module, norm_type)`, which reads each of them on the host as well.

    ## Why it is slow
    To raise an error, the host must know the norm, so it waits until the device has computed it. Without that, clipping
    never waits. Given all parameters at once, the two functions work through them with a handful of kernels.

    ## Example
    ```python
    import torch

    def train(model, loader, optimizer):
        for x, y in loader:
            optimizer.zero_grad()
            (model(x) - y).square().mean().backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)
            optimizer.step()
    ```

    ## Use instead
    ```python
    import torch

    def train(model, loader, optimizer):
        for x, y in loader:
            optimizer.zero_grad()
            (model(x) - y).square().mean().backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
    ```

    ## When it is fine
    Every so many steps:
    ```python
    import torch

    def train(model, loader, optimizer):
        for step, (x, y) in enumerate(loader):
            optimizer.zero_grad()
            (model(x) - y).square().mean().backward()
            if step % 100 == 0:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)
            optimizer.step()
    ```

    ## Fix safety
    Unsafe: `error_if_nonfinite=True` is removed. A norm that is not finite no longer raises, and weights become NaN.

    ## Confirmed by
    Synchronisations in the turns of a loop that computes norms, in at least half of the recorded steps. Else nothing
    yet: the synchronisation happens inside torch.

    ## References
    - PyTorch documentation of `torch.nn.utils.clip_grad_norm_`.
    - lightning 2.6, `lightning.pytorch.utilities.grads.grad_norm`: `torch.tensor(list(norms.values()))`, which copies
      each norm from the device.
    """

    code, name, since = "TPL607", "inefficient-grad-clip-or-norm", "0.1.0"
    triggers = (f"{_OF_FABRIC}(", f"{_NORM}(", f"{_VALUE}(", "norm(", ".pow(2", "square(", "** 2", "**2")
    about_waits = True

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each hot call that waits, or clips one parameter."""
        for site in file.hot_calls(_OF_FABRIC) if file.mentions((f"{_OF_FABRIC}(",)) else ():
            if is_fabric(site.receiver) and _each_step(site) and _raises_by_default(site):
                yield self._waits(file, site)
        for site in file.calls_of(f"lightning.{_OF_LIGHTNING}"):
            if _each_step(site):
                yield self._of_lightning(file, site)
        if file.mentions(("grad",)):
            yield from self._norms_of(file, not project.must_run_before(2, 0))
        for site in file.calls_of(f"{_UTILITIES}.{_NORM}", f"{_UTILITIES}.clip_grad.{_NORM}"):
            if _raises(site) and _each_step(site):
                yield self._waits(file, site)
            yield from self._one_by_one(file, site, Confidence.POSSIBLE)
        for site in file.calls_of(f"{_UTILITIES}.{_VALUE}", f"{_UTILITIES}.clip_grad.{_VALUE}"):
            yield from self._one_by_one(file, site, None)

    def _waits(self, file: SourceFile, site: Site) -> Finding:
        assert site.hot is not None
        written = site.keyword(_RAISES) is not None
        of_fabric = is_fabric(site.receiver)
        does = f"`{_RAISES}=True`" if written else f"`{file.brief(site.call)}`, by its default `{_RAISES}=True`,"
        drop = fix_of(site, Safety.UNSAFE, lambda edit: edit.drop_argument(site.call, _RAISES))
        return self.found(
            site,
            message=f"{does} makes the host wait until the device has computed the norm, {site.hot.when}",
            instead=f"{_NO_ERROR if of_fabric else 'leave it out'}, and look at the norm that is returned every so "
            "many steps",
            hot=site.hot,
            severity=Severity.INFO,
            fix=None if of_fabric else drop,
        )

    def _of_lightning(self, file: SourceFile, site: Site) -> Finding:
        assert site.hot is not None
        return self.found(
            site,
            message=f"`{file.brief(site.call)}` computes the norm of each gradient by itself, and the host waits for "
            f"each of them, {site.hot.when}",
            instead="call it every so many steps: `if self.trainer.global_step % 100 == 0:`",
            hot=site.hot,
        )

    def _norms_of(self, file: SourceFile, can_fuse: bool) -> Iterator[Finding]:
        """What nobody reads can be left out under any torch; one call for all came with 2.0."""
        for norms in norms_one_by_one(file):
            if works_for_nobody(file.project, FunctionKey(file.path, norms.spot.function)):
                yield self._norms(file, norms, ", and nobody reads what comes of it", _left_out(file, norms))
            elif can_fuse:
                yield self._norms(file, norms, "", _in_one_call(file))

    def _norms(self, file: SourceFile, found: Norms, read: str, instead: str) -> Finding:
        hot = found.spot.hot
        return self.found(
            found.spot,
            message=f"this loop computes the norm of each gradient by itself, {hot.when}: kernels of their own for "
            f"each of `{file.brief(found.iterated)}`{read}",
            instead=instead,
            hot=hot,
            severity=Severity.INFO,
            confidence=hot.confidence.at_most(Confidence.LIKELY),
            loop=found.loop,
        )

    def _one_by_one(self, file: SourceFile, site: Site, at_most: Confidence | None) -> Iterator[Finding]:
        loop = per_parameter(file, site)
        if loop is None or not _each_step(site) or not _is_target(site, loop.target):
            return
        name = file.brief(site.call.func)
        yield self.found(
            site,
            message=f"`{file.brief(site.call)}` clips one gradient at a time, for each of `{file.brief(loop.iter)}`, "
            f"{site.hot.when if site.hot else ''}",
            instead=f"call `{name}(parameters, ...)` once with all of them",
            hot=site.hot,
            confidence=at_most,
        )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By what the turns of a loop wait for; no probe looks into torch."""
        return waits_of_loop(finding, run) or unmeasured(run, finding.location, "no probe looks into torch's functions")


def _in_one_call(file: SourceFile) -> str:
    total = "`torch.nn.utils.get_total_norm(grads)`, since torch 2.6, or of "
    return (
        "compute all in one call: the norm that `clip_grad_norm_` returns where gradients are clipped; "
        f"else {'' if file.project.must_run_before(2, 6) else total}`torch.stack(torch._foreach_norm(grads))`"
    )


def _left_out(file: SourceFile, found: Norms) -> str:
    name = file.outline.functions[found.spot.function].name
    return f"leave the call of `{name}` out: all that call it drop what it returns, or hand it on to callers that do"


def _each_step(site: Site) -> bool:
    return site.hot is not None and site.hot.kind not in _ELSEWHERE and not site.hot.optional


def _raises(site: Site) -> bool:
    return is_true(site.keyword(_RAISES))


def _raises_by_default(site: Site) -> bool:
    """Whether a Fabric clips by the norm, and is not told to take one that is not finite.

    `clip_gradients(module, optimizer, clip_val=None, max_norm=None, ...)`: by value nothing is asked.
    """
    limit = site.keyword("max_norm") or (site.call.args[3] if len(site.call.args) > 3 else None)
    told = site.keyword(_RAISES)
    return limit is not None and not is_none(limit) and (told is None or is_true(told)) and not unpacks(site.call)


def _is_target(site: Site, target: ast.expr) -> bool:
    """Whether it clips just the parameter of this turn: `p`, `[p]`."""
    given = site.call.args[0] if site.call.args else site.keyword("parameters")
    if isinstance(given, ast.List) and len(given.elts) == 1:
        given = given.elts[0]
    names = names_of(target)
    return isinstance(given, ast.Name) and given.id in names
