"""What speaks against doing all turns of a loop over a tensor's elements at once."""

from __future__ import annotations

import ast
import re

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.element_loops.carried import carried
from torchperf_lint.facts.element_loops.plain_layers import is_plain_layer
from torchperf_lint.facts.element_loops.ragged import RAGGED, Raggedness
from torchperf_lint.facts.element_loops.rows import fills_row, fills_up_to
from torchperf_lint.facts.element_loops.running_sums import running_sum
from torchperf_lint.facts.element_loops.searches import calls_of_short, is_search
from torchperf_lint.facts.element_loops.shifts import is_shift
from torchperf_lint.facts.element_loops.turns import HANDFUL, REDUCES, VIEWS, Turn
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_none
from torchperf_lint.facts.syntax.syntax import names_of
from torchperf_lint.patterns import pattern

_MEMORY = pattern(r"memory|\bmem\b|\bOOM\b|\bRAM\b", re.IGNORECASE)
_ARITHMETIC = frozenset(
    "type clamp_min clamp_max clamp clip lerp addcmul addcdiv erf sign trunc fmod remainder minimum maximum dot mv "
    "outer cross inverse det trace diagonal diag_embed index_put index_copy index_add index_fill scatter_reduce "
    "argwhere copy fill zero uniform normal masked_scatter logical_xor isclose expm1 tan asin acos atan atan2 sinh "
    "cosh xlogy mode quantile new".split()
)
"""Methods of tensors that the other tables leave out; in place, `fill_`, they count as well."""
_METHODS = (
    VIEWS
    | _ARITHMETIC
    | api.ARRAY_METHODS
    | api.TENSOR_ONLY_METHODS
    | api.TAKE_A_TENSOR
    | api.DERIVING
    | api.PLAIN_METHODS
    | api.SCATTERING
    | api.SEQUENCE_METHODS
    | api.PAIR_METHODS
)
"""Methods of tensors, lists and texts."""
_SPARSE = frozenset("is_sparse is_sparse_csr to_sparse to_sparse_coo to_sparse_csr coalesce is_coalesced".split())
"""What sparse tensors are asked, and how others become such."""
_PLAIN = ("torch.", "builtins.", "math.", "random.", "numpy.random.", "numpy.arange")
"""Where functions come from that are arithmetic, or draw numbers, which the host can do for all turns at once."""
_FEW_LINES, _FEW_CALLS = 80, 16
"""Of a function that is a few operations; the lines count its documentation too."""
_AFTER_THE_MODEL = pattern(
    r"(?:^|[._])(?:post_?process|nms|non_max|decode(?!r)|visual|draw|render|plot|to_pil|save|write|show|"
    r"log(?!_(?:prob|likelihood|lik|partition|det|sum|softmax|scale|var|std|odds|norm|z)(?:\w*))|print|export|beam|"
    r"detect\w*|boxes|proposals?|simota|hungarian|anchors?)(?:_|$)",
    re.IGNORECASE,
)
_SAMPLES = pattern(r"(?:^|[._])sampler?(?:_|$)", re.IGNORECASE)
"""What draws pictures or tokens for somebody, but in a training step only parts of what is learnt from."""


def doubt(turn: Turn) -> str | None:
    """Why a batched form may not exist or not fit; None where nothing shows it."""
    return _Doubts(turn).why()


def comes_after_the_model(name: str, kind: str = "") -> bool:
    """Whether a function turns outputs into what somebody looks at, by its name.

    :param kind: the kind of hot code that it is
    """
    samples = kind != "step" and _SAMPLES.search(name) is not None
    return samples or _AFTER_THE_MODEL.search(name) is not None


