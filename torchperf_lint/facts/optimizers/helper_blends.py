"""Loops over parameters that leave the moving average of each to a helper.

for name, p in model.named_parameters():          def update(self, name, value):
    ema.update(name, p.data)                          change = self.shadow[name] - value
                                                      self.shadow[name] -= (1 - self.decay) * change
for p, q in zip(current.parameters(), average.parameters()):
    q.data = ema.mixed(q.data, p.data)                def mixed(self, old, new):
                                                      return old * self.beta + (1 - self.beta) * new
for q, p in zip(average, current):                self.each(model, mix=lambda q, p: d * q + (1 - d) * p)
    q.copy_(mix(q, p))
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for, call_at
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.optimizers.foreach_forms import blends, gives_blend, mixes
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import names_of


def helper_blends(file: SourceFile, loop: ast.For, function: int) -> bool:
    """Whether all that the turns of a loop do is to hand the parameter to a function of the file that blends it."""
    statement = _only(loop.body)
    if statement is None or not isinstance(statement.value, ast.Call):
        return False
    call = statement.value
    targets = [node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)]
    given = names_of(*call.args, *(keyword.value for keyword in call.keywords))
    if isinstance(statement, ast.Assign):
        stored = statement.targets[0]
        if not isinstance(stored, ast.Attribute | ast.Subscript) or not names_of(stored) & set(targets):
            return False
        helpers = _helpers(file, call, function)
        return bool(helpers) and all(gives_blend(helper) for helper in helpers)
    if not given.issuperset(targets[-1:] or [""]):
        return False
    helpers = _helpers(file, call, function)
    return bool(helpers) and all(blends(_as_turn(helper)) for helper in helpers)


def given_blends(file: SourceFile, loop: ast.For, function: int) -> bool:
    """Whether the turns of a loop store what a function computes that a caller gives, a mixture of the two: `mix`."""
    last = loop.body[-1]
    stored = last.value if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) else None
    if stored is None or last_part(chain(stored.func)) != "copy_" or len(stored.args) != 1:
        return False
    mixed, record = stored.args[0], file.outline.functions[function]
    if not isinstance(mixed, ast.Call) or len(mixed.args) != 2:
        return False
    name = chain(mixed.func)
    if name not in [parameter.name for parameter in record.parameters]:
        return False
    for site in file.project.hotness.callers.get(FunctionKey(file.path, function), ()):
        node = call_at(file.project.values, site)
        given = argument_for(node, record, name) if node is not None else None
        if isinstance(given, ast.Lambda) and mixes(given):
            return True
    return False


def _only(body: list[ast.stmt]) -> ast.Expr | ast.Assign | None:
    """The one statement of a block, under tests or alone; what only gives parameters other names is none."""
    while body and _names_only(body[0]):
        body = body[1:]
    while len(body) == 1 and isinstance(body[0], ast.If) and not body[0].orelse:
        body = body[0].body
    return body[0] if len(body) == 1 and isinstance(body[0], ast.Expr | ast.Assign) else None


def _names_only(statement: ast.stmt) -> bool:
    """`old, new = averaged.data, current.data`."""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name | ast.Tuple):
        return False
    values = statement.value.elts if isinstance(statement.value, ast.Tuple) else [statement.value]
    return all(isinstance(value, ast.Name | ast.Attribute) for value in values)


def _helpers(file: SourceFile, call: ast.Call, function: int) -> list[ast.FunctionDef]:
    """What a call may run: what its name stands for; of an unknown object, the file's methods that take as much."""
    body = file.project.body(file.path)
    callee, name = chain(call.func), last_part(chain(call.func))
    if body is None:
        return []
    things = file.project.types.things(file.path, function, callee)
    targets = file.project.types.targets(file.path, function, callee)
    numbers = [key.index for key in targets if key.path == file.path]
    if not things and not targets and isinstance(call.func, ast.Attribute):
        functions = file.outline.functions
        given = len(call.args) + len(call.keywords)
        numbers = [
            number
            for number, record in enumerate(functions)
            if record.class_index >= 0 and record.name == name and len(record.parameters) - record.bound == given
        ]
    found = [body.functions[number] for number in numbers]
    return [node for node in found if isinstance(node, ast.FunctionDef)]


def _as_turn(helper: ast.FunctionDef) -> ast.For:
    """A helper as the turn of a loop over what it is given."""
    given: list[ast.expr] = [ast.Name(a.arg, ast.Load()) for a in helper.args.args if a.arg not in ("self", "cls")]
    return ast.For(target=ast.Tuple(given, ast.Store()), iter=ast.Constant(None), body=helper.body, orelse=[])
