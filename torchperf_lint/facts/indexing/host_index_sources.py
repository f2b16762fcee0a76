"""Indices that were in host memory before a subscript used them: arrays, lists, ranges, tensors made there.

What a factory makes can be made on the device. Numbers that were born on the host have to cross the bus: once, which is
why they count only where several subscripts use them, each of which copies them again.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from torchperf_lint.facts.bindings.put_into import written_into
from torchperf_lint.facts.constants.held import CHANGES
from torchperf_lint.facts.copies.fresh import Fresh, is_random
from torchperf_lint.facts.copies.host_data import made_on_host
from torchperf_lint.facts.copies.left_behind import LeftBehind, left_behind, own_attribute
from torchperf_lint.facts.copies.packed_lengths import mask_of_lengths
from torchperf_lint.facts.files.spots import Spot
from torchperf_lint.facts.hotness.hot import place
from torchperf_lint.facts.indexing.configured_indices import is_configured_list
from torchperf_lint.facts.indexing.drawn_indices import drawn_index
from torchperf_lint.facts.indexing.held_index_arrays import holds_an_array
from torchperf_lint.facts.indexing.held_index_lists import holds_a_list
from torchperf_lint.facts.indexing.index_loaders import loaded_index
from torchperf_lint.facts.indexing.index_uses import (
    are_tuples_of_arrays,
    copied_once,
    name_below,
    turns_inside,
    used_again,
)
from torchperf_lint.facts.indexing.listed_indices import as_index, read_back, used_several_times
from torchperf_lint.facts.indexing.made_by_callers import made_by_callers
from torchperf_lint.facts.indexing.matched_by_callers import matched_by_callers
from torchperf_lint.facts.indexing.matched_indices import matched_elsewhere
from torchperf_lint.facts.indexing.repeated_lists import instead_of, repeated_list
from torchperf_lint.facts.indexing.shuffled_indices import shuffles
from torchperf_lint.facts.indexing.tables_of_indices import table_of_row
from torchperf_lint.facts.indexing.typed_as_host import typed_as_host
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import nodes_of
from torchperf_lint.facts.values.compared_texts import is_mask_of_texts
from torchperf_lint.facts.values.ndarrays import is_array
from torchperf_lint.facts.values.value import HOST, Value, tensor
from torchperf_lint.model import Confidence

_LINES = frozenset({"range", "arange", "randperm"})
"""What gives one number after the other."""
_KNOWN_NUMBERS = frozenset({"plain", "tensor"})


class Source(NamedTuple):
    """What an index in host memory is."""

    told: str
    """In words, as the beginning of a message."""
    instead: str
    """What to write instead; `{device}` stands for the device."""
    fresh: Fresh | None = None
    held: LeftBehind | None = None
    """The attribute of a module that stayed on the host."""
    evident: bool = True
    """Whether that is worth telling only where what is indexed evidently lies on the device."""


def source_of(spot: Spot, index: ast.expr, device: str) -> Source | None:
    """Why an index is in host memory, though nothing in the subscript makes it there; None where that is not known."""
    ranged = _range(spot, index)
    if ranged is not None:
        return Source(
            f"`{ast.unparse(ranged)}` becomes a tensor in host memory",
            "make it on the device: `torch.arange(..., device={device})`; of a whole axis take a slice",
            evident=False,
        )
    if isinstance(index, ast.ListComp):
        return _counted(index)
    if repeated_list(index) is not None:
        return Source("a list is host memory", instead_of(index), evident=False)
    if isinstance(index, ast.Attribute):
        return _attribute(spot, index) or _list(spot, index) or _held_array(spot, index) or _configured(spot, index)
    table = table_of_row(spot, index)
    if table is not None:
        return _kept_list(index, table)
    if own_attribute(index) is not None:
        return _attribute(spot, index)
    if isinstance(index, ast.Name) and (counts_turns(spot, index) or _holds_slices(spot, index)):
        return None
    loaded = loaded_index(spot, index)
    if loaded is not None:
        return Source(*loaded)
    read = read_back(spot, index)
    if read is not None:
        return Source(
            f"`{ast.unparse(index)}`, which was read from the device, becomes a tensor in host memory",
            f"index with the tensor itself, which is on the device: `{as_index(read)}`",
            evident=False,
        )
    lengths = mask_of_lengths(spot, index)
    if lengths is not None:
        return Source(
            f"`{ast.unparse(index)}` is computed in host memory, of lengths that were copied there",
            "pack all rows, with lengths of one at least (`.clamp(min=1)`), and choose among the results there: "
            f"by `torch.where`, with a mask of `{ast.unparse(lengths)}`, which is there",
            evident=False,
        )
    drawn = drawn_index(spot, index)
    if drawn is not None:
        return Source(
            f"`{chain(drawn[0].func)}(...)` draws in host memory",
            f"draw on the device: `{drawn[1]}` (its generator gives other random numbers)",
            evident=False,
        )
    listed = _used_several_times(spot, index) or _typed(spot, index) or _array(spot, index)
    return listed or _made(spot, index, device) or _matched(spot, index) or _listed_each_turn(spot, index)


def _typed(spot: Spot, index: ast.expr) -> Source | None:
    found = typed_as_host(spot, index)
    return Source(*found, evident=False) if found is not None else None


def _used_several_times(spot: Spot, index: ast.expr) -> Source | None:
    if not used_several_times(spot, index):
        return None
    written = ast.unparse(index)
    return Source(
        f"the list `{written}` becomes a tensor in host memory for each of its uses",
        f"make one tensor of it on the device for all its uses: `torch.tensor({written}, device={{device}})`",
        evident=False,
    )


def counts_turns(spot: Spot, name: ast.Name) -> bool:
    """`for i in range(n)`: most indices are such numbers, and asking what they are costs more.

    Of a tensor with one dimension, `for i in torch.arange(n)` or `for t in scheduler.timesteps`, the elements are
    numbers on the host as well, and torch takes them for ones.
    """
    body = spot.file.project.body(spot.file.path)
    reaching = body.reaching(spot.function, name.id, body.at(name)) if body is not None else None
    turns = (d.value for d in reaching or () if d.how == "loop" and not d.index)
    counted = [value for value in turns if value is not None and _gives_numbers(spot, value)]
    return bool(reaching) and len(counted) == len(reaching or ())


def _holds_slices(spot: Spot, name: ast.Name) -> bool:
    """`at = [slice(0, n) for n in sizes]`, `at = [slice(None)] * 3`: a list of slices gives a view."""
    calls = (part for value in _bound(spot, name) for part in nodes_of(value) if isinstance(part, ast.Call))
    return any(chain(call.func) == "slice" for call in calls)


def _gives_numbers(spot: Spot, iterated: ast.expr) -> bool:
    if isinstance(iterated, ast.Call) and last_part(chain(iterated.func)) == "delete" and iterated.args:
        iterated = iterated.args[0]  # `np.delete(range(n), i)`
    if isinstance(iterated, ast.Call) and last_part(chain(iterated.func)) in _LINES:
        return True
    return spot.file.value(iterated, spot).kind == "tensor"


def _range(spot: Spot, index: ast.expr) -> ast.Call | None:
    """`range(n)`, and a name for it."""
    used = index
    if isinstance(index, ast.Name):
        bound = _bound(spot, index)
        index = bound[0] if len(bound) == 1 and not _changes(spot, index.id) else index
    while isinstance(index, ast.Call) and chain(index.func) in ("list", "tuple") and len(index.args) == 1:
        index = index.args[0]
    ranged = index if isinstance(index, ast.Call) and chain(index.func) == "range" else None
    return None if ranged is not None and shuffles(spot, used) else ranged


def _counted(index: ast.ListComp) -> Source | None:
    """`x[:, [j for j in range(n) if j != i]]`: a list of numbers that are counted off."""
    turns = index.generators[0] if len(index.generators) == 1 else None
    counts = turns is not None and isinstance(turns.iter, ast.Call) and chain(turns.iter.func) == "range"
    if not counts or not all(isinstance(part, _OF_NUMBERS) for part in ast.walk(index.elt)):
        return None
    return Source(
        "a list is host memory",
        "take slices and join them (of all but one: `torch.cat([x[:, :i], x[:, i + 1 :]], dim=1)`; where they are only "
        "added up, the sum of all less that one), or keep the index on the device",
        evident=False,
    )


_OF_NUMBERS = ast.Name | ast.BinOp | ast.operator | ast.Constant | ast.expr_context


def _changes(spot: Spot, name: str) -> bool:
    """Whether a list is changed in place: `rows.remove(i)`."""
    body = spot.file.project.body(spot.file.path)
    return body is not None and any(use in CHANGES for use, _ in body.uses(spot.function, name))


def _bound(spot: Spot, name: ast.Name) -> list[ast.expr]:
    """All that a name may be bound to; nothing where one of them is no assignment."""
    body = spot.file.project.body(spot.file.path)
    return body.assigned(spot.function, name.id, body.at(name)) if body is not None else []


def _attribute(spot: Spot, index: ast.expr) -> Source | None:
    held = left_behind(spot.file.project.values, index, spot.frame)
    if held is None or not held.in_module or not held.is_there(spot.file.value(index, spot)):
        return None
    return Source(
        f"`self.{held.name}` stayed in host memory",
        f'hold it as a buffer, which follows the module: `self.register_buffer("{held.name}", ...)`',
        held=held,
        evident=False,
    )


def _is_on_host(value: Value) -> bool:
    return value.kind == "tensor" and value.device == HOST


def _list(spot: Spot, index: ast.Attribute) -> Source | None:
    """`x[:, self.kept]`, where the constructor was given the list, and nothing changes it."""
    return _kept_list(index) if holds_a_list(spot, index) else None


def _held_array(spot: Spot, index: ast.Attribute) -> Source | None:
    """`x[:, self.kept]`, an array of numpy's that the object holds since it was built."""
    values = spot.file.project.values
    if spot.file.value(index, spot).kind != "array" or not holds_an_array(values, index, spot.frame):
        return None
    return Source(
        f"the array `{ast.unparse(index)}` is host memory",
        f"keep a tensor of `{ast.unparse(index)}` on the device, made once (a buffer of a module)",
        evident=False,
    )


