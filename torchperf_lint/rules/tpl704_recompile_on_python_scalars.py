"""TPL704."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.compiling_verdicts import compiled_again
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.processes.compiled_regions import TRIGGERS
from torchperf_lint.facts.processes.counted_in_compiled import Counted, counted_in_compiled
from torchperf_lint.model import Finding, Verdict
from torchperf_lint.rule import SourceRule


class RecompileOnPythonScalars(SourceRule):
    """A compiled function changes a Python value that it was compiled for, so that the next call compiles again.

    ## What it does
    Flags, in functions that the same file compiles and in what they call directly, whole numbers of a module that are
    counted up (`self.step += 1`), lists of a module that grow (`self.seen.append(...)`) and global numbers that are
    counted up. Numbers that are set anew at each call, lists that are emptied, floats, and attributes of objects that
    are no modules are left alone: those are compiled twice at most.

    ## Why it is slow
    `torch.compile` takes such a value for a constant and checks it before each call. As the call itself changes it,
    every call compiles again, which takes seconds, until the limit of eight; from then on the function runs without
    having been compiled, and only a warning tells.

    ## Example
    ```python
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(64, 64)
            self.step = 0

        def forward(self, x):
            self.step += 1
            return self.layer(x)

    model = torch.compile(Net().cuda())
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(64, 64)
            self.register_buffer("step", torch.zeros((), dtype=torch.long))

        def forward(self, x):
            self.step += 1
            return self.layer(x)

    model = torch.compile(Net().cuda())
    ```
    Or count where the module is called.

    ## When it is fine
    Where what is compiled does not see it:
    ```python
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(64, 64)
            self.step = 0

        def forward(self, x):
            return self.layer(x)

    net = Net().cuda()
    model = torch.compile(net)

    def run(batches):
        for batch in batches:
            net.step += 1
            yield model(batch)
    ```

    ## Fix safety
    There is no automatic fix: who else reads the value only the author knows.

    ## Confirmed by
    Dynamo's figures of each compilation: that a guard of the line's value failed, how often, and how long compiling
    took. Compiled again once only, or not at all in three steps or more, refutes it.

    ## References
    - PyTorch documentation of `torch.compile`, "Dealing with recompilations"; `torch._dynamo.config.recompile_limit`
      and `allow_unspec_int_on_nn_module`.
    - Tried with torch 2.13: twelve calls each, compiled eight times with an `int` of a module, a list that grows or a
      global; twice with a float or an argument; once with a buffer.
    """

    code, name, since = "TPL704", "recompile-on-python-scalars", "0.1.0"
    triggers = TRIGGERS
    probes = ("compilation",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each statement that makes the next call compile again."""
        del project
        if file.mentions(("+=", "-=", "+ ", "- ", ".append(")):
            for counted in counted_in_compiled(file):
                yield self._found(file, counted)

    def _found(self, file: SourceFile, counted: Counted) -> Finding:
        grows = counted.kind == "list"
        return self.found(
            counted.mark,
            message=f"`{counted.name}` {'grows' if grows else 'is counted up'} each time, and {counted.region.told()} "
            f"for {'its length' if grows else 'its value'}: each call compiles again, and after eight it is compiled "
            "no more",
            instead=_INSTEAD[counted.kind],
            hot=counted.region.hot(file.path),
        )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """Whether the value had the function compiled again and again."""
        return compiled_again(finding, run)


_INSTEAD = {
    "attribute": "count where the module is called, or in a buffer: "
    '`self.register_buffer("step", torch.zeros((), dtype=torch.long))`',
    "list": "return what is collected, and append it where the module is called",
    "global": "count where the function is called",
}
