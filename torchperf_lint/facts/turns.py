"""What one turn of a loop over a tensor's elements does, and what speaks against doing all turns at once."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from functools import cached_property

from torchperf_lint.facts import torch_api as api
from torchperf_lint.facts.carried import carried
from torchperf_lint.facts.chains import chain, last_part
from torchperf_lint.facts.index import FunctionKey
from torchperf_lint.facts.lookups import counted, looked_up
from torchperf_lint.facts.one_number import INDEX_NAME
from torchperf_lint.facts.rows import fills_up_to, is_cut_evenly, picked_whole
from torchperf_lint.facts.searches import is_search, reads_one
from torchperf_lint.facts.source import Place, SourceFile

Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp
Loop = ast.For | Comprehension

_VIEWS = frozenset(
    "view reshape unsqueeze squeeze expand flatten size dim numel to cpu cuda detach clone contiguous float half "
    "long int type permute transpose t ndimension numpy append extend insert items keys values get pop add "
    "update format join split startswith requires_grad_ lower upper strip replace shape is_floating_point nelement "
    "backward".split()
)
"""Methods that start no kernel worth counting, or that are those of lists and texts."""
_REDUCES = re.compile(
    r"loss|criterion|dice|iou|(?:^|_)(?:mse|mae|l1|bce|ce|nll|kl\w*|psnr|ssim)(?:_|$)|distance|simil", re.IGNORECASE
)
"""Calls that are a few operations on an element by their names, whether functions or modules."""
_MEMORY = re.compile(r"memory|\bOOM\b|\bRAM\b", re.IGNORECASE)
_HOST_READS = frozenset({"item", "tolist"})
_MASK_NAME = re.compile(r"mask|valid|inside", re.IGNORECASE)
_RAGGED = frozenset(
    "nonzero masked_select unique unique_consecutive argwhere nms batched_nms linear_sum_assignment pad_sequence "
    "pack_padded_sequence multinomial bincount histc randperm split".split()
)
_ONE_NUMBER = frozenset("max min sum amax amin any all".split())
"""Reductions to one number that take a mask just as well."""
HANDFUL = re.compile(
    r"(?:^|_)(?:src|spk|speakers?|sources?|heads?|layers?|levels?|scales?|views?|axis|axes|n_?dims?|pos_dims|stages?)(?:_|$|\d)",
    re.IGNORECASE,
)
"""Names of what there are a few of, whatever the tensor's shape says."""
_CONTAINERS = re.compile(r"(?:typing\.)?(?:list|tuple|dict|sequence|iterable|mapping)\b", re.IGNORECASE)
_SIZED = frozenset(
    "expand repeat repeat_interleave zeros ones full empty arange linspace range narrow pad view reshape new_zeros "
    "new_ones new_full topk".split()
)
_FEW_LINES, _FEW_CALLS = 80, 16
"""Of a function that is a few operations; the lines count its documentation too."""
_AFTER_THE_MODEL = re.compile(
    r"(?:^|[._])(?:post_?process|nms|non_max|decode(?!r)|visual|draw|render|plot|to_pil|save|write|show|log|print|export|beam|"
    r"sampler?|detect\w*|boxes|proposals?|simota|hungarian|anchors?)(?:_|$)",
    re.IGNORECASE,
)


