"""Lists of what environments return, in reinforcement learning: arrays, which torch would read number by number.

states, actions = zip(*random.sample(self.buffer, n))        [t.state for t in batch]        torch.tensor([obs])
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.ndarrays import Arrays
from torchperf_lint.facts.values.value import Frame
from torchperf_lint.facts.values.values import Values
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_OBSERVATION = pattern(
    r"^(?:next_|new_|cur_|current_|last_|old_)?(?:state|obs|observation)s?_?(?:_?(?:list|lst|batch))?$"
)
_SHORT = pattern(r"^(?:s|ns|s2|s_|s_prime|s_next|next_s|ob|next_ob|obs2|o|o2)(?:_(?:list|lst|batch))?$")
"""What examples call a state."""
_GYMS = frozenset({"gym", "gymnasium", "dm_control", "pybullet_envs", "roboschool", "procgen"})
_REWARDS = pattern(r"^(?:self\.)?(?:next_|new_)?rewards?(?:_batch)?$")
_HOPS = 3


def holds_observations(values: Values, node: ast.expr, frame: Frame) -> Arrays | None:
    """Why an expression is a list of observations, by the names of what it is filled with; None where it may not be.

    Where the file has nothing to do with rewards, it is only a guess.
    """
    body = values.body(frame.path)
    element = _element(values, body, node, frame) if body is not None else None
    if body is None or element is None:
        return None
    makes, learns = _makes_environments(values, frame.path), _has_rewards(values, frame.path)
    name = last_part(chain(element))
    if not _OBSERVATION.search(name) and not (makes and _SHORT.search(name)):
        return None
    known = values.of(element, frame._replace(at=body.at(element))).kind
    if known not in (("unknown", "array", "plain", "sequence") if makes or learns else ("unknown", "array")):
        return None
    told = f"`{ast.unparse(element)}`, by its name"
    if makes or learns or known == "array":
        return Arrays(f"{told} an observation of an environment", element.lineno, True, Confidence.LIKELY)
    return Arrays(told, element.lineno, True, Confidence.POSSIBLE)


def _makes_environments(values: Values, path: str) -> bool:
    imports = values.index.outlines[path].imports.values()
    return any(module.partition(".")[0] in _GYMS for module in imports)


def _has_rewards(values: Values, path: str) -> bool:
    """Whether a function of the file is given rewards, or works them out."""
    outline = values.index.outlines[path]
    given = any(_REWARDS.search(p.name) for function in outline.functions for p in function.parameters)
    return given or any(_REWARDS.search(binding.target) for binding in outline.bindings)


def _element(values: Values, body: Body, node: ast.expr, frame: Frame) -> ast.expr | None:
    """What a list is filled with, as written, or what says so of the whole of it."""
    if isinstance(node, ast.ListComp):
        return node.elt
    if isinstance(node, ast.List):
        return node.elts[0] if len(node.elts) == 1 else None
    if isinstance(node, ast.Attribute):
        whole = _is_filled(values, body, node, frame) or _is_transposed(values, node.value, frame)
        return node if whole else None
    if not isinstance(node, ast.Name):
        return None
    reaching = body.reaching(frame.function, node.id, frame.at) or []
    if reaching and all(_gives_columns(values, definition, frame) for definition in reaching):
        return node
    only = reaching[0].value if len(reaching) == 1 else None
    if isinstance(only, ast.ListComp):  # `states = [t[0] for t in batch]`
        return only.elt if not isinstance(only.elt, ast.Subscript) else node
    stored = body.stored_items(frame.function, node.id)
    empty = bool(reaching) and all(d.value is not None and _starts_empty(d.value, d.index) for d in reaching)
    return stored[0] if empty and len(stored) == 1 else None


def _is_filled(values: Values, body: Body, node: ast.Attribute, frame: Frame) -> bool:
    """Whether methods of the object put observations into its list, one by one: `self.states.append(state)`."""
    own = values.index.class_of(frame.path, frame.function)
    if own is None or chain(node.value) != "self":
        return False
    methods = values.index.record(own).methods.values()
    stored = [item for method in methods for item in body.stored_items(method, chain(node))]
    return bool(stored) and all(_OBSERVATION.search(last_part(chain(item))) for item in stored)


def _starts_empty(node: ast.expr, index: tuple[int, ...]) -> bool:
    """`s_lst, a_lst = [], []`."""
    for position in index:
        if not isinstance(node, ast.List | ast.Tuple) or position >= len(node.elts):
            return False
        node = node.elts[position]
    empty = isinstance(node, ast.Call) and chain(node.func) == "list" and not node.args
    return empty or (isinstance(node, ast.List) and not node.elts)


def _is_transposed(values: Values, node: ast.expr, frame: Frame) -> bool:
    """A name for `Transition(*zip(*batch))`: each field holds what the samples had there."""
    body = values.body(frame.path) if isinstance(node, ast.Name) else None
    made = body.assigned_once(frame.function, chain(node), frame.at) if body is not None else None
    spread = made.args[0] if isinstance(made, ast.Call) and made.args else None
    return isinstance(spread, ast.Starred) and _zips(spread.value)


def _zips(node: ast.expr) -> bool:
    """`zip(*samples)`."""
    return isinstance(node, ast.Call) and chain(node.func) == "zip" and isinstance(node.args[0], ast.Starred)


def _gives_columns(values: Values, d: Definition, frame: Frame, hops: int = _HOPS) -> bool:
    """Whether a binding takes one of several columns: of `zip(*samples)`, or of what a buffer's method makes so."""
    if not isinstance(d.value, ast.Call) or len(d.index) != 1:
        return False
    if _zips(d.value):
        return True
    targets = values.types.targets(frame.path, frame.function, chain(d.value.func))
    key = targets[0] if len(targets) == 1 and hops else None
    body = values.body(key.path) if key is not None else None
    returned = body.returns(key.index) if body is not None and key is not None else []
    return bool(returned) and all(_is_column(values, r, d.index[0], key, body, hops) for r in returned)  # type: ignore[arg-type]


def _is_column(values: Values, node: ast.expr, index: int, key: FunctionKey, body: Body, hops: int) -> bool:
    if _zips(node):
        return True
    part = node.elts[index] if isinstance(node, ast.Tuple) and index < len(node.elts) else None
    if not isinstance(part, ast.Name):
        return False
    inside = Frame(key.path, key.index, body.at(part))
    reaching = body.reaching(key.index, part.id, inside.at)
    return bool(reaching) and all(_gives_columns(values, d, inside, hops - 1) for d in reaching or ())
