"""What to write instead of reading a number from the device at once, by what becomes of it.

def as_number(t):                 n = as_number(lengths.max())
    return t.item()               out = x.new_zeros(n, width)

What a function returns is only as good later as its callers make it: they are followed, one call far.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey
from torchperf_lint.facts.call_graph.passed import call_at
from torchperf_lint.facts.files.appended import is_only_appended_to
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Place
from torchperf_lint.facts.fixes.fractions import has_no_dimensions
from torchperf_lint.facts.reads.hit_counts import reads_hits
from torchperf_lint.facts.reads.kept_as import RECORDED, RETURNED, USED, Following, following, kept_as
from torchperf_lint.facts.reads.loss_numbers import reads_a_loss
from torchperf_lint.facts.reads.sorting_keys import read_before_sorting
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.enclosing import Enclosing
from torchperf_lint.facts.syntax.syntax import names_of
from torchperf_lint.facts.values.value import HOST
from torchperf_lint.patterns import pattern

_CALLERS = 8
"""Calls of a function that are followed."""
_SHOWN = pattern(
    r"loss|err(?:or)?s?\b|acc(?:uracy)?(?:\b|_)|entropy|reward|norm\b|score|metric|correct|(?:^|_)(?:kl|mse|mae|nll|psnr|iou)(?:\b|_)"
)
"""Words for what is computed to be shown."""
_HOST_WORDS = frozenset({"int", "bool"})
_OF_SEVERAL = frozenset({"items", "values"})
"""Methods of dicts, whose values may lie anywhere."""

_OTHER_NUMBERS = frozenset({"int", "bool", "complex"})
"""What converts a number and may change it."""

_CUT = "…"
_COMPUTED = "what functions of torch compute in its place"
_ENDINGS = (".detach()", ".cpu()", ".data")


def later(place: Place, written: str | None) -> str:
    """What to write instead of reading a number at once.

    :param written: the tensor; None where it takes several functions of torch to compute the number
    """
    keyed = read_before_sorting(place)
    if keyed is not None:
        return keyed
    written = _bare(written) if written is not None else None
    then = kept_as(place)
    together = _together(place, written) if then != RECORDED else None
    if together is not None:
        return together
    if then == RETURNED:
        return _returned(place, written)
    if then == USED:
        return f"keep {_named(written)} a tensor in what follows, {_else(place, 'or')}"
    if place.hot is not None and place.hot.kind == "forward":
        return f"keep {_detached(written)}, and read it where it is shown, under `if step % n == 0:`"
    return _listed(place, written) or _stored(place, written) or (
        f"add {_detached(written)} to a tensor on the device and read that once after the loop, "
        "or read it under `if step % n == 0:`"
    )


def _listed(place: Place, written: str | None) -> str | None:
    """Of what is put into a list: `targets.extend(y.tolist())`, `losses.append(loss.item())`."""
    called = place.file.enclosing(place.function).parents.get(place.expression)
    if not isinstance(called, ast.Call) or not isinstance(place.expression, ast.Call):
        return None
    name, _, how = chain(called.func).rpartition(".")
    if how not in ("append", "extend"):
        return None
    reading, gathered = last_part(chain(place.expression.func)), is_only_appended_to(place, called)
    if reading == "tolist" and not gathered:
        return f"keep {_detached(written)} on the device, and make lists after the loop, or under `if step % n == 0:`"
    if not gathered or (how == "extend" and reading != "tolist"):
        return None
    if reading == "tolist":
        return f"append {_detached(written)} to `{name}`, and {_lists_of(place, name, how)}"
    return (
        f"append {_detached(written)}, and read all of them in one copy after the loop: "
        f"`{_numbers_of(place, name, reading)}`; what is shown before, under `if step % n == 0:`"
    )


def _lists_of(place: Place, name: str, how: str) -> str:
    """What gives the lists that `.tolist()` gave, of a list of tensors; joined, where they were."""
    if how == "append" and not _is_one_number(place):
        return f"make the lists after the loop: `[t.tolist() for t in {name}]`"
    return f"copy once after the loop: `torch.{'cat' if how == 'extend' else 'stack'}({name}).tolist()`"


def _numbers_of(place: Place, name: str, converts: str) -> str:
    """What gives the numbers of a list of tensors, each of which has one element, in whatever shape."""
    stacked = name if _is_one_number(place) else f"[t.reshape(()) for t in {name}]"
    numbers = f"torch.stack({stacked}).tolist()"
    return f"[{converts}(n) for n in {numbers}]" if converts in _OTHER_NUMBERS else numbers


def _is_one_number(place: Place) -> bool:
    """Whether what is read is known to have no dimensions."""
    call = place.expression
    assert isinstance(call, ast.Call)
    operand = call.func.value if isinstance(call.func, ast.Attribute) and not call.args else None
    operand = call.args[0] if len(call.args) == 1 else operand
    return operand is not None and has_no_dimensions(place, operand, place.frame.at)


def _stored(place: Place, written: str | None) -> str | None:
    """Of what is put into an entry or attribute, in place of what was there: `stats["psnr"] = log10(...)`."""
    around = place.file.enclosing(place.function)
    statement = around.statement(place.expression)
    if not isinstance(statement, ast.Assign) or isinstance(place.expression, ast.ListComp):
        return None
    target = statement.targets[0]
    if not isinstance(target, ast.Subscript | ast.Attribute):
        return None
    held = {ast.unparse(part) for part in ast.walk(statement.value) if isinstance(part, type(target))}
    if ast.unparse(target) in held or (
        isinstance(target, ast.Subscript) and place.file.value(target.value, place).kind == "array"
    ):
        return None
    if isinstance(target, ast.Subscript) and _lies_on_host(place, target.value):
        whole = place.file.brief(target.value)
        return f"make `{whole}` on the device, store {_detached(written)} there, and copy all of it after the loop"
    return f"store {_detached(written)} there, and read it where it is shown, under `if step % n == 0:`"


def _lies_on_host(place: Place, node: ast.expr) -> bool:
    """Whether a tensor lies on the host: storing one of the device in it copies that, and waits."""
    value = place.file.value(node, place)
    return value.kind == "tensor" and value.device == HOST


def _named(written: str | None) -> str:
    """A tensor as written; in words, where that was cut, which nobody can paste."""
    if written is None:
        return _COMPUTED
    return f"`{written}`" if _CUT not in written else "what is read"


def _detached(written: str | None) -> str:
    if written is None:
        return _COMPUTED
    if ".detach(" in written:
        return f"`{written}`"
    return f"`{written}.detach()`" if _CUT not in written else "the tensor itself (`.detach()`)"


def _bare(written: str) -> str:
    """`loss` of `loss.detach().cpu()`: the advice says `.detach()` where it is needed, and a copy would wait again."""
    before = ""
    while before != written:
        before = written
        for ending in _ENDINGS:
            written = written.removesuffix(ending)
    return written


def _returned(place: Place, written: str | None) -> str:
    if only_shown(place, written):
        return f"return {_detached(written)}: who needs the number reads it, who shows it under `if step % n == 0:`"
    return f"return {_detached(written)} where the callers' arithmetic takes a tensor, {_else(place, 'else')}"


def _else(place: Place, word: str) -> str:
    """What to do where a number has to be had: a loss is nothing that the host knows before the device has it.

    Nor is an accuracy.
    """
    if reads_a_loss(place) or reads_hits(place):
        return "and read it only where it is shown, under `if step % n == 0:`"
    return f"{word} take the number from what the host knows already: shapes, the loader, settings"


def only_shown(place: Place, written: str | None) -> bool:
    """Whether a number that is returned is for the record, as far as its callers, its type and its name tell."""
    follow = following(place)
    if follow is None:
        return False
    follow.kept(place.expression)
    key = FunctionKey(place.file.path, place.function)
    done = _done_by_callers(place.file.project, key, follow.places)
    if done == {RECORDED}:
        return True
    if follow.whole or _promises_a_size(follow):
        return False
    if _under_a_name(place):
        return True
    lowered = (written or ast.unparse(place.expression)).lower()
    return _SHOWN.search(lowered) is not None and (USED not in done or "loss" in lowered)


def _promises_a_size(follow: Following) -> bool:
    """Whether the annotation of a function promises what tensors are none of: `-> int`, `-> tuple[int, Tensor]`."""
    node = follow.body.functions.get(follow.function)
    hint = node.returns if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else None
    return hint is not None and bool(names_of(hint) & _HOST_WORDS)


def _under_a_name(place: Place) -> bool:
    """`return {"kl": kl.item()}`: what has a key of its own is a statistic."""
    return any(isinstance(node, ast.Dict) for node in place.file.enclosing(place.function).ancestors(place.expression))


def _done_by_callers(project: Project, key: FunctionKey, places: set[int | None]) -> set[str]:
    """What the calls of a function do with what it returns at some places of its tuples; empty where none is seen."""
    found = set()
    for site in project.hotness.callers.get(key, ())[:_CALLERS]:
        found |= {_done_by(project, site, place) for place in places}
    return found


def _done_by(project: Project, site: CallSite, place: int | None) -> str:
    """What one call does with what it gets; RETURNED as well where that cannot be told."""
    call, body = call_at(project.values, site), project.body(site.path)
    top = body.functions.get(site.call.function) if body is not None else None
    if call is None or body is None or not isinstance(top, ast.FunctionDef | ast.AsyncFunctionDef):
        return RETURNED
    follow = Following(body, site.call.function, Enclosing(top))
    if place is None:
        return follow.kept(call)
    parent = follow.around.parents.get(call)
    target = parent.targets[0] if isinstance(parent, ast.Assign) else None
    if not isinstance(target, ast.Tuple | ast.List) or place >= len(target.elts):
        return RETURNED
    assert isinstance(parent, ast.Assign)
    part = target.elts[place]
    return follow.of_names([part.id], parent) if isinstance(part, ast.Name) else RECORDED


def _together(place: Place, written: str | None) -> str | None:
    """`[t.item() for t in parts]`, whose numbers one copy brings; None for any other read."""
    node = place.expression
    if written is None or not isinstance(node, ast.Call) or last_part(chain(node.func)) == "tolist":
        return None
    mentioned = names_of(node)
    for parent in place.file.enclosing(place.function).ancestors(node):
        if not isinstance(parent, ast.ListComp | ast.GeneratorExp):
            continue
        made = parent.generators[0]
        walked = made.iter.func if isinstance(made.iter, ast.Call) else None
        if len(parent.generators) > 1 or not names_of(made.target) & mentioned:
            return None
        if made.ifs or (isinstance(walked, ast.Attribute) and walked.attr in _OF_SEVERAL):
            return None
        turns = f"for {ast.unparse(made.target)} in {place.file.brief(made.iter)}"
        return f"read all of them in one copy: `torch.stack([{written} {turns}]).tolist()`"
    return None
