"""Loaders that put batches together from samples which one index could take at once."""

from __future__ import annotations

import ast
from typing import NamedTuple

from torchperf_lint.facts.call_graph.index import FunctionKey, Thing
from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.loaders.loader_arguments import given, whole_number
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.arguments import unpacks
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.datasets import data_of, held
from torchperf_lint.facts.values.value import Frame, Value
from torchperf_lint.facts.values.values import Values
from torchperf_lint.model import Confidence

SMALL = 2_000
"""Samples below which nobody waits for a pass."""
_TENSOR_DATASET = "torch.utils.data.TensorDataset()"
_CONVERSIONS = frozenset(
    "tensor as_tensor from_numpy FloatTensor LongTensor Tensor float long int to clone copy".split()
)
_READ_LATE = ("mmap", "h5py", "zarr", "lmdb", "open_array", "load_dataset", "HDF5", "open(")


class Batch(NamedTuple):
    """A batch that is put together from single samples."""

    size: str
    """As written."""
    of: str
    """What the samples are taken from, in words."""
    confidence: Confidence
    """`likely` where the size is known and the samples are rows of tensors or arrays; else `possible`."""

    @property
    def doubtful(self) -> Batch:
        """The same, `possible` only."""
        return self._replace(confidence=Confidence.POSSIBLE)


def collated_by_sample(site: Site) -> Batch | None:
    """How the loader made at a site puts its batches together, where whole ones could be indexed; else None."""
    call = site.call
    if unpacks(call):
        return None
    size = given(call, "batch_size")
    if size is None or given(call, "batch_sampler") is not None or given(call, "collate_fn") is not None:
        return None
    number = whole_number(site, size)
    data, values = data_of(call), site.file.project.values
    if data is None or (number is not None and number < 2) or held(values, call, site.frame) is None:
        return None
    rows = _rows(values, values.of(data, site.frame), data, site.frame)
    if rows is None:
        return None
    of, confidence = rows
    sampled = given(call, "sampler") is not None
    weak = number is None or sampled
    return Batch(site.file.brief(size), of, Confidence.POSSIBLE if weak else confidence)


# -- what the samples are ------------------------------------------------------------------------------


def _rows(values: Values, value: Value, data: ast.expr, frame: Frame) -> tuple[str, Confidence] | None:
    """What a sample is a row of, in words, and how sure it is that a list of indices takes several."""
    if value.kind == "tensor":
        return f"`{chain(data)}`, a tensor", Confidence.LIKELY
    if value.kind != "object" or value.thing is None:
        return None
    if value.thing.kind == "external":
        small = _is_small(values, data, frame)
        return ("a `TensorDataset`", Confidence.LIKELY) if value.thing.dotted == _TENSOR_DATASET and not small else None
    if value.thing.kind != "instance" or values.index.method(value.thing, "__getitems__") is not None:
        return None
    key = values.index.method(value.thing, "__getitem__")
    attributes = _taken_from(values, key) if key is not None else None
    if key is None or not attributes:
        return None
    kinds = {_kind(values, value.thing, name, key) for name in attributes}
    if not kinds <= {"tensor", "array", "unknown"}:
        return None
    name = values.index.record(value.thing).name
    sure = Confidence.POSSIBLE if "unknown" in kinds else Confidence.LIKELY
    return f"the tensors or arrays of `{name}`", sure


def _kind(values: Values, thing: Thing, name: str, key: FunctionKey) -> str:
    body = values.body(key.path)
    record = values.index.record(thing)
    for method in record.methods.values() if body is not None and thing.path == key.path else ():
        for attribute, value, _ in body.self_assignments(method) if body is not None else ():
            if attribute == name and any(sign in ast.unparse(value) for sign in _READ_LATE):
                return "file"
    own = values.index.function(key).parameters[0].name
    node = ast.parse(f"{own}.{name}", mode="eval").body
    body_start = values.index.function(key).line + 1
    found = values.of(node, Frame(key.path, key.index, (body_start, 1)))
    return found.kind if found.kind != "nothing" else "unknown"


def _taken_from(values: Values, key: FunctionKey) -> set[str] | None:
    """The attributes that `__getitem__` takes rows of, where all it returns are such rows; else None."""
    body = values.body(key.path)
    node = body.functions.get(key.index) if body is not None else None
    if not isinstance(node, ast.FunctionDef) or len(node.args.args) != 2 or body is None:
        return None
    own, index = (argument.arg for argument in node.args.args)
    known: dict[str, ast.expr] = {}
    found: set[str] = set()
    for statement in node.body:
        if (
            isinstance(statement, ast.Assign)
            and len(statement.targets) == 1
            and isinstance(statement.targets[0], ast.Name)
        ):
            known[statement.targets[0].id] = statement.value
        elif not isinstance(statement, ast.Return) and not _is_docstring(statement):
            return None
    for part in _returned_parts(body.returns(key.index)):
        attribute = _row(known.get(part.id, part) if isinstance(part, ast.Name) else part, own, index)
        if attribute is None:
            return None
        found.add(attribute)
    return found


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _returned_parts(nodes: list[ast.expr]) -> list[ast.expr]:
    found: list[ast.expr] = []
    for node in nodes:
        parts = (
            node.elts
            if isinstance(node, ast.Tuple | ast.List)
            else node.values
            if isinstance(node, ast.Dict)
            else [node]
        )
        found += parts
    return found


def _row(node: ast.expr, own: str, index: str) -> str | None:
    """The attribute `x` of `self.x[index]`, also where the row is converted."""
    for _ in range(4):
        if isinstance(node, ast.Subscript):
            written = chain(node.value)
            plain = isinstance(node.slice, ast.Name) and node.slice.id == index
            return (
                written.removeprefix(f"{own}.")
                if plain and written.count(".") == 1 and written.startswith(own)
                else None
            )
        if not isinstance(node, ast.Call) or last_part(chain(node.func)) not in _CONVERSIONS:
            return None
        node = node.args[0] if node.args and not _is_method(node) else getattr(node.func, "value", node)
    return None


def _is_method(node: ast.Call) -> bool:
    """`x.float()`, `x.to(dtype)`; not `torch.tensor(x)`."""
    return isinstance(node.func, ast.Attribute) and not isinstance(node.func.value, ast.Name)


def _is_small(values: Values, data: ast.expr, frame: Frame) -> bool:
    """Whether the tensors of a `TensorDataset` are made with a few rows in sight, as in examples."""
    made = _definition(values, data, frame)
    if not isinstance(made, ast.Call) or not made.args:
        return False
    first = _definition(values, made.args[0], frame)
    if (
        not isinstance(first, ast.Call)
        or last_part(chain(first.func)) not in api.FACTORIES | {"tensor"}
        or not first.args
    ):
        return False
    rows = (
        first.args[0].elts[0]
        if isinstance(first.args[0], ast.Tuple | ast.List) and first.args[0].elts
        else first.args[0]
    )
    return isinstance(rows, ast.Constant) and isinstance(rows.value, int) and rows.value < SMALL


def _definition(values: Values, node: ast.expr, frame: Frame) -> ast.expr:
    body = values.body(frame.path)
    if not isinstance(node, ast.Name) or body is None:
        return node
    reaching = body.reaching(frame.function, node.id, frame.at) or []
    value = reaching[0].value if len(reaching) == 1 else None
    if value is not None and reaching[0].how == "item":
        index = reaching[0].index[0]
        return value.elts[index] if isinstance(value, ast.Tuple) and index < len(value.elts) else node
    return value if value is not None else node