def _configured(spot: Spot, index: ast.Attribute) -> Source | None:
    """`x[:, self.config.target_indices]`."""
    return _kept_list(index) if is_configured_list(spot, index) else None


def _kept_list(index: ast.expr, of: ast.Attribute | None = None) -> Source:
    """`of`: the table that the list is a row of."""
    return Source(
        f"the list `{ast.unparse(index)}` becomes a tensor in host memory",
        f"keep a tensor of `{ast.unparse(of or index)}` on the device, made once (a buffer of a module)",
        evident=False,
    )


def _array(spot: Spot, index: ast.expr) -> Source | None:
    """A numpy array that picks from several tensors."""
    if not isinstance(index, ast.Name) or spot.file.value(index, spot).kind != "array":
        return None
    if is_array(spot.file.project.values, index, spot.frame) is None or not used_again(spot, index):
        return None
    bound = _bound(spot, index)
    if are_tuples_of_arrays(bound):
        return Source(
            f"`{index.id}`, a tuple of arrays, is host memory",
            copied_once(spot, index, "torch.from_numpy(rows)", each="rows"),
        )
    if bound and all(map(is_mask_of_texts, bound)):
        return Source(
            f"the mask `{index.id}`, an array, is host memory",
            f"take the places in its stead, copied once: `torch.from_numpy({index.id}.nonzero()[0]).to({{device}})`; a "
            "mask on the device would be counted there, for which the host waits",
        )
    return Source(
        f"the array `{index.id}` is host memory",
        copied_once(spot, index, f"torch.from_numpy({index.id})"),
    )