class _Doubts:
    """One question, of one turn."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn

    def why(self) -> str | None:
        name = self.turn.file.outline.functions[self.turn.place.function].qualname
        if comes_after_the_model(name, self.turn.place.hot.kind if self.turn.place.hot is not None else ""):
            return "what comes after the model, image by image"
        few = next((n for n in sorted(self.turn.variables | self._bounds()) if HANDFUL.search(n)), None)
        if few is not None:
            return f"`{few}` tells of a handful of turns"
        if self._spares_memory():
            return "turns that spare memory"
        if self._is_sparse():
            return "sparse tensors, which broadcast little"
        if self._is_handed_over():
            return "what takes each turn's result by itself"
        return (
            Raggedness(self.turn).why()
            or self._recursion()
            or next((d for d in map(self._call, self.turn.calls) if d), None)
        )

    def _bounds(self) -> set[str]:
        """The names in what the loop goes over."""
        over = self.turn.loop.iter if isinstance(self.turn.loop, ast.For) else self.turn.loop.generators[0].iter
        return names_of(over)

    def _spares_memory(self) -> bool:
        """A comment that says so, or an element set against another axis: `x[i, :, None] - edges`."""
        first = self.turn.loop.lineno
        if any("#" in line and _MEMORY.search(line) for line in self.turn.file.lines[max(first - 3, 0) : first + 1]):
            return True
        parts = [p for s in self.turn.indexed for p in (s.slice.elts if isinstance(s.slice, ast.Tuple) else [])]
        return any(is_none(part) for part in parts)

    def _is_sparse(self) -> bool:
        """Whether the function makes what turns work on sparse, or asks whether it is."""
        file, function = self.turn.file, self.turn.place.function
        body = file.project.body(file.path)
        named = self._bounds() | {node.id for node in self.turn.nodes if isinstance(node, ast.Name)}
        return body is not None and any(use in _SPARSE for name in named for use, _ in body.uses(function, name))

    def _is_handed_over(self) -> bool:
        """`SumOperator(*[x[i] * w[i] for i in range(n)])`: somebody else's, which takes one after the other."""
        parents = self.turn.file.enclosing(self.turn.place.function).parents
        spread = parents.get(self.turn.loop)
        taker = parents.get(spread) if isinstance(spread, ast.Starred) else None
        if not isinstance(taker, ast.Call):
            return False
        denoted = self.turn.file.denotes(taker.func, self.turn.place) or ""
        return not denoted.startswith(("torch.", "builtins."))

    def _recursion(self) -> str | None:
        """A name that a turn reads before it sets it: the next turn needs this one's."""
        if not isinstance(self.turn.loop, ast.For):
            return None
        if any(isinstance(node, ast.Break | ast.Continue | ast.Return) for node in self.turn.nodes):
            return "turns that may be left early"
        summed = running_sum(self.turn.loop)
        handed_on = set(carried(self.turn.loop.body)) - self.turn.variables  # those are bound anew each turn
        handed_on -= set(summed[:1] if summed is not None else ())
        if handed_on:
            return f"`{sorted(handed_on)[0]}` goes from turn to turn"
        filled = {n.targets[0] for n in self.turn.nodes if isinstance(n, ast.Assign) and fills_row(self.turn, n)}
        for node in self.turn.nodes:
            if not isinstance(node, ast.Subscript) or self._is_flat(node.slice):
                continue
            if node in filled or fills_up_to(self.turn, node):
                continue
            if self._is_offset(node.slice) and not is_shift(self.turn, node):
                return "turns that look at their neighbours"
        return None

    def _is_offset(self, index: ast.expr) -> bool:
        """`x[i - 1]`, `x[:i]`; `x[i : i + 1]` is the element itself."""
        for part in index.elts if isinstance(index, ast.Tuple) else [index]:
            if isinstance(part, ast.Slice):
                lower = part.lower
                if not (isinstance(lower, ast.Name) and lower.id in self.turn.variables) and self.turn.mentions(part):
                    return True
            elif isinstance(part, ast.BinOp) and self.turn.mentions(part):
                return True
        return False

    def _is_flat(self, index: ast.expr) -> bool:
        """`x[i * n + j]`, and `x[i * n + j, i * n : (i + 1) * n]`: element (i, j) of a matrix laid out in a row.

        Slices alone, `x[i * n : (i + 1) * n]`, are chunks, which spare memory as often as not.
        """
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        single = [part for part in parts if not isinstance(part, ast.Slice) and self.turn.mentions(part)]
        offsets = [part for part in single if isinstance(part, ast.BinOp)]
        return bool(offsets) and all(isinstance(p.op, ast.Add) and _is_product(p.left) for p in offsets)

    def _call(self, node: ast.Call) -> str | None:
        """A network, a function of the project's own that is more than arithmetic, somebody else's."""
        callee = chain(node.func)
        targets = self.turn.file.project.types.targets(self.turn.file.path, self.turn.place.function, callee)
        named_so = bool(REDUCES.search(last_part(callee)))
        denoted = self.turn.file.denotes(node.func, self.turn.place) or ""
        if self.turn.file.value(node.func, self.turn.place).kind == "module":
            return None if named_so or is_plain_layer(denoted) else f"each turn runs the module `{callee}`"
        if denoted == "functools.partial()":
            denoted = ""  # says nothing of what it calls
        if denoted and not denoted.startswith(_PLAIN):
            return f"each turn calls `{callee}`"
        if denoted:
            return None
        if targets and not all(self._is_forward(key) for key in targets):
            light = all(_is_light(self.turn.file, key) or is_search(self.turn.file, key) for key in targets)
            return None if light else f"each turn calls `{callee}`"
        if isinstance(node.func, ast.Attribute) and self._is_own_method(node.func):
            return None
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Compare):
            return None  # `(index == i).sum()`: what has methods after a comparison is a tensor, or an array
        return None if named_so else f"each turn calls `{callee}`, of which nothing is known"

    def _is_forward(self, key: FunctionKey) -> bool:
        return self.turn.file.project.index.function(key).name == "forward"

    def _is_own_method(self, func: ast.Attribute) -> bool:
        """A method of a tensor, a list, a text."""
        if isinstance(func.value, ast.Name) and func.value.id == "self":
            return False
        return func.attr in VIEWS or self.turn.file.value(func.value, self.turn.place).kind in (
            "tensor",
            "plain",
            "sequence",
            "batch",
        )


def _is_product(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)


def _is_light(file: SourceFile, key: FunctionKey) -> bool:
    """Whether a function of the project does arithmetic only: torch's functions, methods, nothing of the project."""
    own = calls_of_short(file.project.index, key, _FEW_LINES)
    if own is None or len(own) > _FEW_CALLS:
        return False
    for call in own:
        if last_part(call.callee) in RAGGED:
            return False
        thing = file.project.types.thing(key.path, key.index, call.callee)
        if thing is None:
            if call.callee.startswith("self.") or "." not in call.callee or _is_opaque(call.callee):
                return False
        elif thing.kind != "external" or not thing.dotted.startswith(_PLAIN):
            return False
    return file.project.index.function(key).name != "forward"


def _is_opaque(callee: str) -> bool:
    """Whether a call of a function's is one of nobody knows what: `operator.adjoint`, which no tensor has."""
    return last_part(callee).removesuffix("_") not in _METHODS
