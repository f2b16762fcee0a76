"""TPL703."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.compiling_verdicts import graph_ended
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.indexing.selected import purpose
from torchperf_lint.facts.indexing.selections import selections
from torchperf_lint.facts.processes.compiled_regions import TRIGGERS
from torchperf_lint.facts.processes.graph_breaks import Break, graph_breaks
from torchperf_lint.facts.reads.reads import cause
from torchperf_lint.model import Finding, Verdict
from torchperf_lint.rule import SourceRule


class GraphBreakInCompiledRegion(SourceRule):
    """A call at which `torch.compile` has to end its graph, in a function that is compiled.

    ## What it does
    Flags `print`, `open`, clocks, logging, `torch.save`, `.item()`, `float` of a tensor, `nonzero`, `unique`,
    `masked_select` and `.backward()` in functions that the same file compiles, by a decorator or by a call with the
    function or an instance of its module, and in what they call directly. Calls under an `if` or `try` are left
    alone, and so are files that ask `is_compiling()`, compile with `fullgraph=True` or switch the compiler to capture
    such calls.

    ## Why it is slow
    What stands before and after such a call is compiled apart: nothing is fused across it, tensors between the parts
    are written to memory, and each pass returns to Python in the middle. CUDA graphs are cut there, too.

    ## Example
    ```python
    import torch

    @torch.compile
    def normalise(x: torch.Tensor):
        scale = x.abs().max().item()
        print("scale", scale)
        return torch.tanh(x / scale)
    ```

    ## Use instead
    ```python
    import torch

    @torch.compile
    def normalise(x: torch.Tensor):
        scale = x.abs().max()
        return torch.tanh(x / scale), scale
    ```
    and print it outside, every now and then. `fullgraph=True` makes each break an error.

    ## When it is fine
    Outside of what is compiled, behind a flag, or in a function that is left out on purpose:
    ```python
    import torch

    @torch.compiler.disable
    def report(x: torch.Tensor):
        print("scale", x.abs().max().item())

    @torch.compile
    def normalise(x: torch.Tensor, verbose: bool = False):
        if verbose:
            print(x.shape)
        report(x)
        return torch.tanh(x / x.abs().max())
    ```

    ## Fix safety
    There is no automatic fix: what is to become of the value only the author knows.

    ## Confirmed by
    Dynamo's own list of graph breaks, by line. A function that was compiled without a break at the line refutes it;
    what was compiled as a part of its caller cannot be told.

    ## References
    - PyTorch documentation of `torch.compile`, "Common graph breaks" and `torch._dynamo.config.capture_scalar_outputs`.
    - Tried with torch 2.13: how many graphs a backend is given for one call of each.
    """

    code, name, since = "TPL703", "graph-break-in-compiled-region", "0.1.0"
    triggers = TRIGGERS
    probes = ("compilation",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each call that ends the graph of a compiled function."""
        del project
        breaks = list(graph_breaks(file))
        told = _told_as_selections(file) if any(found.kind == "size" for found in breaks) else frozenset()
        for found in breaks:
            if found.kind != "size" or found.site.call not in told:
                yield self._found(file, found)

    def _found(self, file: SourceFile, found: Break) -> Finding:
        return self.found(
            found.site,
            message=f"`{file.brief(found.site.call)}` ends the graph: {found.region.told()}, and what stands "
            "before and after the call is compiled apart",
            instead=_INSTEAD[found.kind],
            hot=found.region.hot(file.path),
            root_cause=cause(found.site) if found.kind != "backward" else None,
        )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """Whether the graph ended at the line."""
        return graph_ended(finding, run)


def _told_as_selections(file: SourceFile) -> frozenset[ast.AST]:
    """What TPL109 says better: how to do without."""
    return frozenset(s.spot.expression for s in selections(file) if s.spot.expression and purpose(s) is not None)


_INSTEAD = {
    "host": "move it out of what is compiled: return the value, and tell it where the function is called",
    "item": "keep it a tensor of no dimensions, which computes with others, or return it and read it outside",
    "size": "keep the shape: a mask with `torch.where`, or compute it outside and hand it in",
    "backward": "compile the forward pass and the loss, and call `backward()` on what they give outside",
}
