"""Results of inference: what a function that runs without gradients, or on text, copies to the host to hand it back."""

from __future__ import annotations

import ast

from torchperf_lint.facts.call_graph.index import Thing
from torchperf_lint.facts.copies.filled_results import goes_into_result
from torchperf_lint.facts.copies.raw_inputs import is_given_raw_data
from torchperf_lint.facts.files.source import Place
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.enclosing import Enclosing
from torchperf_lint.patterns import pattern

_KINDS = frozenset({"forward", "rollout"})
"""Code that a caller runs for each input; a training step hands nothing back that it could not keep on the device."""
_WRAPS = (ast.Attribute, ast.Subscript, ast.Tuple, ast.List, ast.Dict, ast.keyword, ast.Return, ast.Assign)
_JOINS_TABLES = "pandas.concat"
"""What puts tables together as they are; `torch.concat` computes on the host."""
_CONTAINERS = (ast.Tuple, ast.List, ast.Dict, ast.keyword)
_LOOPS = frozenset({"loop", "comprehension"})
_PASSES = frozenset({"forward", "training_step"})
"""Methods of a module that are given each batch."""
_REMOTE = "torch.distributed.rpc"
_REMOTE_CALLS = frozenset({"rpc_sync", "rpc_async", "remote"})
_ONE_NUMBER = pattern(r"loss|criterion|(?:^|_)(?:acc|accuracy|error|mean|sum|norm|score|item)(?:_|$)")
"""Names of what is one number of a batch, and of what makes one."""
_TRAINS = pattern(r"\.backward$|optim\w*\.step$")
_OF_A_LOSS = pattern(r"loss|criterion|entropy")


def is_handed_back(place: Place) -> bool:
    """Whether a value, once in each call and in one piece, is what an inference function returns.

    Functions that others of a forward pass call are left out: what they give may go back to the device.
    """
    hot = place.hot
    if hot is None or hot.kind not in _KINDS or (hot.kind == "forward" and hot.depth):
        return False
    answers = _without_gradients(place) or is_given_raw_data(place)
    return answers and not _in_a_loop(place) and is_returned(place)


def is_stored_by_meter(place: Place) -> bool:
    """Whether a meter's update stores a value on the host as it is: `self.outputs.append(output.cpu())`.

    What it is asked for in the end is computed from all batches, which need not fit on the device.
    """
    if place.hot is None or place.hot.kind != "update" or _in_a_loop(place):
        return False
    return _appended_to_own(place)


def is_stored_by_module(place: Place) -> bool:
    """Whether a module's own pass stores features on the host: `self.bank[layer].append(features.cpu())`.

    A memory bank is made of all batches, as a meter's outputs are, and need not fit on the device. A loss could be
    kept as a number on the device, and what a loss is computed of is an output that is trained, no bank.
    """
    record = place.file.outline.functions[place.function]
    if place.hot is None or record.class_index < 0 or record.name not in _PASSES:
        return False
    if not place.file.project.types.is_module_class(Thing("class", place.file.path, record.class_index)):
        return False
    return not _tells_a_loss(place.expression) and not _is_trained(place) and _appended_to_own(place)


def is_an_array_result(place: Place) -> bool:
    """Whether a value is what its function returns as an array, in one piece: `return out.detach().cpu().numpy()`.

    Who wrote such a function promises numpy to its callers, and nothing can be trained on what it gives. A helper that
    only the project's own hot code calls promises nobody anything, unless it runs without gradients, as inference does;
    and one number of a step that the function itself does could be handed back as a tensor: a loss, for the log.
    """
    if _in_a_loop(place) or not _is_given_as_an_array(place):
        return False
    record = place.file.outline.functions[place.function]
    private = record.name.startswith("_") and record.name != "__call__"
    helps = private or (record.class_index < 0 and not _without_gradients(place))
    if place.hot is None or (place.hot.depth and helps):
        return False
    trains = any(c.function == place.function and _TRAINS.search(c.callee) for c in place.file.outline.calls)
    return not (trains and (_tells_a_loss(place.expression) or _is_differentiated(place)))


