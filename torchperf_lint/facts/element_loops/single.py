"""Whether what is taken for a tensor is one, and not a list of them; and which numbers are a tensor's lengths."""

from __future__ import annotations

import ast
from functools import partial

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.bindings.documented_tensors import is_documented_tensor
from torchperf_lint.facts.devices.schedules import is_schedule
from torchperf_lint.facts.element_loops.joined_tensors import is_joined
from torchperf_lint.facts.element_loops.kept_lengths import is_kept_length
from torchperf_lint.facts.files.source import Place, SourceFile
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.detected_boxes import BOXES, detected_boxes
from torchperf_lint.patterns import pattern

_MARKS = (
    api.TENSOR_ONLY_METHODS
    | {"shape", "size", "ndim", "dim", "dtype", "numel", "device", "T"}
    | {"tolist", "item", "cpu", "long", "float", "sum", "mean", "max", "min", "reshape", "squeeze", "flatten", "argmax"}
)
"""What a tensor is asked for, and a list never."""
_ENTRY = pattern(r"(?:^|_)(?:mask|input_ids|token_type_ids|labels|logits|embeddings|scores|last_hidden_state)$")
"""Entries of what tokenizers and models give that are one tensor each."""
_OUTPUT_ASKED_FOR = "return_dict_in_generate"
_TENSOR_CLASSES = frozenset(
    {"Tensor", "FloatTensor", "LongTensor", "BoolTensor", "IntTensor", "ByteTensor", "Parameter", api.VARIABLE}
)


def is_one_tensor(file: SourceFile, place: Place, node: ast.expr, hops: int = 4) -> bool:
    """Whether the code shows what is taken for a tensor to be one, and not a list of them.

    A module may return a list, and a parameter may be one, whatever its elements are.
    """
    node = _uncopied(file, place, node)
    if isinstance(node, ast.Call):
        denoted = file.denotes(node.func, place) or ""
        if api.is_torchs_own(denoted):
            return "._foreach_" not in denoted
        if not isinstance(node.func, ast.Attribute) or node.func.attr in api.SEQUENCE_METHODS | api.PAIR_METHODS:
            return False
        if denoted and not is_tensor(file, place, node):
            return False
        asked = node.func.attr in api.TENSOR_ONLY_METHODS or is_tensor(file, place, node.func.value)
        return asked or _moves_a_clone(node.func) or _generates(file, place, node)
    if isinstance(node, ast.BinOp | ast.Compare | ast.UnaryOp):
        return True
    if isinstance(node, ast.Subscript):
        return _is_a_part(file, place, node) or is_one_tensor(file, place, node.value, hops)
    if isinstance(node, ast.Attribute) and node.attr in api.PAIR_NAMES and is_tensor(file, place, node):
        return True
    body = file.project.body(file.path)
    written = chain(node)
    named = isinstance(node, ast.Name | ast.Attribute) and "?" not in written
    if body is None or not named or is_joined(file, place, node, body):
        return False
    if _is_used_as_one(file, place, node, body):
        return True
    if not isinstance(node, ast.Name):
        return False
    reaching = body.reaching(place.function, node.id, file.span(node)[0])
    if reaching is None:
        parameters = file.outline.functions[place.function].parameters
        return is_documented_tensor(body, place.function, node.id) or any(
            p.name == node.id and last_part(p.annotation) in _TENSOR_CLASSES for p in parameters
        )
    return bool(reaching) and hops > 0 and all(_binds_one(file, place, definition, hops) for definition in reaching)


def _moves_a_clone(method: ast.Attribute) -> bool:
    """`self.nodes.clone().to(device)`: lists have a `copy`."""
    copied = method.value.func if method.attr == "to" and isinstance(method.value, ast.Call) else None
    return isinstance(copied, ast.Attribute) and copied.attr == "clone"


def _generates(file: SourceFile, place: Place, call: ast.Call) -> bool:
    """`model.generate(input_ids)` of transformers: rows of ids in one tensor, unless it is asked for an output."""
    if last_part(chain(call.func)) != "generate" or any(map(partial(_may_ask, file, place), call.keywords)):
        return False
    return is_tensor(file, place, call)


