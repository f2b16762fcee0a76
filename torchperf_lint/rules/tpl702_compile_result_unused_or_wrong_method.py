"""TPL702."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.confirming import unmeasured
from torchperf_lint.errors import CannotFix
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.fixes import importing
from torchperf_lint.facts.fixes.edits import Editor, fix_of
from torchperf_lint.facts.processes.compiled_unused import DROPPED, METHOD, SELF, UNREAD, UNRUN, Unused, unused
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.model import Edit, Finding, Fix, Safety, Severity, Verdict
from torchperf_lint.rule import SourceRule


class CompileResultUnusedOrWrongMethod(SourceRule):
    """`torch.compile(model)` whose result nothing runs.

    ## What it does
    Flags calls of `torch.compile` whose result is dropped (`torch.compile(model)` as a statement), bound to a local
    name that nobody reads (`self = torch.compile(self)`, `for block in blocks: block = torch.compile(block)`), never
    run but asked for what the original has (`save_pretrained`, `state_dict`: what was handed to a trainer before is
    the original), or used only for methods other than `forward`: `compiled.generate(x)`, `compiled.encode(x)`. For
    `generate` it is reported as info.

    ## Why it is slow
    `torch.compile` changes nothing in place: what it was given runs on as before. Of what it returns only the call
    and `forward` are compiled; other methods are those of the original module, and the `self(x)` in them calls the
    original, too.

    ## Example
    ```python
    import torch
    from torch import nn

    def prepare(model: nn.Module, device):
        model.to(device)
        torch.compile(model, mode="reduce-overhead")
        return model
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    def prepare(model: nn.Module, device):
        model.to(device)
        model.compile(mode="reduce-overhead")
        return model
    ```
    or `model = torch.compile(model)`, and `model.encode = torch.compile(model.encode)` for another method.

    ## When it is fine
    Where the result is returned, stored or called:
    ```python
    import torch
    from torch import nn

    def prepare(model: nn.Module, device):
        model.encoder = torch.compile(model.encoder)
        for i, block in enumerate(model.blocks):
            model.blocks[i] = torch.compile(block)
        return torch.compile(model.to(device))
    ```

    ## Fix safety
    Unsafe: `torch.compile(model)` and `self = torch.compile(self)` become `model.compile()`, which compiles in place,
    so that from then on code runs compiled that never has. Only where the value is known to be a module; none for
    `target-torch` before 2.13, as it was not checked which release brought `nn.Module.compile`.

    ## Confirmed by
    Nothing: no probe sees which code runs compiled.

    ## References
    - PyTorch documentation of `torch.compile` and of `torch.nn.Module.compile`.
    - google-research/timesfm #457, pytorch/pytorch #141616.
    """

    code, name, since = "TPL702", "compile-result-unused-or-wrong-method", "0.1.0"
    triggers = ("torch.compile", "th.compile", "import compile")

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each compilation whose result nothing runs."""
        for found in unused(file):
            what = file.brief(found.what)
            yield self.found(
                found.site,
                message=_MESSAGE[found.way].format(what=what, name=found.name, method=found.method),
                instead=_INSTEAD[found.way].format(what=what, name=found.name, method=found.method),
                severity=Severity.INFO if found.method == "generate" else None,
                fix=None if project.must_run_before(2, 13) else _in_place(file, found),
            )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """No probe looks at compilations."""
        return unmeasured(run, finding.location, "no probe sees which code runs compiled")


_MESSAGE = {
    DROPPED: "the result is dropped: `torch.compile` changes nothing in place, and `{what}` runs uncompiled",
    UNREAD: "nothing reads `{name}` after that: `torch.compile` changes nothing in place, and `{what}` runs uncompiled",
    SELF: "`self` is a local name, and `torch.compile` changes nothing in place: the object runs uncompiled",
    METHOD: "of a compiled module only the call and `forward` are compiled: `{name}.{method}` is that of the original, "
    "and runs uncompiled",
    UNRUN: "nothing runs `{name}` after that: `torch.compile` changes nothing in place, and what took `{what}` before "
    "runs it uncompiled",
}
_INSTEAD = {
    DROPPED: "compile a module in place with `{what}.compile()`, or keep the result: `{what} = torch.compile({what})`",
    UNREAD: "compile a module in place with `{what}.compile()`, or store the result where it is called from",
    SELF: "compile in place: `self.compile()`",
    METHOD: "compile what runs: `{what}.{method} = torch.compile({what}.{method})`, or, where `{method}` calls the "
    "module itself, in place with `{what}.compile()`",
    UNRUN: "compile it before it is handed on, or in place with `{what}.compile()`",
}


def _in_place(file: SourceFile, found: Unused) -> Fix | None:
    if found.way not in (DROPPED, SELF) or not isinstance(found.what, ast.Name | ast.Attribute):
        return None
    if found.way == DROPPED and file.value(found.what, found.site).kind != "module":
        return None
    return fix_of(found.site, Safety.UNSAFE, lambda edit: _compiled(edit, found))


def _compiled(edit: Editor, found: Unused) -> list[Edit]:
    call = found.site.call
    if not call.args or "#" in edit.source(call):
        raise CannotFix("it is not written as expected, or holds a comment")
    statement = edit.statement(call)
    given = [*call.args[1:], *(keyword.value for keyword in call.keywords)]
    names = [""] * (len(call.args) - 1) + [f"{k.arg}=" if k.arg else "**" for k in call.keywords]
    arguments = ", ".join(name + edit.source(value) for name, value in zip(names, given, strict=True))
    head = chain(call.func).partition(".")[0]
    written = f"{edit.source(found.what)}.compile({arguments})"
    return [edit.replace(statement, written), *importing.release(edit, head, 1)]
