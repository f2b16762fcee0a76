"""Branches that only complain: they say something, count how often, and may raise; no computation depends on them.

if not torch.isfinite(loss):
    self.bad += 1
    logger.warning("loss is %s", loss)
    if self.bad > self.patience:
        raise ValueError("no patience left")
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence

from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_false, is_text
from torchperf_lint.patterns import pattern

_SAYING = pattern(
    r"^(?:print|warn|warning|info|error|critical|debug|exception|log|write|append|warn_once|warning_once|"
    r"rank_zero_(?:warn|info|debug)|log_(?!softmax|prob|sigmoid|loss)\w+|add_(?:scalars?|histogram|text))$"
)

_WARNING = frozenset({"warn", "warning", "warn_once", "warning_once", "rank_zero_warn"})
_DEBUGGERS = frozenset({"breakpoint", "set_trace"})


def leaves(body: Sequence[ast.stmt]) -> bool:
    """Whether a branch ends in raise, exit or a debugger: a safety check, not the algorithm."""
    last = body[-1]
    if isinstance(last, ast.Raise) or (isinstance(last, ast.Assert) and is_false(last.test)):
        return True
    called = chain(last.value.func) if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) else ""
    return called.endswith("exit") or last_part(called) in _DEBUGGERS


def warns(body: Sequence[ast.stmt]) -> bool:
    """Whether a branch warns of what brings a run into it, whatever it does about that.

    `if strict: raise ValueError(text)` with `else: warnings.warn(text)` warns too.
    """
    return any(_warns(statement) or _raises_or_warns(statement) for statement in body)


def _warns(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return False
    return last_part(chain(statement.value.func)) in _WARNING


def _raises_or_warns(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.If) or not statement.orelse:
        return False
    either = (statement.body, statement.orelse)
    return any(leaves(body) for body in either) and any(_warns(part) for body in either for part in body)


def only_speaks(body: Sequence[ast.stmt]) -> bool:
    """Whether a block says something and, beside that, gets the logger, words the text, or counts how often."""
    said = [only_says(statement) for statement in body]
    return any(said) and all(s or _prepares(statement) for s, statement in zip(said, body, strict=True))


def only_reports(body: Sequence[ast.stmt], reads: Callable[[str], Iterable[ast.Name]]) -> bool:
    """Whether a block prints something, and may save it, with names that nothing else in its function reads.

    `print("NaN"); state = model.state_dict(); torch.save(state, "nan.pth")`

    :param reads: where the function reads a name
    """
    parts = [node for statement in body for node in ast.walk(statement)]
    told = [part for part in parts if isinstance(part, ast.stmt)]
    if not any(only_says(part) for part in told if isinstance(part, ast.Expr)):
        return False
    if not all(isinstance(part, _TELLING) and (not isinstance(part, ast.Expr) or _tells(part)) for part in told):
        return False
    names = {node.id for node in parts if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    calls = {last_part(chain(node.func)) for node in parts if isinstance(node, ast.Call)}
    assigned = [part for part in told if isinstance(part, ast.Assign)]
    fresh = {first_name(part.targets[0]) for part in assigned if _is_fresh(part)}
    changed = {first_name(t) for part in assigned for t in part.targets if isinstance(t, ast.Subscript | ast.Attribute)}
    if not changed <= fresh or any(not (_TELLS.search(name) or name in _HARMLESS) for name in calls):
        return False  # it changes what others see, or does what nobody here knows
    inside = {id(node) for node in parts}
    return all(id(node) in inside for name in names for node in reads(name))


def _is_fresh(assignment: ast.Assign) -> bool:
    """`state = {}`, `state = model.state_dict()`: what nobody else has."""
    value = assignment.value
    made = isinstance(value, ast.Call) and last_part(chain(value.func)) in ("state_dict", "dict", "list", "OrderedDict")
    return isinstance(assignment.targets[0], ast.Name) and (made or isinstance(value, ast.Dict | ast.List))


_HARMLESS = frozenset(
    "state_dict items keys values item detach cpu numpy tolist clone replace format join str int float dict list len "
    "OrderedDict strip split getattr isinstance sum max min mean any all isnan isinf isfinite Path named_parameters "
    "parameters norm abs enumerate zip range round".split()
)
_TELLING = (ast.Expr, ast.Assign, ast.For, ast.If, ast.Pass)
_TELLS = pattern(rf"{_SAYING.pattern}|^(?:save|dump|savetxt|savez|save_\w+|to_csv|imsave|imwrite)$")


def _tells(statement: ast.Expr) -> bool:
    called = last_part(chain(statement.value.func)) if isinstance(statement.value, ast.Call) else ""
    return _TELLS.search(called) is not None and called not in ("append", "write")


def first_name(node: ast.expr) -> str:
    """The variable that a target is a part of: `state` of `state["a"].b`; empty for any other."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def only_complains(body: Sequence[ast.stmt]) -> bool:
    """Whether a block only speaks, to a person: what it puts into a list may be used."""
    calls = (part for statement in body for part in ast.walk(statement) if isinstance(part, ast.Call))
    return only_speaks(body) and not any(last_part(chain(call.func)) in ("append", "write") for call in calls)


def complains_otherwise(body: Sequence[ast.stmt], rest: Sequence[ast.stmt]) -> bool:
    """`if torch.isfinite(x).all(): return`, and all that comes after it words a text and raises."""
    goes = len(body) == 1 and isinstance(body[0], ast.Return | ast.Continue)
    words = all(isinstance(statement, ast.Assign | ast.Expr) for statement in rest[:-1])
    return goes and bool(rest) and words and isinstance(rest[-1], ast.Raise)


def only_says(statement: ast.stmt) -> bool:
    """Whether a statement prints, logs or warns, or does so, or raises, in certain cases or for each of several."""
    if isinstance(statement, ast.If | ast.For):
        parts = [*statement.body, *statement.orelse]
        return all(only_says(part) or _prepares(part) or leaves([part]) for part in parts)
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return False
    return _SAYING.search(last_part(chain(statement.value.func))) is not None


def _prepares(statement: ast.stmt) -> bool:
    """`logger = get_logger()`, `message = f"..."`, `self.bad += 1`."""
    if isinstance(statement, ast.AugAssign):
        return isinstance(statement.op, ast.Add) and isinstance(statement.value, ast.Constant)
    if not isinstance(statement, ast.Assign):
        return False
    value = statement.value
    if isinstance(value, ast.Call):
        return "logger" in last_part(chain(value.func)).lower() or last_part(chain(value.func)) == "format"
    return isinstance(value, ast.JoinedStr) or (is_text(value))