def _may_ask(file: SourceFile, place: Place, keyword: ast.keyword) -> bool:
    """Whether a keyword may ask for an output: `**options` may, and a dict of tensors, `**inputs`, does not."""
    if keyword.arg is not None:
        return keyword.arg == _OUTPUT_ASKED_FOR
    given = file.value(keyword.value, place)
    each = given.item if given.kind == "sequence" else given
    return each is None or each.kind not in ("tensor", "batch")


def _uncopied(file: SourceFile, place: Place, node: ast.expr) -> ast.expr:
    """`x` of `copy.deepcopy(x)`, `x[0]` of `x[0].data`."""
    if isinstance(node, ast.Attribute) and node.attr in api.VIEWED_AS and isinstance(node.value, ast.Subscript):
        return node.value
    if not isinstance(node, ast.Call) or not node.args or last_part(chain(node.func)) not in ("copy", "deepcopy"):
        return node
    return node.args[0] if (file.denotes(node.func, place) or "").startswith("copy.") else node


def _is_a_part(file: SourceFile, place: Place, node: ast.Subscript) -> bool:
    """Whether a subscript shows by itself that it takes a tensor: `x[:, 0]`, `batch["input_ids"]`, `x.max(1)[1]`."""
    key = node.slice.value if isinstance(node.slice, ast.Constant) else None
    if isinstance(key, str) and (_ENTRY.search(key) is not None or _is_asked_as_one(file, place, node)):
        return True
    return isinstance(node.slice, ast.Tuple) or _is_of_a_pair(file, place, node)


def _is_of_a_pair(file: SourceFile, place: Place, node: ast.Subscript) -> bool:
    """`logits.max(dim=1)[1]`: no list has such a method that gives two things."""
    call = node.value
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or not (call.args or call.keywords):
        return False
    numbered = isinstance(node.slice, ast.Constant) and node.slice.value in (0, 1)
    pairs = call.func.attr in api.PAIR_METHODS
    return numbered and pairs and file.value(call.func.value, place).kind == "tensor"


def _is_asked_as_one(file: SourceFile, place: Place, entry: ast.Subscript) -> bool:
    """Whether the function asks of an entry with a name what no list allows: `sample["target"].size(0)`."""
    body = file.project.body(file.path)
    return body is not None and any(attribute in _MARKS for attribute, _ in body.uses(place.function, chain(entry)))


def _is_used_as_one(file: SourceFile, place: Place, node: ast.expr, body: Body) -> bool:
    """Whether the function asks of a name or attribute, or does with it, what no list allows."""
    written = chain(node)
    asked = any(attribute in _MARKS for attribute, _ in body.uses(place.function, written))
    asked = asked or _are_boxes(file, place, node)
    if asked or body.array_like(place.function, written) is not None or is_schedule(file.value(node, place)):
        return True
    return _is_tested(file, place, written) or _computed_with(file, place, written)


def _is_tested(file: SourceFile, place: Place, written: str) -> bool:
    """Whether a test lets nothing but a tensor get to a place: `if isinstance(labels, Tensor):`."""
    body = file.project.body(file.path)
    held = body.narrowing(place.function, written, place.frame.at) if body is not None else None
    return held is not None and held.holds and held.classes.rpartition(".")[2] in _TENSOR_CLASSES


def _computed_with(file: SourceFile, place: Place, written: str) -> bool:
    """Whether the function computes with it and another tensor, `weights * overlap`: no list can be that."""
    for node in file.enclosing(place.function).of_kinds((ast.BinOp,)):
        assert isinstance(node, ast.BinOp)
        for side, other in ((node.left, node.right), (node.right, node.left)):
            if isinstance(side, ast.Name) and side.id == written and not isinstance(other, ast.Constant):
                return is_tensor(file, place, other)
    return False


def _binds_one(file: SourceFile, place: Place, definition: Definition, hops: int) -> bool:
    """Whether a name is bound to one tensor here; `values, indices = x.max(1)` gives one to each."""
    call = definition.value
    if definition.how == "item" and isinstance(call, ast.Call) and last_part(chain(call.func)) in api.PAIR_METHODS:
        return len(definition.index) == 1
    if definition.how == "loop" and not definition.index and definition.value is not None:
        # A row of a tensor is one too; `[x for x in x]` goes over what it binds.
        return is_one_tensor(file, place, definition.value, hops - 1)
    if definition.how == "augmented":
        return _begins_as_one(file, place, definition, hops - 1)
    value = _bound_value(definition)
    return value is not None and _makes_one(file, place, value, hops - 1)


