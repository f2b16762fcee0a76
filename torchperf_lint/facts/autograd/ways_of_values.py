"""The ways of a value through the function that computes it: whether all of them end where no gradient passes.

    mean, _ = actor(state)                       outputs = []
    action = mean + noise                        for t in range(length):
    return action.detach().cpu().numpy()             outputs.append(target(batch, t))
                                                 best = torch.stack(outputs).max(-1)[0].detach()

A value goes through arithmetic, names, lists, operations of torch, other modules and functions of the project.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.autograd.networks import is_network
from torchperf_lint.facts.call_graph.index import FunctionKey, Thing
from torchperf_lint.facts.call_graph.passed import by_place
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import literal_of
from torchperf_lint.patterns import pattern

_ENDS = frozenset(("detach", "argmax", "argmin", "multinomial"))
"""Methods no gradient comes back through."""
_READS = frozenset(("item", "tolist"))
"""Reads: alone they show a loss that somebody forgot to differentiate as well as one that is only shown."""
_PASSES = frozenset(
    "cpu cuda to float half double contiguous clone view reshape squeeze unsqueeze flatten permute transpose t expand "
    "repeat mean sum max min clamp clip exp log sqrt abs pow mul div add sub relu sigmoid tanh softmax log_softmax "
    "gather sort topk chunk split cat stack minimum maximum where squeeze amax amin type type_as expand_as rsample "
    "log_prob entropy norm std var view_as reshape_as masked_fill index_select masked_select select narrow unbind "
    "median cumsum prod square log1p".split()
)
_COMPARES = frozenset(
    "eq ne gt ge lt le round floor ceil sign isnan isinf isfinite nonzero zeros_like ones_like empty_like full_like "
    "rand_like randn_like is_tensor numel".split()
)
"""Operations that no gradient passes either, and that are asked of values with a graph all the same."""
_SELECTS = frozenset(("max", "min", "topk", "sort", "median"))
"""Operations whose second result is a tensor of indices."""
_OF_TWO = frozenset(("max", "min"))
"""Of those, the ones that compare two tensors as well, by position."""
_AXES = frozenset(("dim", "k", "descending"))
_ASKS = frozenset("len print isinstance type str repr hasattr".split())
_NUMBERS = frozenset(("float", "int", "bool"))
_LOOKS = frozenset("shape dtype device ndim size dim numel indices".split())
_OF_A_DISTRIBUTION = frozenset("mean loc mode probs logits".split())
_DISTRIBUTIONS = "torch.distributions."
_DISTRIBUTION = pattern(r"^(?:m|pi|\w*dist|\w*distribution|\w*distrib)$")
_DETACHES = pattern(r"(?:(?:cpu|to|float)\([^()]*\)\.)*(?:detach\(\)|data\.)")
"""What may follow the one thing that a helper is given: `x.to("cpu").detach().numpy()`."""
_WANTS = pattern(r"backward|grad|autograd|self\.|global|nonlocal|append|register|yield|optim|step\(|\bsave")
"""What a function does that does more than to compute something of what it is given."""
_STEPS = 60


class Ways:
    """Follows a value through the function that computes it.

    `all_end`: whether no gradient can be asked for, once `ends` was called. `reads`: the lines that read the value.
    """

    def __init__(self, site: Site) -> None:
        self.site, self.file = site, site.file
        self.around = site.file.enclosing(site.function)
        self.lines: set[int] = set()
        self.reads: set[int] = set()
        self.all_end = False
        self._followed: set[int] = set()

    def ends(self) -> set[int]:
        """The lines where the value is detached; empty where it goes anywhere else."""
        stack: list[ast.expr] = [self.site.call]
        for _ in range(_STEPS):
            while stack and id(stack[-1]) in self._followed:
                stack.pop()
            if not stack:
                self.all_end = True
                return self.lines
            self._followed.add(id(stack[-1]))
            then = self._next(stack.pop())
            if then is None:
                return set()
            stack += then
        return set()

    def _next(self, node: ast.expr) -> list[ast.expr] | None:
        """What holds the value next; None where a gradient may be asked for."""
        parent = self.around.parents.get(node)
        if isinstance(parent, ast.keyword):
            parent = self.around.parents.get(parent)
        if isinstance(parent, ast.Attribute):
            return self._of_attribute(parent)
        if isinstance(parent, ast.BinOp | ast.UnaryOp) or (isinstance(parent, ast.IfExp) and node is not parent.test):
            return [parent]
        if isinstance(parent, ast.Subscript):
            return self._of_subscript(parent, node)
        if isinstance(parent, ast.Call):
            return self._of_call(parent)
        if isinstance(parent, ast.Compare):
            return []
        if isinstance(parent, ast.Assign) and len(parent.targets) == 1 and parent.value is node:
            return self._of_target(parent.targets[0], node)
        if isinstance(parent, ast.AugAssign) and isinstance(parent.target, ast.Name):
            return self._uses(parent.target.id, node)
        return None

    def _of_subscript(self, parent: ast.Subscript, node: ast.expr) -> list[ast.expr] | None:
        """A part of the value; what is written into it has no gradient from it, nor what it is an index of."""
        if parent.value is not node:
            return []
        if not isinstance(parent.ctx, ast.Load):
            return []
        if self._selects(node) and isinstance(parent.slice, ast.Constant) and parent.slice.value == 1:
            self.lines.add(parent.lineno)
            return []
        return [parent]

    def _selects(self, node: ast.expr) -> bool:
        """`q.max(1)`, `torch.topk(q, 3)`: what gives values and their places; `torch.max(q, bound)` gives neither."""
        if not isinstance(node, ast.Call) or last_part(chain(node.func)) not in _SELECTS:
            return False
        denoted = self.file.denotes(node.func, self.site) or ""
        given = node.args[denoted.startswith("torch.") and "()" not in denoted :]
        named = any(keyword.arg in _AXES for keyword in node.keywords)
        two = last_part(chain(node.func)) in _OF_TWO
        return named or (len(given) > 0 and (not two or isinstance(literal_of(given[0]), int)))

    def _of_attribute(self, node: ast.Attribute) -> list[ast.expr] | None:
        if node.attr == "data":
            self.lines.add(node.lineno)
            return []
        if node.attr in _LOOKS:
            return []
        call = self.around.parents.get(node)
        if not isinstance(call, ast.Call) or call.func is not node:
            return [node] if node.attr in _OF_A_DISTRIBUTION else None
        drawn = node.attr == "sample" and self._is_distribution(node.value)
        if node.attr in _ENDS or drawn:
            self.lines.add(call.lineno)
            return []
        if node.attr in _READS:
            self.reads.add(call.lineno)
            return []
        return [] if node.attr in _COMPARES else [call] if node.attr in _PASSES else None

    def _of_call(self, call: ast.Call) -> list[ast.expr] | None:
        """The value as an argument: of a function of torch, of another model, of a function of the project."""
        denoted = self.file.denotes(call.func, self.site) or ""
        name = last_part(denoted or chain(call.func))
        if denoted.startswith("torch.") and "()" not in denoted:
            return self._of_torch(call, denoted, name)
        if isinstance(call.func, ast.Name) and name in _ASKS | _NUMBERS:
            self.reads |= {call.lineno} if name in _NUMBERS else set()
            return []
        if self._is_detached_by(call):
            self.lines.add(call.lineno)
            return []
        if name == "append" and isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name):
            return self._of_list(call.func.value)
        if denoted.startswith("torch.") and name in _PASSES:
            return [call]  # a method of a tensor or a distribution
        named = chain(call.func).removeprefix("self.").isidentifier()
        passes = (named and is_network(self.file, self.site, call.func)) or self._is_computed_by(call)
        return [call] if passes else None

    def _of_torch(self, call: ast.Call, denoted: str, name: str) -> list[ast.expr] | None:
        if name in _ENDS:
            self.lines.add(call.lineno)
            return []
        if name in _COMPARES:
            return []
        goes_on = denoted.startswith((_DISTRIBUTIONS, "torch.nn.functional."))
        return [call] if goes_on or name in _PASSES else None

    def _of_list(self, name: ast.Name) -> list[ast.expr] | None:
        """The uses of a list that the function makes and the value is put into."""
        body, function = self.file.project.body(self.file.path), self.site.function
        made = body.reaching(function, name.id, body.at(name)) if body is not None else None
        if body is None or not made or not all(d.how == "assign" and _is_an_empty_list(d.value) for d in made):
            return None
        reads = (use for use in body.reads(function, name.id) if not self._is_put_into(use))
        return [u for u in reads if any(d in made for d in body.reaching(function, name.id, body.at(u)) or ())]

    def _is_put_into(self, use: ast.Name) -> bool:
        attribute = self.around.parents.get(use)
        return isinstance(attribute, ast.Attribute) and attribute.attr == "append"

    def _is_computed_by(self, call: ast.Call) -> bool:
        """Whether a function of the project, no method, does nothing but compute something of what it is given."""
        project, callee = self.file.project, chain(call.func)
        targets = project.types.targets(self.file.path, self.site.function, callee) if callee.isidentifier() else []
        return bool(targets) and all(self._only_computes(key) for key in targets)

    def _only_computes(self, key: FunctionKey) -> bool:
        body, function = self.file.project.body(key.path), self.file.project.index.function(key)
        if body is None or function.class_index >= 0 or function.parent > 0 or not body.returns(key.index):
            return False
        return not _WANTS.search("".join(body.lines[function.line - 1 : function.end_line]))

    def _is_distribution(self, node: ast.expr) -> bool:
        """What draws without a graph: `Categorical(probs).sample()`, `dist.sample()`."""
        if isinstance(node, ast.Call):
            return (self.file.denotes(node.func, self.site) or "").startswith(_DISTRIBUTIONS)
        if not isinstance(node, ast.Name):
            return False
        body = self.file.project.body(self.file.path)
        made = body.assigned_once(self.site.function, node.id, body.at(node)) if body is not None else None
        if isinstance(made, ast.Call) and self._is_distribution(made):
            return True
        return _DISTRIBUTION.search(node.id) is not None and not self.file.project.once(_draws_with_a_graph)

    def _is_detached_by(self, call: ast.Call) -> bool:
        """Whether a function of the project detaches the one thing it is given: `to_numpy(action)`."""
        project, callee = self.file.project, chain(call.func)
        targets = project.types.targets(self.file.path, self.site.function, callee) if len(call.args) == 1 else []
        return bool(targets) and all(self._detaches(key) for key in targets)

    def _detaches(self, key: FunctionKey) -> bool:
        body, function = self.file.project.body(key.path), self.file.project.index.function(key)
        given = by_place(function)
        if body is None or not given:
            return False
        returned = [ast.unparse(node) for node in body.returns(key.index)]
        return any(text.startswith(f"{given[0]}.") and _DETACHES.match(text.partition(".")[2]) for text in returned)

    def _of_target(self, target: ast.expr, value: ast.expr) -> list[ast.expr] | None:
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        if len(names) == 2 and self._selects(value):
            self.lines.add(value.lineno)
            names = names[:1]  # `_, label = torch.max(logits, 1)`: no gradient passes through places
        found: list[ast.expr] = []
        for name in names:
            if not isinstance(name, ast.Name):
                return None
            found += self._uses(name.id, value)
        return found

    def _uses(self, name: str, value: ast.expr) -> list[ast.expr]:
        """Where a name is read that may hold a value then."""
        body = self.file.project.body(self.file.path)
        assert body is not None
        found: list[ast.expr] = []
        for use in body.reads(self.site.function, name):
            reaching = body.reaching(self.site.function, name, body.at(use)) or []
            if any(_holds(definition.value, value) for definition in reaching):
                found.append(use)
        return found


def _holds(bound: ast.expr | None, value: ast.expr) -> bool:
    """Whether a name is bound to a value, or has it added: `total += value`."""
    return bound is value or (isinstance(bound, ast.BinOp) and bound.right is value)


def _is_an_empty_list(value: ast.expr | None) -> bool:
    made = isinstance(value, ast.Call) and chain(value.func) == "list" and not value.args
    return made or (isinstance(value, ast.List) and not value.elts)


def _draws_with_a_graph(project: Project) -> bool:
    """Whether a distribution of the project draws by a `sample` of its own: that may pass gradients, torch's do not.

    class TruncatedNormal(distributions.Normal):
        def sample(self, clip=None):
            return self._clamp(self.loc + noise)
    """
    index = project.index
    drawing = (
        Thing("class", path, number)
        for path, outline in index.outlines.items()
        for number, cls in enumerate(outline.classes)
        if "sample" in cls.methods
    )
    return any(base.startswith(_DISTRIBUTIONS) for thing in drawing for base in index.external_bases(thing))
