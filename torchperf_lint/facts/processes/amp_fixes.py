"""The fix of `torch.cuda.amp`: the same under `torch.amp`, with the device type said.

    with autocast(use_amp, dtype=half):    ->    with torch.amp.autocast("cuda", enabled=use_amp, dtype=half):
    scaler = GradScaler()                  ->    scaler = torch.amp.GradScaler("cuda")
    @custom_fwd                            ->    @torch.amp.custom_fwd(device_type="cuda")

The last use of a name takes its import with it, so the uses of one imported name are fixed one after the other.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.errors import CannotFix
from torchperf_lint.facts.files.torch_bounds import Release
from torchperf_lint.facts.fixes import importing
from torchperf_lint.facts.fixes.edits import Editor, fix_of, made
from torchperf_lint.facts.processes.amp import Legacy
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.model import Edit, Fix, Safety
from torchperf_lint.patterns import pattern

_CONTEXT = ("enabled", "dtype", "cache_enabled")
"""What the old `autocast` took by position; the new one takes the device type, then `dtype` first."""
_DECORATORS = ("custom_fwd", "custom_bwd")
_FIRST = (1, 10)
"""The release that brought `torch.autocast`."""
_SINCE = {"GradScaler": (2, 3), "custom_fwd": (2, 4), "custom_bwd": (2, 4)}
_WHOLE = (2, 0)
"""A release that is known to have `torch.amp.autocast` as well."""
_WRITTEN = pattern(r"^(?P<torch>[\w.]+)\.(?:cuda|cpu)\.amp\.\w+$")


def under_torch_amp(use: Legacy) -> Fix | None:
    """The fix of a use of `torch.cuda.amp` or `torch.cpu.amp`; None for apex, and where it cannot be made.

    Nor is it made where the project admits a torch that lacks the new spelling.
    """
    if use.device is None or use.mark.file.project.may_run_before(*replaced_since(use)):
        return None
    return fix_of(use.mark, Safety.UNSAFE, lambda edit: _edits(_home(edit, use), use))


def replaced_since(use: Legacy) -> Release:
    """The release that brought the new spelling."""
    return _SINCE.get(use.name, _FIRST)


def new_spelling(use: Legacy) -> str:
    """What takes the place of a use: `torch.autocast` where `torch.amp` may not be there yet, which it came from."""
    older = use.name == "autocast" and use.mark.file.project.may_run_before(*_WHOLE)
    return "torch.autocast" if older else f"torch.amp.{use.name}"


def _home(edit: Editor, use: Legacy) -> Editor:
    """Of a decorator the editor of what it decorates: there it is parsed."""
    if edit.function:
        return edit
    line, functions = use.mark.frame.at[0], edit.file.outline.functions
    inside = [n for n, f in enumerate(functions) if n and f.parent == 0 and f.line <= line <= f.end_line]
    return Editor(edit.file, inside[0]) if inside else edit


def _edits(edit: Editor, use: Legacy) -> list[Edit]:
    named = use.call.func if use.call is not None else use.mark.expression
    assert isinstance(named, ast.expr)
    full = _WRITTEN.match(chain(named))
    if full is not None:  # `torch` is at hand, as it is written here
        written = f"{full['torch']}{new_spelling(use).removeprefix('torch')}"
        return [edit.replace(named, written), *_arguments(edit, use, named)]
    written, imports = importing.require(edit, new_spelling(use))
    return _with_import(edit, use.head, [*imports, edit.replace(named, written), *_arguments(edit, use, named)])


def _with_import(edit: Editor, bound: str, edits: list[Edit]) -> list[Edit]:
    """The import goes with its last use; until then each fix holds on to it, so that no two are made at once."""
    released = importing.release(edit, bound, 1) or importing.hold(edit, bound)
    try:
        made(Safety.UNSAFE, [*edits, *released])
    except CannotFix:  # in the way of another import that comes
        return edits
    return [*edits, *released]


def _arguments(edit: Editor, use: Legacy, named: ast.expr) -> Iterator[Edit]:
    if use.name in _DECORATORS:
        yield _device_type(edit, use, named)
        return
    call = use.call if use.call is not None else _parent(use)
    if not isinstance(call, ast.Call):
        raise CannotFix("what calls it later would have to say the device")
    skipped = int(use.call is None)  # `partial(autocast, enabled=flag)`
    given = call.args[skipped:] if use.name == "autocast" else []
    if any(isinstance(argument, ast.Starred) for argument in given) or len(given) > len(_CONTEXT):
        raise CannotFix("unpacked arguments may be of any order")
    names = [f"{name}=" for name, _ in zip(_CONTEXT, given, strict=False)]
    arguments, device = edit.arguments(call).items[skipped:], f'"{use.device}"'
    if not arguments:
        end = edit.span(named)[1] if skipped else edit.span(call)[1] - 1
        yield Edit(end, end, f", {device}" if skipped else device)
    for index, (start, _) in enumerate(arguments):
        text = names[index] if index < len(names) else ""
        text = f"{device}{_separator(edit, start)}{text}" if index == 0 else text
        if text:
            yield Edit(start, start, text)


def _separator(edit: Editor, start: int) -> str:
    """What comes between an argument and the one behind it, which may begin a line of its own."""
    indent = edit.text[edit.line_start(start) : start]
    return f",{edit.newline(start)}{indent}" if edit.starts_line(start) else ", "


def _device_type(edit: Editor, use: Legacy, named: ast.expr) -> Edit:
    if use.call is not None:
        (edited,) = edit.set_keyword(use.call, "device_type", f'"{use.device}"')
        return edited
    if isinstance(_parent(use), ast.Call):
        raise CannotFix("what calls it later would have to say the device")
    end = edit.span(named)[1]
    return Edit(end, end, f'(device_type="{use.device}")')


def _parent(use: Legacy) -> ast.AST | None:
    return use.mark.file.enclosing(use.mark.function).parents.get(use.mark.expression)