def _begins_as_one(file: SourceFile, place: Place, augmented: Definition, hops: int) -> bool:
    """`reached |= tokens == end`, where `reached` was one tensor before: `+=` makes a list longer as well."""
    body, whole = file.project.body(file.path), augmented.value
    target = whole.left if isinstance(whole, ast.BinOp) else None
    if body is None or not isinstance(target, ast.Name):
        return False
    before = body.reaching(place.function, target.id, augmented.at) or []
    begun = [_bound_value(d) for d in before if d.how != "augmented"]
    return bool(begun) and all(value is not None and _makes_one(file, place, value, hops) for value in begun)


def _bound_value(definition: Definition) -> ast.expr | None:
    """What a name is bound to, also by `a, b = x, y`."""
    value = definition.value
    if definition.how == "assign":
        return value
    if definition.how == "item" and isinstance(value, ast.Tuple) and len(definition.index) == 1:
        return value.elts[definition.index[0]] if definition.index[0] < len(value.elts) else None
    return None


def _makes_one(file: SourceFile, place: Place, value: ast.expr, hops: int) -> bool:
    named = isinstance(value, ast.Name | ast.Attribute)
    return _are_boxes(file, place, value) if named else is_one_tensor(file, place, value, hops)


def _are_boxes(file: SourceFile, place: Place, node: ast.expr) -> bool:
    """The boxes of a detector's result, rows of one tensor."""
    if not isinstance(node, ast.Attribute) or node.attr != BOXES:
        return False
    return detected_boxes(file.project.values, node, place.frame).kind == "tensor"


def is_length(file: SourceFile, place: Place, node: ast.expr, hops: int = 3) -> bool:
    """Whether a number is the length of a tensor: `x.shape[0]`, `x.size(1)`, `len(x)`, a name for one of them; or is no
    larger than one, `min(x.shape[0], n)`."""
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
        return is_tensor(file, place, node.value.value)
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Call) and not node.value.args:
        sized = node.value.func  # `x.size()[0]`
        return isinstance(sized, ast.Attribute) and sized.attr == "size" and is_tensor(file, place, sized.value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "size":
        return bool(node.args) and is_tensor(file, place, node.func.value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("numel", "nelement"):
        return is_tensor(file, place, node.func.value)  # of what `x[i]` takes, which has one dimension
    if isinstance(node, ast.Call) and chain(node.func) == "len" and len(node.args) == 1:
        return is_tensor(file, place, node.args[0]) and is_one_tensor(file, place, node.args[0])
    body = file.project.body(file.path)
    if isinstance(node, ast.Call) and chain(node.func) == "min" and hops:
        return any(is_length(file, place, part, hops - 1) for part in node.args)
    if isinstance(node, ast.BinOp) and hops:
        # A batch of so many groups: `x.size(0) // n`.
        return any(is_length(file, place, side, hops - 1) for side in (node.left, node.right))
    if not isinstance(node, ast.Name) or body is None or not hops:
        return is_kept_length(file, place, node)
    found = body.reaching(place.function, node.id, file.span(node)[0]) or []
    return bool(found) and all(_binds_length(file, place, definition, hops - 1) for definition in found)


def _binds_length(file: SourceFile, place: Place, definition: Definition, hops: int) -> bool:
    """Whether a name is bound to a length here: `n = len(x)`, `b, n = x.shape[:2]`, `b, c, h, w = x.size()`."""
    value = definition.value
    if value is None:
        return False
    if definition.how == "item" and not isinstance(value, ast.Tuple):
        if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice):
            value = value.value
        sizes = value.func if isinstance(value, ast.Call) else value
        if not isinstance(sizes, ast.Attribute) or sizes.attr not in ("shape", "size"):
            return False
        return is_tensor(file, place, sizes.value)
    bound = _bound_value(definition)
    return bound is not None and is_length(file, place, bound, hops)


def is_tensor(file: SourceFile, place: Place, node: ast.expr) -> bool:
    """Whether an expression is a tensor, or a batch of a loader."""
    return file.value(node, place).kind in ("tensor", "batch")
