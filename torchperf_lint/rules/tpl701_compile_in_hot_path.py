"""TPL701."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.confirming import unmeasured
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.processes.compiling import Compiled, hot_compilations
from torchperf_lint.model import Confidence, Finding, Severity, Verdict
from torchperf_lint.rule import SourceRule


class CompileInHotPath(SourceRule):
    """`torch.compile(...)` in code that runs every step.

    ## What it does
    Flags calls of `torch.compile`, and functions that are defined and decorated with it, where that runs every
    training step, forward pass or decoding step and the result is not kept for the next one.

    ## Why it is slow
    Each call sets the compiler up and makes a new wrapper before the code that is compiled already can be found
    again, which takes the host longer than a call through a wrapper that is kept. A function that is made in the step
    and closes over new objects fails the guards and is compiled again, each time, until the limit of recompilations (8)
    is reached; from then on it runs without having been compiled. A compiled module that is stored back wraps its own
    wrapper.

    ## Example
    ```python
    import torch
    from torch import nn

    def attend(q, k, v):
        return torch.softmax(q @ k.transpose(-1, -2), -1) @ v

    class Attention(nn.Module):
        def forward(self, q, k, v):
            return torch.compile(attend)(q, k, v)
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    @torch.compile
    def attend(q, k, v):
        return torch.softmax(q @ k.transpose(-1, -2), -1) @ v

    class Attention(nn.Module):
        def forward(self, q, k, v):
            return attend(q, k, v)
    ```

    ## When it is fine
    In a constructor, once before the loop, on the first pass only, or in a function that is cached:
    ```python
    import torch
    from torch import nn

    class Lazy(nn.Module):
        def __init__(self, inner: nn.Module):
            super().__init__()
            self.inner = inner
            self._compiled = None

        def forward(self, x):
            if self._compiled is None:
                self._compiled = torch.compile(self.inner)
            return self._compiled(x)
    ```

    ## Fix safety
    There is no automatic fix: where the compiled function is to be kept only the author knows, and what it closes
    over has to become an argument.

    ## Confirmed by
    Nothing: no probe counts compilations.

    ## References
    - PyTorch documentation of `torch.compile`; "Recompilation" in its troubleshooting guide.
    - pytorch/ao #2500: training that could not start, as each optimizer step compiled.
    """

    code, name, since = "TPL701", "compile-in-hot-path", "0.1.0"
    triggers = ("torch.compile", "th.compile", "import compile")

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each compilation in hot code."""
        del project
        for compiled in hot_compilations(file):
            hot = compiled.mark.hot
            assert hot is not None
            new = bool(compiled.name) or isinstance(compiled.what, ast.Lambda)
            yield self.found(
                compiled.mark,
                message=_message(file, compiled, hot.when, new),
                instead=_AS_ARGUMENTS if new else _ONCE,
                hot=hot,
                severity=Severity.INFO if hot.optional or hot.kind == "eval" else None,
                confidence=Confidence.POSSIBLE if hot.optional else None,
            )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """No probe looks at compilations."""
        return unmeasured(run, finding.location, "no probe counts compilations")


def _message(file: SourceFile, compiled: Compiled, when: str, new: bool) -> str:
    expression = compiled.mark.expression
    if compiled.what is None:
        return f"`{compiled.name}` is defined and wrapped by `torch.compile` anew {when}: {_ANEW}"
    written = file.brief(expression)
    return f"`{written}` makes a new compiled function {when}: {_ANEW if new else _AGAIN}"


_ANEW = "what it closes over is checked again, and where that is new it is compiled again"
_AGAIN = "each call sets the compiler up again, and compiles again where a guard fails"
_ONCE = "compile it once, where the module or the function is defined or in the constructor, and call the result here"
_AS_ARGUMENTS = (
    "define the function outside, decorate it there with `@torch.compile`, and hand it what it closes over as arguments"
)