def _is_given_as_an_array(place: Place) -> bool:
    """`return x.cpu().numpy()`, `return a, np.asarray(x.cpu())`; or `out = x.cpu().numpy()` and then `return out`."""
    around = place.file.enclosing(place.function)
    node, array = place.expression, False
    for parent in around.ancestors(node):
        if isinstance(parent, ast.Attribute):
            array = array or parent.attr == "numpy"
        elif isinstance(parent, ast.Call):
            array = array or last_part(chain(parent.func)) in ("array", "asarray")
            if array and _makes_a_record(parent):
                break
            if parent.func is not node and last_part(chain(parent.func)) not in ("array", "asarray"):
                return False
        elif not isinstance(parent, ast.IfExp) or parent.test is node:
            break
        node = parent
    statement = around.statement(node)
    if not array or isinstance(statement, ast.Return):
        return array and _is_plain_part(around, node, statement)
    if goes_into_result(around, node):
        return True
    if not isinstance(statement, ast.Assign) or statement.value is not node or len(statement.targets) != 1:
        return False
    uses = [use for use in _uses_after(place, around, statement) if isinstance(use.ctx, ast.Load)]
    uses = [use for use in uses if not isinstance(around.statement(use), ast.Assert)]
    return bool(uses) and all(
        _is_plain_part(around, use, around.statement(use))
        or goes_into_result(around, use)
        or _is_changed_in_place(around, use)
        for use in uses
    )


def _is_changed_in_place(around: Enclosing, use: ast.Name) -> bool:
    """`grads = self._undo_preprocessing(x, grads)`: a result that goes on under its own name."""
    statement = around.statement(use)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or chain(statement.targets[0]) != use.id:
        return False
    call = statement.value
    return isinstance(call, ast.Call) and chain(call.func).startswith("self._") and use in call.args


def _uses_after(place: Place, around: Enclosing, statement: ast.Assign) -> list[ast.Name]:
    """Where the name that a statement binds stands below it, but for what another statement has bound it to there."""
    name, body = chain(statement.targets[0]), place.file.project.body(place.file.path)
    uses = [n for n in around.parents if isinstance(n, ast.Name) and n.id == name and n.lineno > statement.lineno]
    if body is None:
        return uses
    reaching = {use: body.reaching(place.function, name, body.at(use)) or () for use in uses}
    return [use for use in uses if any(bound.value is statement.value for bound in reaching[use])]


def _is_plain_part(around: Enclosing, node: ast.AST, statement: ast.AST | None) -> bool:
    """Whether a `return` gives a value back as it is, in a tuple, list, dict or record perhaps."""
    for parent in around.ancestors(node):
        if parent is statement:
            return isinstance(parent, ast.Return)
        chosen = isinstance(parent, ast.IfExp) and parent.test is not node
        if not (chosen or isinstance(parent, _CONTAINERS) or _makes_a_record(parent)):
            return False
        node = parent
    return False


