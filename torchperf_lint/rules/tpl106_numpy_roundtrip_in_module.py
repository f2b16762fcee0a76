"""TPL106."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.confirming import by_events
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.copies.retyped import dtype_of_retyped
from torchperf_lint.facts.copies.round_trips import RoundTrip
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.reads.host_copies import copy_severity, host_copies
from torchperf_lint.facts.reads.reads import Reading, cause
from torchperf_lint.facts.reads.tables_in_trips import made_for_trip
from torchperf_lint.facts.syntax.expressions_written import of_part
from torchperf_lint.facts.syntax.syntax import below
from torchperf_lint.facts.syntax.torch_counterparts import counterpart
from torchperf_lint.model import Finding, Verdict
from torchperf_lint.rule import SourceRule

_MADE_ANEW = frozenset({"numpy.array", "numpy.asarray", "numpy.ascontiguousarray", "numpy.asanyarray"})
"""What only makes the array that the tensor is again."""
_SHOWN = 4
_VIEWS = frozenset("data detach squeeze unsqueeze view reshape long int float".split())
"""Parts of what is left on the device that are where it is."""


class NumpyRoundtripInModule(SourceRule):
    """A device tensor goes to the host, through numpy or another library, and back to the device in hot code.

    ## What it does
    Flags copies of a device tensor to the host where the same function uploads what comes of it, or returns it and all
    of its callers do: after functions of numpy, scipy, OpenCV or PIL that torch has too, after functions of the project
    that call no others, after torch's own operations on the host, after tests of each element
    (`[i != 0 for i in ids.tolist()]`), or after nothing at all, as `mask.type(torch.FloatTensor)` names a type of the
    host; and where it comes back as the indices of a tensor on the device. The finding stands at the copy to the host,
    the upload is named beside it, and no other rule reports that one. It names what torch has instead.

    ## Why it is slow
    The copy to the host waits until everything queued on the device has run, one core does the work while the device
    idles, and the way back crosses the bus again, from pageable memory. Gradients end there, and so does a graph of
    `torch.compile`.

    ## Example
    ```python
    import numpy as np
    import torch
    from torch import nn

    class Clip(nn.Module):
        def forward(self, x: torch.Tensor):
            limit = np.percentile(x.detach().cpu().numpy(), 90, axis=-1)
            limit = torch.from_numpy(limit).to(x.device)
            return torch.minimum(x, limit.unsqueeze(-1))
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    class Clip(nn.Module):
        def forward(self, x: torch.Tensor):
            limit = torch.quantile(x.detach(), 0.9, dim=-1, keepdim=True)
            return torch.minimum(x, limit)
    ```

    ## When it is fine
    Where the work has no counterpart in torch, as `scipy.optimize.linear_sum_assignment` (only `possible`), or is
    done on sizes and settings, which are on the host:
    ```python
    import numpy as np
    import torch
    from torch import nn

    class Scale(nn.Module):
        def forward(self, x: torch.Tensor):
            return x / np.sqrt(np.prod(x.shape[1:]))
    ```

    ## Fix safety
    There is no automatic fix: functions of torch and numpy differ in defaults, in names of arguments and in dtypes.

    ## Confirmed by
    A synchronisation at the copy to the host, which a blocking copy makes, in at least half of the recorded steps.

    ## References
    - Trail of Bits, `numpy-in-pytorch-modules`.
    - PyTorch performance tuning guide, "Avoid unnecessary CPU-GPU synchronization".
    """

    code, name, since = "TPL106", "numpy-roundtrip-in-module", "0.1.0"
    triggers = (".cpu(", ".numpy(", ".to(", ".type(")
    probes = ("host-sync", "transfers")

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each hot copy of a device tensor to the host that comes back."""
        del project
        for reading, trip in host_copies(file):
            if trip is not None:
                yield self._of(file, reading, trip)

    def _of(self, file: SourceFile, reading: Reading, trip: RoundTrip) -> Finding:
        (site, receiver, read), line = reading, trip.upload.lineno
        again = isinstance(trip.upload, ast.Call)
        how = "uploads it again" if again else "takes it as indices on the device, which uploads it again"
        return self.found(
            site,
            message=f"`{file.brief(site.call)}` copies to the host and waits for the device {read.hot.when}, and line "
            f"{line} {how}",
            instead=_instead(file, site, receiver, trip),
            value=read.value,
            hot=read.hot,
            severity=copy_severity(file, read),
            related=[file.related(file.path, *file.span(trip.upload)[0], "goes back to the device here")],
            root_cause=cause(site),
            leads=False,
        )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By synchronisations at the copy to the host."""
        return by_events(finding, run, run.at(finding, "sync"), "synchronisation", probes=self.probes)


def _instead(file: SourceFile, site: Site, receiver: ast.expr, trip: RoundTrip) -> str:
    dtype = dtype_of_retyped(site)
    if dtype is not None:
        return (
            f"write `{of_part(receiver, f'to({dtype})')}`: a type of the host takes there what it converts, a dtype "
            f"converts it on the device, and line {trip.upload.lineno} has nothing to upload then"
        )
    kept, then = f"leave `{file.brief(receiver)}` on the device", "has nothing to upload then"
    if trip.picks:
        made = "`torch.arange`, `torch.triu_indices`"
        return f"{kept}, make there what is picked from ({made}), and pick by a mask: line {trip.upload.lineno} {then}"
    if trip.table:
        kept += f", and make `{trip.table}` there (of one place in each row `torch.nn.functional.one_hot(index, n)`)"
    table = made_for_trip(file, site, trip)
    if table is not None:
        made = f"`torch.{table}(..., device={of_part(below(receiver, _VIEWS), 'device')})`"
        return f"{kept}, and make there what takes it, {made}: line {trip.upload.lineno} {then}"
    worked = [function for function in trip.through if function not in _MADE_ANEW]
    known = [(function, there) for function in worked if (there := counterpart(function)) is not None]
    if known:
        pairs = ", ".join(f"`{there}` for `{_short(function)}`" for function, there in known[:_SHOWN])
        return f"{kept}, with {pairs}: line {trip.upload.lineno} {then}"
    does = "torch has the numpy functions" if worked else "torch does there what it does on the host"
    return f"{kept}: {does}, and line {trip.upload.lineno} {then}"


def _short(function: str) -> str:
    return function.replace("numpy.", "np.", 1)
