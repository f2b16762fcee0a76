"""The fix of several reads in a row: one read before them.

    rows.append((loss.item(), norm.item()))    loss_value, norm_value = torch.stack([loss, norm]).tolist()
                                               rows.append((loss_value, norm_value))

The same number read twice is read once. No fix where it is not known that all are floating-point numbers without
dimensions, nor where what is read might change between the reads. Unsafe: tensors on several devices do not
stack, nor does a tensor with what `fully_shard` makes of its parameters' norm.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from torchperf_lint.errors import CannotFix
from torchperf_lint.facts.fixes import accumulating, importing
from torchperf_lint.facts.fixes.edits import Editor, fix_of
from torchperf_lint.facts.fixes.fractions import is_fraction
from torchperf_lint.facts.reads.clusters import Cluster
from torchperf_lint.facts.reads.reads import ITEM, NUMBER, Reading
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.syntax import names_of
from torchperf_lint.model import Edit, Fix, Safety

_WIDTH = 100
"""Columns that a statement takes at most before it goes on more lines."""
_PLAIN = (ast.Name, ast.Attribute, ast.Call, ast.expr_context)
_BINDING = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
_SAYS_NOTHING = frozenset({"self", "detach", "float", "clone", "item", "data", "F", "torch", "loss_fn"})


def read_together(cluster: Cluster) -> Fix | None:
    """The fix of a cluster of reads; None where it is not known to give the same numbers."""
    if any(accumulating.on_the_device(r.site, r.operand) is not None for r in cluster):
        return None  # what is only summed up need not be read at all
    return fix_of(cluster[0].site, Safety.UNSAFE, lambda edit: _edits(edit, cluster))


def _edits(edit: Editor, cluster: Cluster) -> list[Edit]:
    statements = _in_a_row(cluster)
    operands = list(dict.fromkeys(ast.unparse(r.operand) for r in cluster))
    _check_unchanged(statements, cluster)
    forms = {_form(reading) for reading in cluster}
    fractions = all(is_fraction(r.site, r.operand, r.site.start) for r in cluster)
    if not fractions and (len(operands) > 1 or forms != {"item"}):
        raise CannotFix("they may differ in shape or dtype")
    names = dict(zip(operands, _names(edit, cluster, operands), strict=True))
    replaced = [
        edit.replace(r.operand if _form(r) == "math" else r.site.call, names[ast.unparse(r.operand)]) for r in cluster
    ]
    if len(operands) == 1:
        return [edit.insert_before(statements[0], f"{names[operands[0]]} = {operands[0]}.item()"), *replaced]
    stack, imported = importing.require(edit, "torch.stack")
    start = edit.span(statements[0])[0]
    text = _laid_out(list(names.values()), stack, operands, _WIDTH - (start - edit.line_start(start)))
    return [edit.insert_before(statements[0], text), *replaced, *imported]


def _laid_out(names: Sequence[str], stack: str, operands: Sequence[str], width: int) -> str:
    """`a, b = torch.stack([x, y]).tolist()`, on as many lines as a width in columns asks for."""
    targets, stacked = ", ".join(names), ", ".join(operands)
    if len(whole := f"{targets} = {stack}([{stacked}]).tolist()") <= width:
        return whole
    if len(f"{targets} = {stack}(") > width:
        targets = "".join(["(\n", *(f"    {name},\n" for name in names), ")"])
    if len(f"    [{stacked}]") > width:
        stacked = "".join(["\n", *(f"        {operand},\n" for operand in operands), "    "])
    return f"{targets} = {stack}(\n    [{stacked}]\n).tolist()"


def _form(reading: Reading) -> str:
    if reading.form == ITEM:
        return "item"
    call = reading.site.call
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    if reading.form != NUMBER or name in ("int", "bool", "complex"):
        raise CannotFix("it is converted otherwise")
    if name == "float":
        return "float"
    others = [given for given in call.args if given is not reading.operand]
    if any(reading.site.file.value(given, reading.site).kind in ("tensor", "batch") for given in others):
        raise CannotFix("more than one tensor is read there")  # `math.pow(loss, norm)` would wait for the other
    return "math"


def _in_a_row(cluster: Cluster) -> list[ast.stmt]:
    """The statements that the reads are in, one after another. Raises CannotFix where others stand between."""
    enclosing = cluster[0].site.file.enclosing(cluster[0].site.function)
    held = [enclosing.statement(reading.site.call) for reading in cluster]
    suite = list(enclosing.suite(held[0]))  # type: ignore[arg-type]
    places = sorted({suite.index(statement) for statement in held if statement is not None})
    if places != list(range(places[0], places[-1] + 1)):
        raise CannotFix("other statements stand between them")
    return suite[places[0] : places[-1] + 1]


def _check_unchanged(statements: Sequence[ast.stmt], cluster: Cluster) -> None:
    """What is read must be the same before the first statement, and evaluated there without other effects."""
    for reading in cluster:
        if not all(isinstance(part, _PLAIN) for part in ast.walk(reading.operand)):
            raise CannotFix("what is read is computed on the way")
        if any(isinstance(p, ast.Call) and (p.args or p.keywords) for p in ast.walk(reading.operand)):
            raise CannotFix("what is read is computed on the way")
    nodes = [part for statement in statements for part in ast.walk(statement)]
    last = set(ast.walk(statements[-1]))
    read = {chain(part) for r in cluster for part in ast.walk(r.operand) if isinstance(part, ast.Name | ast.Attribute)}
    for node in nodes:
        if isinstance(node, _BINDING):
            raise CannotFix("something is bound on the way")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr.endswith("_"):
            raise CannotFix("something is changed on the way")
        if not isinstance(node, ast.Name | ast.Attribute) or isinstance(node.ctx, ast.Load) or node in last:
            continue
        if chain(node) in read:
            raise CannotFix("what is read later is set on the way")


def _names(edit: Editor, cluster: Cluster, operands: Sequence[str]) -> list[str]:
    """A name for each number that nothing in the file has."""
    body = edit.file.project.body(edit.file.path)
    found = []
    for operand in operands:
        words = [word for word in re.findall(r"[A-Za-z_]\w*", operand) if word not in _SAYS_NOTHING][-2:]
        found.append("_".join(words) if len(words) > 1 else f"{words[0] if words else 'number'}_value")
    taken = names_of(body.functions[0]) if body is not None else set(found)
    parameters = {p.name for p in edit.file.outline.functions[cluster[0].site.function].parameters}
    if len(set(found)) < len(found) or (taken | parameters) & set(found):
        raise CannotFix("their names are taken")
    return found