def _matched(spot: Spot, index: ast.expr) -> Source | None:
    """Tensors that a matcher, or another function of the project, made on the host."""
    origin = matched_elsewhere(spot, index) or matched_by_callers(spot, index)
    if origin is None:
        return None
    return Source(
        f"`{ast.unparse(index)}` lies in host memory, where another function made it",
        f"copy what `{origin}` holds to the device once, where it is made: each use of it here is a copy of its own",
        evident=False,
    )


def _listed_each_turn(spot: Spot, index: ast.expr) -> Source | None:
    """`scores[i, banned] = -inf` in a loop inside the step: what stands beside another index is no tuple of indices."""
    node = spot.expression
    if not isinstance(index, ast.Name) or not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Store):
        return None
    value = spot.file.value(index, spot)
    held = value.item.kind if value.item is not None else "unknown"
    if not isinstance(node.slice, ast.Tuple) or value.kind != "sequence" or held not in ("plain", "unknown"):
        return None
    if not turns_inside(spot, index, node.slice):
        return None
    return Source(
        f"in each turn of a loop the list `{index.id}` becomes a tensor in host memory",
        "gather the rows and columns of all turns in lists, and index once behind the loop; or fill one mask on the "
        "host, copy it, and use `masked_fill_`",
        evident=False,
    )


