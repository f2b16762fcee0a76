"""Where attention weights go: through dropout at most into one product with the values, and to who asks for them.

att = self.drop(att)
y = att @ v
if self.vis:
    self.kept = att            # on request only

Weights that are handed out or changed behind a flag that is off by default are needed only when somebody sets it.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.constants.off_flags import OffFlags
from torchperf_lint.facts.files.kept_unread import is_kept_unread
from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.models.attention_products import moved, weighs
from torchperf_lint.facts.models.attention_scores import RESHAPED, SAME
from torchperf_lint.facts.models.returned_weights import Dropped, position_returned
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_none, literal_of

_STEPS = 24
_LOOKED_AT = frozenset({"shape", "dtype", "device", "ndim"})
_ASKED = frozenset({"size", "dim", "numel"})


class _Held(NamedTuple):
    """An expression that holds weights; the dimension that was normalised, counted from the last."""

    node: ast.expr
    axis: int


class Uses:
    """Follows the weights of one softmax."""

    def __init__(self, site: Site, axis: int) -> None:
        self.site = site
        self.around = site.file.enclosing(site.function)
        self.axis = axis
        self.off = OffFlags(site.file, site.function)
        self.flags: list[str] = []
        """The flags on which the weights go elsewhere as well."""
        self.branches: dict[int, set[bool]] = {}
        self.handed = False
        """Whether they are handed to callers, who drop them."""
        self.zeroed = False
        """Whether some are set to zero: of a mask that the scores have had, the rows that may attend to nothing."""
        self.asked: list[str] = []
        """The flags on which callers read them."""
        self.kept: list[str] = []
        """Attributes that keep them, as written, which nothing in the project reads."""
        self.dropout = ""
        """What drops some of them on the way, as written."""
        self.products: set[ast.expr] = set()
        """Those with values; a way with dropout and one without may lead to the same."""

    def only_weigh(self) -> bool:
        """Whether one product with values is all that the weights are needed for."""
        stack = [_Held(self.site.call, self.axis)]
        for _ in range(_STEPS):
            if not stack:
                if self.handed and self.flags:
                    return False  # the callers that drop them may set the flags by which they are needed inside
                return len(self.products) == 1 and all(len(ways) == 1 for ways in self.branches.values())
            held = stack.pop()
            then = self._next(held)
            if then is None:
                if not self._on_request(held.node):
                    return False
                continue
            stack += then
        return False

    def _next(self, held: _Held) -> list[_Held] | None:
        """Where weights are found next; None where something but dropout and the values gets them."""
        node, axis = held
        parent = self.around.parents.get(node)
        if isinstance(parent, ast.List) and isinstance(self.around.parents.get(parent), ast.Call):
            parent = self.around.parents[parent]  # `einsum("...", [weights, values])`
        if isinstance(parent, ast.expr) and weighs(parent, node, axis):
            self.products.add(parent)
            return []
        if isinstance(parent, ast.Call) and node in parent.args:
            return self._given_to(parent, axis)
        if isinstance(parent, ast.Attribute):
            return self._asked(parent, held)
        if isinstance(parent, ast.Assign) and len(parent.targets) == 1 and isinstance(parent.targets[0], ast.Name):
            return [_Held(use, axis) for use in self._uses(parent.targets[0].id, parent.value)]
        return [] if isinstance(parent, ast.Assign) and self._is_kept_for_nobody(parent) else None

    def _is_kept_for_nobody(self, statement: ast.Assign) -> bool:
        """`self.weights = weights`, which nothing in the project reads."""
        if len(statement.targets) != 1:
            return False
        file, target = self.site.file, statement.targets[0]
        if not is_kept_unread(file.project, file.path, self.site.function, target):
            return False
        self.kept.append(ast.unparse(target))
        return True

    def _given_to(self, call: ast.Call, axis: int) -> list[_Held] | None:
        if "drop" in chain(call.func).lower():
            self.dropout = ast.unparse(call.func)
            return [_Held(call, axis)]
        name = last_part(chain(call.func))
        if name == "rearrange" or chain(call.func) == "torch.transpose":
            return _turned(call, axis)
        return [_Held(call, axis)] if name in RESHAPED and chain(call.func).startswith("torch.") else None

    def _asked(self, attribute: ast.Attribute, held: _Held) -> list[_Held] | None:
        """What follows from an attribute or a method of weights."""
        name = attribute.attr
        if name in _LOOKED_AT:
            return []
        call = self.around.parents.get(attribute)
        if name == "mT":
            return [_Held(attribute, -3 - held.axis)]
        if not isinstance(call, ast.Call) or call.func is not attribute:
            return None
        if weighs(call, held.node, held.axis):
            self.products.add(call)
            return []
        if name in _ASKED:
            return []
        if name in ("transpose", "permute", "swapaxes"):
            return _turned(call, held.axis)
        if name == "masked_fill" and len(call.args) == 2 and literal_of(call.args[1]) in (0, 0.0):
            self.zeroed = True
            return [_Held(call, held.axis)]
        return [_Held(call, held.axis)] if name in SAME | RESHAPED else None

    def _uses(self, name: str, value: ast.expr) -> list[ast.Name]:
        """Where a name is read that may hold a value then."""
        body = self.site.file.project.body(self.site.file.path)
        assert body is not None
        found: list[ast.Name] = []
        for use in self.around.of_kinds((ast.Name,)):
            assert isinstance(use, ast.Name)
            if use.id == name and isinstance(use.ctx, ast.Load):
                reaching = body.reaching(self.site.function, name, body.at(use)) or []
                if any(definition.value is value for definition in reaching):
                    found.append(use)
        return found

    # -- on request ----------------------------------------------------------------------------------

    def _on_request(self, node: ast.expr) -> bool:
        """Whether weights get to a place only where a flag asks for it, and notes the flag."""
        inner: ast.AST = node
        for parent in self.around.around(node):
            if isinstance(parent, ast.If | ast.IfExp) and inner is not parent.test:
                if any(part is self.site.call for part in ast.walk(parent)):
                    return self._dropped(node)
                body = parent.body if isinstance(parent.body, list) else [parent.body]
                taken = inner in body
                flag = self.off.asking(parent.test, taken)
                if flag is not None:
                    self.flags.append(flag)
                    self.branches.setdefault(id(parent), set()).add(taken)
                    return True
            inner = parent
        return self._dropped(node) or self._is_handed_to_nobody(node)

    def _is_handed_to_nobody(self, node: ast.expr) -> bool:
        """`return out, weights`, of which all callers take `out` alone."""
        file, function = self.site.file, self.site.function
        body = file.project.body(file.path)
        place = position_returned(body, function, node) if body is not None else None
        if place is None:
            return False
        dropped = Dropped(file.project)
        self.handed = dropped.by_all(FunctionKey(file.path, function), place)
        self.kept += dropped.kept
        self.asked += dropped.flags
        return self.handed

    def _dropped(self, node: ast.expr) -> bool:
        """Whether nothing is left of weights that nobody asked for: `if not output_attentions: weights = None`."""
        if not isinstance(node, ast.Name):
            return False
        body = self.site.file.project.body(self.site.file.path)
        assert body is not None
        for definition in body.reaching(self.site.function, node.id, body.at(node)) or []:
            if definition.value is None or not is_none(definition.value):
                continue
            statement = self.around.statement(definition.value)
            branch = self.around.parents.get(statement) if statement is not None else None
            if isinstance(branch, ast.If) and statement in branch.body:
                flag = self.off.asking(branch.test, taken=False)
                if flag is not None:
                    self.flags.append(flag)
                    return True
        return False


def _turned(call: ast.Call, axis: int) -> list[_Held] | None:
    place = moved(call, axis)
    return [_Held(call, place)] if place is not None else None