class Turn:
    """What one turn of a loop does."""

    def __init__(self, file: SourceFile, place: Place, loop: Loop, target: ast.expr) -> None:
        self.file = file
        self.place = place
        self.loop = loop
        self.target = target
        self.variables = {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Everything in the loop's body."""
        roots: Sequence[ast.AST] = self.loop.body if isinstance(self.loop, ast.For) else [self.loop.elt]
        return [node for root in roots for node in ast.walk(root)]

    @cached_property
    def indexed(self) -> list[ast.Subscript]:
        """What is read by the loop's variable."""
        return [
            node
            for node in self.nodes
            if isinstance(node, ast.Subscript) and self._is_read(node) and self.is_index(node.slice)
        ]

    def _is_read(self, node: ast.Subscript) -> bool:
        """`x[i]`, and `x[:, i] += 1`."""
        return isinstance(node.ctx, ast.Load) or any(node is target for target in self._augmented)

    @cached_property
    def _augmented(self) -> list[ast.expr]:
        return [node.target for node in self.nodes if isinstance(node, ast.AugAssign)]

    def is_index(self, index: ast.expr) -> bool:
        """Whether the loop's variable is an index, or one of several."""
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        return any(isinstance(part, ast.Name) and part.id in self.variables for part in parts)

    @cached_property
    def calls(self) -> list[ast.Call]:
        """The calls in the loop's body."""
        return [node for node in self.nodes if isinstance(node, ast.Call)]

    def is_tensor(self, node: ast.expr) -> bool:
        """Whether an expression in the loop's body is a tensor."""
        return self.file.value(node, self.place).kind == "tensor"

    def reads(self) -> bool:
        """Whether a turn waits for numbers."""
        asks = any(last_part(chain(c.func)) in _HOST_READS and isinstance(c.func, ast.Attribute) for c in self.calls)
        return (
            asks or self._looks_up() or any(self._decides(n) for n in self.nodes) or any(map(self._seeks, self.calls))
        )

    def _decides(self, node: ast.AST) -> bool:
        """Whether the host asks an element which way to go: `if scores[i] > 0.5:`."""
        test = node.test if isinstance(node, ast.If | ast.IfExp | ast.While | ast.Assert) else None
        parts = test.values if isinstance(test, ast.BoolOp) else [] if test is None else [test]
        return any(self._mentions(part) and self.is_tensor(_asked(part)) for part in parts)

    def _looks_up(self) -> bool:
        """Whether the element itself is an index, which has to be a number on the host: `table[i] for i in order`."""
        indices = [n.slice for n in self.nodes if isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Name)]
        indices = [index for index in indices if index.id in self.variables]
        return any(self.is_tensor(index) for index in indices)

    def _seeks(self, node: ast.Call) -> bool:
        """Whether a call looks the element up: `self.index_of(t, schedule)`."""
        targets = self.file.project.types.targets(self.file.path, self.place.function, chain(node.func))
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        return bool(targets) and any(map(self._mentions, given)) and all(is_search(self.file, k) for k in targets)

    def works(self) -> bool:
        """Whether a turn starts kernels: arithmetic, torch's functions, tensors' methods, `x[i, order[i]]`."""
        return self.reads() or any(self._is_work(node) for node in self.nodes) or any(map(self._gathers, self.indexed))

    def _is_scattered(self, node: ast.Subscript) -> bool:
        """Whether an element of one tensor says which of another is set: `taken[order[i]] = i`."""
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return any(self._is_order(part) and self.is_tensor(part) for part in parts) and self.is_tensor(node.value)

    def _gathers(self, node: ast.Subscript) -> bool:
        """Whether an element of one tensor says which of another is taken: `x[i, order[i]]`."""
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
        return any(self._is_order(part) and self.is_tensor(part) for part in parts) and self.is_tensor(node.value)

    def _is_order(self, node: ast.expr) -> bool:
        """`order[i]`: an index by its name, no mask."""
        by_turn = False
        while isinstance(node, ast.Subscript):  # `order[i]`, `order[i][j]`
            by_turn = by_turn or self.is_index(node.slice)
            node = node.value
        return by_turn and INDEX_NAME.search(last_part(chain(node))) is not None

    def _is_work(self, node: ast.AST) -> bool:
        if isinstance(node, ast.BinOp):
            return self.is_tensor(node.left) or self.is_tensor(node.right)
        if isinstance(node, ast.AugAssign):
            whole = node.target.value if isinstance(node.target, ast.Subscript) else None
            return self.is_tensor(node.value) or (whole is not None and self.is_tensor(whole))
        if isinstance(node, ast.Subscript):
            return fills_up_to(self, node) or (isinstance(node.ctx, ast.Store) and self._is_scattered(node))
        if not isinstance(node, ast.Call):
            return False
        denoted = self.file.denotes(node.func, self.place) or ""
        if denoted.startswith("torch.") and "()" not in denoted:
            return denoted.startswith(api.TENSOR_NAMESPACES) or (
                denoted.count(".") == 1 and last_part(denoted) not in api.PLAIN_TORCH
            )
        if isinstance(node.func, ast.Attribute) and self.is_tensor(node.func.value):
            return node.func.attr not in _VIEWS
        if _REDUCES.search(last_part(chain(node.func))):
            return True
        targets = self.file.project.types.targets(self.file.path, self.place.function, chain(node.func))
        return bool(targets) or self.file.value(node.func, self.place).kind == "module"

    # -- what speaks against a batched form ------------------------------------------------------------

    def doubt(self) -> str | None:
        """Why a batched form may not exist or not fit; None where nothing shows it."""
        name = self.file.outline.functions[self.place.function].qualname
        if _AFTER_THE_MODEL.search(name):
            return "what comes after the model, image by image"
        few = next((n for n in sorted(self.variables | self._bounds()) if HANDFUL.search(n)), None)
        if few is not None:
            return f"`{few}` tells of a handful of turns"
        if self._spares_memory():
            return "turns that spare memory"
        return self._ragged() or self._recursion() or next((d for d in map(self._call, self.calls) if d), None)

    def _bounds(self) -> set[str]:
        """The names in what the loop goes over."""
        over = self.loop.iter if isinstance(self.loop, ast.For) else self.loop.generators[0].iter
        return {node.id for node in ast.walk(over) if isinstance(node, ast.Name)}

    def _spares_memory(self) -> bool:
        """A comment that says so, or an element set against another axis: `x[i, :, None] - edges`."""
        first = self.loop.lineno
        if any("#" in line and _MEMORY.search(line) for line in self.file.lines[max(first - 3, 0) : first + 1]):
            return True
        parts = [p for s in self.indexed for p in (s.slice.elts if isinstance(s.slice, ast.Tuple) else [])]
        return any(isinstance(part, ast.Constant) and part.value is None for part in parts)

    def _recursion(self) -> str | None:
        """A name that a turn reads before it sets it: the next turn needs this one's."""
        if not isinstance(self.loop, ast.For):
            return None
        if any(isinstance(node, ast.Break | ast.Continue | ast.Return) for node in self.nodes):
            return "turns that may be left early"
        handed_on = set(carried(self.loop.body))
        if handed_on:
            return f"`{sorted(handed_on)[0]}` goes from turn to turn"
        for node in self.nodes:
            if not isinstance(node, ast.Subscript) or self._is_flat(node.slice) or fills_up_to(self, node):
                continue
            if self._is_offset(node.slice):
                return "turns that look at their neighbours"
        return None

    def _is_offset(self, index: ast.expr) -> bool:
        """`x[i - 1]`, `x[:i]`; `x[i : i + 1]` is the element itself."""
        for part in index.elts if isinstance(index, ast.Tuple) else [index]:
            if isinstance(part, ast.Slice):
                lower = part.lower
                if not (isinstance(lower, ast.Name) and lower.id in self.variables) and self._mentions(part):
                    return True
            elif isinstance(part, ast.BinOp) and self._mentions(part):
                return True
        return False

    def _is_flat(self, index: ast.expr) -> bool:
        """`x[i * n + j]`, and `x[i * n + j, i * n : (i + 1) * n]`: element (i, j) of a matrix laid out in a row.

        Slices alone, `x[i * n : (i + 1) * n]`, are chunks, which spare memory as often as not.
        """
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        single = [part for part in parts if not isinstance(part, ast.Slice) and self._mentions(part)]
        offsets = [part for part in single if isinstance(part, ast.BinOp)]
        return bool(offsets) and all(isinstance(p.op, ast.Add) and _is_product(p.left) for p in offsets)

    def _mentions(self, node: ast.AST) -> bool:
        return any(isinstance(n, ast.Name) and n.id in self.variables for n in ast.walk(node))

    def _ragged(self) -> str | None:
        """Elements of different lengths: lists beside the tensor, slices that end elsewhere each turn, masks."""
        for node in self.nodes:
            if isinstance(node, ast.Call) and last_part(chain(node.func)) in _RAGGED and not self._finds_one(node):
                return f"`{last_part(chain(node.func))}` gives a different number each turn"
            if isinstance(node, ast.Call) and last_part(chain(node.func)) in _SIZED and self._sizes_itself(node):
                return "sizes that differ from turn to turn"
            if isinstance(node, ast.Call) and last_part(chain(node.func)) == "where" and len(node.args) == 1:
                return "`where` gives a different number each turn"
            # A mask that is written through (`b[bad] = 0`) is a masked fill, which needs no lengths.
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and self._varies(node.slice):
                if self._is_reduced(node) or picked_whole(self, node) or counted(self, node):
                    continue
                return "slices of different lengths"
        for subscript in self.indexed:
            kind = self.file.value(subscript.value, self.place).kind
            known = kind in ("tensor", "batch") or (kind == "unknown" and self._may_be_a_tensor(subscript))
            if not known and not is_cut_evenly(self, subscript.value) and not looked_up(self, subscript):
                return f"`{self.file.brief(subscript)}` comes from a list"
        return None

    def _finds_one(self, node: ast.Call) -> bool:
        """`(schedule == t).nonzero().item()`: one place, and not as many as there happen to be."""
        return reads_one(node, self.file.enclosing(self.place.function).parents)

    def _is_reduced(self, node: ast.Subscript) -> bool:
        """Whether what a mask selects becomes one number at once, as `x.masked_fill(~mask, -inf).amax(1)` does."""
        if not self._is_mask(node.slice):
            return False
        parents = self.file.enclosing(self.place.function).parents
        method = parents.get(node)
        call = parents.get(method) if isinstance(method, ast.Attribute) else None
        if isinstance(method, ast.Call) and node in method.args:
            call, name = method, last_part(self.file.denotes(method.func, self.place) or "")
        else:
            name = method.attr if isinstance(method, ast.Attribute) else ""
        return isinstance(call, ast.Call) and name in _ONE_NUMBER and not call.keywords

    def _sizes_itself(self, node: ast.Call) -> bool:
        """`frame.expand(durations[i], -1)`: an element says how large the result is."""
        # What is given first, `torch.topk(x[i], k)`, is the element itself, but for factories.
        named = (
            isinstance(node.func, ast.Attribute) and node.func.attr == "topk" and not self.is_tensor(node.func.value)
        )
        sizes = [*node.args[int(named) :], *(keyword.value for keyword in node.keywords)]
        parts = [part for argument in sizes for part in ast.walk(argument)]
        return any(isinstance(part, ast.Subscript) and self.is_index(part.slice) for part in parts)

    def _may_be_a_tensor(self, subscript: ast.Subscript) -> bool:
        """A name of which nothing says that it is a list: no annotation, no `targets[i]["boxes"]`."""
        if not isinstance(subscript.value, ast.Name):
            return False
        parent = self.file.enclosing(self.place.function).parents.get(subscript)
        if isinstance(parent, ast.Subscript) and isinstance(parent.slice, ast.Constant):
            return False
        name, parameters = subscript.value.id, self.file.outline.functions[self.place.function].parameters
        return not any(p.name == name and _CONTAINERS.match(p.annotation) for p in parameters)

    def _varies(self, index: ast.expr) -> bool:
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        for part in parts:
            if isinstance(part, ast.Slice):
                if part.lower is not None and part.upper is not None and self._is_window(part.lower, part.upper):
                    continue
                ends = [end for end in (part.lower, part.upper) if end is not None]
                if any(not isinstance(n, ast.Constant | ast.UnaryOp) and not self._fixed(n) for n in ends):
                    return True
            elif self._is_mask(part) and not self._same_each_turn(part):
                return True
        return False

    def _is_window(self, lower: ast.expr, upper: ast.expr) -> bool:
        """`x[start : start + n]`, with an `n` that is the same each turn: pieces of one length, wherever they begin."""
        if isinstance(upper, ast.Name) and upper.id in self._set_here:
            ends = [n.value for n in self._assigned if n.targets and chain(n.targets[0]) == upper.id]
            upper = ends[0] if len(ends) == 1 else upper
        if not isinstance(upper, ast.BinOp) or not isinstance(upper.op, ast.Add):
            return False
        sides = {ast.unparse(upper.left): upper.right, ast.unparse(upper.right): upper.left}
        length = sides.get(ast.unparse(lower))
        return length is not None and self._fixed(length) and not self._mentions(length)

    @cached_property
    def _assigned(self) -> list[ast.Assign]:
        return [node for node in self.nodes if isinstance(node, ast.Assign)]

    def _fixed(self, node: ast.expr) -> bool:
        """A bound that is the same, or as far on, each turn."""
        taken = any(isinstance(n, ast.Subscript | ast.Call) for n in ast.walk(node))
        return not taken and not (_all_names(node) & self._set_here)

    def _same_each_turn(self, node: ast.expr) -> bool:
        """A mask from before the loop: it selects as many of every element."""
        return isinstance(node, ast.Name) and node.id not in self._set_here | self.variables

    @cached_property
    def _set_here(self) -> set[str]:
        return {n.id for n in self.nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}

    def _is_mask(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Compare):
            return True
        if isinstance(node, ast.UnaryOp):
            return isinstance(node.op, ast.Invert)
        if not isinstance(node, ast.Name | ast.Subscript | ast.Attribute) or self._is_order(node):
            return False
        # An element of the tensor that the loop goes over may be a row of a mask, which its name says.
        taken = isinstance(node, ast.Name) and node.id in self.variables and not _MASK_NAME.search(node.id)
        return not taken and self.is_tensor(node)

    def _call(self, node: ast.Call) -> str | None:
        """A network, a function of the project's own that is more than arithmetic, somebody else's."""
        callee = chain(node.func)
        targets = self.file.project.types.targets(self.file.path, self.place.function, callee)
        named_so = bool(_REDUCES.search(last_part(callee)))
        if self.file.value(node.func, self.place).kind == "module":
            return None if named_so else f"each turn runs the module `{callee}`"
        denoted = self.file.denotes(node.func, self.place) or ""
        if denoted == "functools.partial()":
            denoted = ""  # says nothing of what it calls
        if denoted and not denoted.startswith(("torch.", "builtins.", "math.")):
            return f"each turn calls `{callee}`"
        if denoted:
            return None
        if targets and not all(self._is_forward(key) for key in targets):
            light = all(_is_light(self.file, key) or is_search(self.file, key) for key in targets)
            return None if light else f"each turn calls `{callee}`"
        if isinstance(node.func, ast.Attribute) and self._is_own_method(node.func):
            return None
        return None if named_so else f"each turn calls `{callee}`, of which nothing is known"

    def _is_forward(self, key: FunctionKey) -> bool:
        return self.file.project.index.function(key).name == "forward"

    def _is_own_method(self, func: ast.Attribute) -> bool:
        """A method of a tensor, a list, a text."""
        if isinstance(func.value, ast.Name) and func.value.id == "self":
            return False
        return func.attr in _VIEWS or self.file.value(func.value, self.place).kind in (
            "tensor",
            "plain",
            "sequence",
            "batch",
        )


def _asked(test: ast.expr) -> ast.expr:
    return test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else test


def _is_product(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)


def _all_names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _is_light(file: SourceFile, key: FunctionKey) -> bool:
    """Whether a function of the project does arithmetic only: torch's functions, methods, nothing of the project."""
    outline = file.project.index.outlines[key.path]
    record = outline.functions[key.index]
    if record.end_line - record.header_line > _FEW_LINES:
        return False
    if any(region.kind == "loop" and region.function == key.index for region in outline.regions):
        return False
    own = [call for call in outline.calls if call.function == key.index]
    if len(own) > _FEW_CALLS:
        return False
    for call in own:
        if last_part(call.callee) in _RAGGED:
            return False
        thing = file.project.types.thing(key.path, key.index, call.callee)
        if thing is None:
            if call.callee.startswith("self.") or "." not in call.callee:
                return False
        elif thing.kind != "external" or not thing.dotted.startswith(("torch.", "builtins.", "math.")):
            return False
    return record.name != "forward"