def _made(spot: Spot, index: ast.expr, device: str) -> Source | None:
    """A tensor that a call made on the host, some statements before."""
    values = spot.file.project.values
    value = spot.file.value(index, spot) if isinstance(index, ast.Name | ast.Call | ast.Subscript) else None
    if value is None or not _is_on_host(value) or value.confidence is Confidence.POSSIBLE:
        return None
    made, name = made_on_host(values, index, spot.frame), name_below(index)
    if made is None:
        return _by_caller(spot, index) or _computed(spot, name, value)
    if any(k.arg == "device" for k in made.call.keywords) or (isinstance(index, ast.Subscript) and _is_set(spot, name)):
        return None
    if made.factory in api.FACTORIES and made.function == spot.function and not _filled_by_host(spot, name):
        because = f"made on the host by `torch.{made.factory}` (line {made.call.lineno})"
        fresh = Fresh(
            made.factory,
            device,
            is_random(made.factory),
            tensor(HOST, because, Confidence.LIKELY),
            made.call,
            spot.file.path,
        )
        return Source(f"`torch.{made.factory}(...)` fills host memory", "", fresh, evident=False)
    if name is None or not used_again(spot, name):
        return None
    return Source(
        f"`{name.id}` is host memory (`torch.{made.factory}`, line {made.call.lineno})",
        copied_once(spot, name, name.id),
    )


def _by_caller(spot: Spot, index: ast.expr) -> Source | None:
    """An index that a caller makes on the host for a call of the function."""
    given = made_by_callers(spot, index)
    if given is None:
        return None
    where = place(given.path, given.line, spot.file.path)
    return Source(
        f"`{ast.unparse(index)}` is host memory (`torch.{given.factory}`, {where})",
        f"make it on the device of what it indexes, where the caller does ({where}): `torch.{given.factory}(..., "
        "device=...)`",
        evident=False,
    )


def _computed(spot: Spot, name: ast.Name | None, value: Value) -> Source | None:
    """A tensor that torch computed on the host from what was made there: `torch.stack(torch.meshgrid(...), -1)`."""
    if name is None or "made by `torch." not in value.because or not used_again(spot, name):
        return None
    return Source(
        f"`{name.id}` was computed in host memory",
        f"compute it on the device, or {copied_once(spot, name, name.id)}",
    )


def _is_set(spot: Spot, name: ast.Name | None) -> bool:
    """Whether elements are set one by one: `rows[: len(seen)]` takes as many as the host has found."""
    body = spot.file.project.body(spot.file.path)
    return name is not None and body is not None and any(True for _ in written_into(body, spot.function, name.id))


def _loops_around(spot: Spot, node: ast.expr) -> bool:
    """Whether a `for` loop or a comprehension of the function turns around a place."""
    return any(True for _ in spot.file.enclosing(spot.function).loops(node))


def _is_of_a_parameter(spot: Spot, node: ast.expr) -> bool:
    """Whether a name is an element of what the caller hands in: `for row in rows: mask[row] = False`."""
    body = spot.file.project.body(spot.file.path)
    if body is None or not isinstance(node, ast.Name):
        return False
    given = {parameter.name for parameter in spot.file.outline.functions[spot.function].parameters}
    bound = body.reaching(spot.function, node.id, body.at(node)) or ()
    return any(d.how == "loop" and isinstance(d.value, ast.Name) and d.value.id in given for d in bound)


def _filled_by_host(spot: Spot, name: ast.Name | None) -> bool:
    """Whether data of the host is written into a tensor, which the device would have to be given bit by bit."""
    body = spot.file.project.body(spot.file.path)
    if name is None or body is None:
        return False
    for target, value in written_into(body, spot.function, name.id):
        assert isinstance(target, ast.Subscript)
        parts = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
        numbers = not any(isinstance(part, ast.Name | ast.Call) for part in parts)
        if isinstance(value, ast.Constant) and numbers and not _loops_around(spot, target):
            continue  # `mask[0, label] = False`: a number or two, which may be written on the device as well
        operands = [value.left, value.right] if isinstance(value, ast.BinOp) else [value]
        asked = [part for part in parts if not isinstance(part, ast.Slice | ast.Constant)]
        if any(spot.file.value(part, spot.at(part)).kind not in _KNOWN_NUMBERS for part in asked):
            return True
        if any(_is_of_a_parameter(spot, part) for part in asked):
            return True
        # `i * high`: with a number of the loop, what nothing is known of is a number as well.
        if not any(spot.file.value(part, spot.at(part)).kind in _KNOWN_NUMBERS for part in operands):
            return True
    return False
