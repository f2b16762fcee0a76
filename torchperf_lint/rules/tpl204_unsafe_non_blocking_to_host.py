"""TPL204."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.confirming import NO_DEVICE, copies, silent
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.fixes.edits import fix_of
from torchperf_lint.facts.reads.unfinished import Unfinished, unfinished_reads
from torchperf_lint.facts.values.value import ANYWHERE, DEVICE, Value
from torchperf_lint.model import Confidence, Finding, Outcome, Safety, Severity, Verdict
from torchperf_lint.rule import SourceRule


class UnsafeNonBlockingToHost(SourceRule):
    """A copy to the host with `non_blocking=True` that is read before anything waits for it.

    ## What it does
    Flags `.to("cpu", non_blocking=True)`, and `buffer.copy_(x, non_blocking=True)` into memory on the host, where the
    same function reads the result (`.numpy()`, `.item()`, `float(...)`, `np.mean(...)`, a test) and nothing between
    the two waits. A buffer that is known to be pageable is left alone: from such a copy CUDA comes back when it is
    complete (seen on an H200: it blocked as long as the kernels before it ran). It looks at all code, hot or not: what
    is read may be wrong.

    ## Why it is slow
    It is not slow but wrong. The call returns while the copy is still queued, into pinned memory; what the host reads
    then is whatever stood there before, often the right numbers, sometimes not. Kernels on the device wait for copies
    to it by themselves; the host does not.

    ## Example
    ```python
    import torch
    from torch import nn

    @torch.no_grad()
    def predict(model: nn.Module, x: torch.Tensor):
        scores = model(x.cuda()).to("cpu", non_blocking=True)
        return scores.numpy().tolist()
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    @torch.no_grad()
    def predict(model: nn.Module, x: torch.Tensor):
        scores = model(x.cuda()).cpu()
        return scores.numpy().tolist()
    ```
    To overlap the copy with other work, record a `torch.cuda.Event` after it and call its `synchronize()` before the
    first read.

    ## When it is fine
    Where something waits before the read:
    ```python
    import torch
    from torch import nn

    @torch.no_grad()
    def predict(model: nn.Module, x: torch.Tensor):
        scores = model(x.cuda()).to("cpu", non_blocking=True)
        labels = model(x.cuda()).argmax(1).to("cpu", non_blocking=True)
        torch.cuda.current_stream().synchronize()
        return scores.numpy(), labels.numpy()
    ```

    ## Fix safety
    Safe: the flag is taken out, the copy waits, and the values are right. Where the dtype changes on the way, or may
    in `copy_`, it is unsafe: the conversion moves to the host, which makes other integers of what is out of range.

    ## Confirmed by
    A copy to the host that did not block, at the line; one is enough, since it is wrong each time it comes too late.

    ## References
    - PyTorch tutorial, "A guide on good usage of non_blocking and pin_memory() in PyTorch".
    - sgl-project/sglang #16493: values read before they had arrived.
    """

    code, name, since = "TPL204", "unsafe-non-blocking-to-host", "0.1.0"
    severity = Severity.ERROR
    triggers = ("non_blocking",)
    probes = ("transfers",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each copy to the host that is read too early."""
        del project
        for found in unfinished_reads(file):
            yield self._finding(file, found)

    def _finding(self, file: SourceFile, found: Unfinished) -> Finding:
        site = found.copy
        line = getattr(found.read, "lineno", site.record.line)
        where = "" if line == site.record.line else f" on line {line}"
        source = site.call.args[0] if site.record.callee.endswith("copy_") else site.receiver
        assert source is not None
        value = file.value(source, site)
        known = (
            value
            if value.kind == "tensor" and value.because
            else Value("tensor", ANYWHERE, "a tensor, copied to the host")
        )
        sure = Confidence.CERTAIN if known.device == DEVICE else Confidence.LIKELY
        return self.found(
            site,
            message=f"`{file.brief(site.call)}` does not wait for the copy, and `{found.written}`{where} may read "
            "before it has arrived",
            instead="copy without `non_blocking=True`, or record a `torch.cuda.Event` after the copy and call its "
            "`synchronize()` before the first read",
            value=known.weaker(sure),
            related=[file.related(file.path, line, 1, "reads the copy")] if where else (),
            fix=fix_of(site, _safety(site), lambda edit: edit.drop_argument(site.call, "non_blocking")),
        )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By copies to the host at the line that did not block."""
        if run.device is None:
            return Verdict(Outcome.UNOBSERVABLE, NO_DEVICE)
        seen = copies(run, finding, "d2h", lambda copy: copy.attributes.get("blocking") is False)
        if seen:
            count = sum(copy.count for copy in seen)
            return Verdict(
                Outcome.CONFIRMED, f"{count} {'copy' if count == 1 else 'copies'} to the host that did not wait"
            )
        if "transfers" in run.unwatched:
            return Verdict(Outcome.UNOBSERVABLE, f"transfers: {run.unwatched['transfers']}")
        return silent(run, finding.location, "copy to the host that did not wait")


def _safety(site: Site) -> Safety:
    """Safe where nothing but the device changes on the way."""
    keywords = {k.arg for k in site.call.keywords} - {"device", "non_blocking"}
    only_moves = site.record.callee.endswith(".to") and not keywords and len(site.call.args) < 2
    only_moves &= all(site.file.value(argument, site).kind != "tensor" for argument in site.call.args)
    return Safety.SAFE if only_moves else Safety.UNSAFE