def _makes_a_record(node: ast.AST) -> bool:
    """`Scores(au=x.cpu().numpy())`: a class by its name, which is given fields by theirs; no function of a library."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.args:
        return False
    return node.func.id[:1].isupper()


def is_sent_away(place: Place) -> bool:
    """Whether a value goes to another process by a remote call, which takes host tensors unless devices are mapped.

    In a file that makes such calls: what a function returns, and what is written among a remote call's arguments.
    """
    if not any(dotted.startswith(_REMOTE) for dotted in place.file.outline.imports.values()):
        return False
    around = place.file.enclosing(place.function)
    calls = (parent for parent in around.ancestors(place.expression) if isinstance(parent, ast.Call))
    return is_returned(place) or any(last_part(chain(call.func)) in _REMOTE_CALLS for call in calls)


def _tells_a_loss(node: ast.AST) -> bool:
    """`loss.cpu()`, `self.criterion(x, y).detach().cpu()`, `error.mean().cpu()`: one number of each batch."""
    names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    names |= {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}
    return any(_ONE_NUMBER.search(name) for name in names)


def _is_trained(place: Place) -> bool:
    """Whether the function hands a name of the expression to a loss: `F.cross_entropy(logits, y)`."""
    names = {part.id for part in ast.walk(place.expression) if isinstance(part, ast.Name)}
    for call in place.file.enclosing(place.function).of_kinds((ast.Call,)):
        if isinstance(call, ast.Call) and _OF_A_LOSS.search(chain(call.func)):
            given = [*call.args, *(keyword.value for keyword in call.keywords)]
            if any(isinstance(node, ast.Name) and node.id in names for node in given):
                return True
    return False


def _is_differentiated(place: Place) -> bool:
    """Whether the function goes backward from a name of the expression: `scaler.scale(l).backward()`."""
    names = {part.id for part in ast.walk(place.expression) if isinstance(part, ast.Name)}
    calls = place.file.enclosing(place.function).of_kinds((ast.Call,))
    starts = (c.func for c in calls if isinstance(c, ast.Call) and isinstance(c.func, ast.Attribute))
    return any(
        isinstance(part, ast.Name) and part.id in names
        for start in starts
        if start.attr == "backward"
        for part in ast.walk(start.value)
    )


def _appended_to_own(place: Place) -> bool:
    """Whether a value goes as it is into a list of the object: `self.outputs.append(output.cpu())`."""
    around = place.file.enclosing(place.function)
    node: ast.AST = place.expression
    for parent in around.ancestors(place.expression):
        if isinstance(parent, ast.Call) and parent.func is not node:
            kept = isinstance(parent.func, ast.Attribute) and parent.func.attr in ("append", "extend")
            return kept and chain(parent.func).startswith("self.")
        if not isinstance(parent, ast.Call | ast.Attribute | ast.Tuple | ast.List):
            return False
        node = parent
    return False


def _in_a_loop(place: Place) -> bool:
    """Whether a loop of the function itself repeats the copy."""
    hotness, path = place.file.project.hotness, place.file.path
    index = hotness.innermost(path, place.frame.at)
    regions = hotness.index.outlines[path].regions
    while index >= 0 and regions[index].kind != "function":
        if regions[index].kind in _LOOPS:
            return True
        index = regions[index].parent
    return False


def _without_gradients(place: Place) -> bool:
    return place.file.project.grads.mode.is_off_at(place.file.path, place.frame.at)


def is_returned(place: Place) -> bool:
    """`return f(x).cpu().numpy()`, `return {"wav": x.cpu()}`, or `out = x.cpu()` and then `return out`.

    Tables count as what they are made of: `boxes = pd.DataFrame(x.cpu().numpy())`, then `return pd.concat([boxes, y])`.
    """
    around = place.file.enclosing(place.function)
    statement = around.statement(place.expression)
    if isinstance(statement, ast.Return):
        return _only_wrapped(place, place.expression)
    if not isinstance(statement, ast.Assign) or not _only_wrapped(place, place.expression):
        return False
    names = {target.id for target in statement.targets if isinstance(target, ast.Name)}
    listed = _listed(around, names)
    named = (node for returned in around.of_kinds((ast.Return,)) for node in ast.walk(returned))
    return any(
        isinstance(node, ast.Name) and node.id in names | listed and _only_wrapped(place, node) for node in named
    )


def _listed(around: Enclosing, names: set[str]) -> set[str]:
    """The names of lists, and of tables, that are made of what some names hold.

    `rows = [{"p": probs[i].item()} for i in range(n)]`, `table = pd.DataFrame(probs, columns=classes)`.
    """
    found = set()
    for assignment in around.of_kinds((ast.Assign,)):
        if isinstance(assignment, ast.Assign) and (isinstance(assignment.value, ast.ListComp) or _is_table(assignment)):
            used = {node.id for node in ast.walk(assignment.value) if isinstance(node, ast.Name)}
            found |= {t.id for t in assignment.targets if isinstance(t, ast.Name) and used & names}
    return found


def _is_table(assignment: ast.Assign) -> bool:
    return isinstance(assignment.value, ast.Call) and last_part(chain(assignment.value.func)) == "DataFrame"


def _only_wrapped(place: Place, node: ast.AST) -> bool:
    """Whether a value comes to its statement as it is: through its own methods, into containers and records."""
    for parent in place.file.enclosing(place.function).ancestors(node):
        if isinstance(parent, ast.Call):
            if parent.func is not node and not _keeps(place, parent):
                return False
        elif not isinstance(parent, _WRAPS) and not (isinstance(parent, ast.IfExp) and parent.test is not node):
            return False
        node = parent
    return True


def _keeps(place: Place, call: ast.Call) -> bool:
    """Whether a call puts what it is given together as it is: a class, by its name, `dict`, or `pd.concat`."""
    made = last_part(chain(call.func))
    if made == "concat":
        return place.file.denotes(call.func, place) == _JOINS_TABLES
    return made[:1].isupper() or made == "dict"
