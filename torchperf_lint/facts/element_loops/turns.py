"""What one turn of a loop over a tensor's elements does."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from functools import cached_property

from torchperf_lint.facts.element_loops.one_number import INDEX_NAME
from torchperf_lint.facts.element_loops.rows import fills_up_to
from torchperf_lint.facts.element_loops.searches import is_search
from torchperf_lint.facts.files.source import Place, SourceFile
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.arguments import arguments
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import names_of, nodes_of
from torchperf_lint.patterns import pattern

Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp
Loop = ast.For | Comprehension

VIEWS = frozenset(
    "view reshape unsqueeze squeeze expand flatten size dim numel to cpu cuda detach clone contiguous float half "
    "long int type permute transpose t ndimension numpy append extend insert items keys values get pop add "
    "update format join split startswith requires_grad_ lower upper strip replace shape is_floating_point nelement "
    "backward".split()
)
"""Methods that start no kernel worth counting, or that are those of lists and texts."""
_VIEWS_OF_TORCH = frozenset("squeeze unsqueeze reshape flatten permute transpose movedim t".split())
"""The same as functions of torch: `torch.squeeze(x[:, i])`."""
REDUCES = pattern(
    r"loss|criterion|dice|iou|(?:^|_)(?:mse|mae|l1|bce|ce|nll|kl\w*|psnr|ssim)(?:_|$)|distance|simil", re.IGNORECASE
)
"""Calls that are a few operations on an element by their names, whether functions or modules."""
_HOST_READS = frozenset({"item", "tolist"})
HANDFUL = pattern(
    r"(?:^|_)(?:src|spk|speakers?|sources?|heads?|layers?|levels?|scales?|views?|axis|axes|n_?dims?|pos_dims|stages?)(?:_|$|\d)",
    re.IGNORECASE,
)
"""Names of what there are a few of, whatever the tensor's shape says."""


class Turn:
    """What one turn of a loop does."""

    def __init__(self, file: SourceFile, place: Place, loop: Loop, target: ast.expr) -> None:
        self.file = file
        self.place = place
        self.loop = loop
        self.target = target
        self.variables = names_of(target)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Everything in the loop's body."""
        roots: Sequence[ast.AST] = self.loop.body if isinstance(self.loop, ast.For) else [self.loop.elt]
        return [node for root in roots for node in nodes_of(root)]

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
        return any(self.mentions(part) and self.is_tensor(_asked(part)) for part in parts)

    def _looks_up(self) -> bool:
        """Whether the element itself is an index, which has to be a number on the host: `table[i] for i in order`."""
        indices = [n.slice for n in self.nodes if isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Name)]
        indices = [index for index in indices if index.id in self.variables]
        return any(self.is_tensor(index) for index in indices)

    def _seeks(self, node: ast.Call) -> bool:
        """Whether a call looks the element up: `self.index_of(t, schedule)`."""
        targets = self.file.project.types.targets(self.file.path, self.place.function, chain(node.func))
        given = arguments(node)
        return bool(targets) and any(map(self.mentions, given)) and all(is_search(self.file, k) for k in targets)

    def works(self) -> bool:
        """Whether a turn starts kernels: arithmetic, torch's functions, tensors' methods, `x[i, order[i]]`."""
        return self.reads() or any(self._is_work(node) for node in self.nodes) or any(map(self._gathers, self.indexed))

    def _is_scattered(self, node: ast.Subscript) -> bool:
        """Whether an element of one tensor says which of another is set: `taken[order[i]] = i`."""
        written = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        parts = [self.named(part) for part in written]
        return any(self.is_order(part) and self.is_tensor(part) for part in parts) and self.is_tensor(node.value)

    def named(self, node: ast.expr) -> ast.expr:
        """What a name stands for that the turn binds once: `order[i]` after `at = order[i]`."""
        if not isinstance(node, ast.Name):
            return node
        bound = [n.value for n in self.nodes if isinstance(n, ast.Assign) and _binds(n, node.id)]
        return bound[0] if len(bound) == 1 else node

    def _gathers(self, node: ast.Subscript) -> bool:
        """Whether an element of one tensor says which of another is taken, `x[i, order[i]]`, or several places do that
        the host draws or lists for the turn: `x[i, shuffled[:k]]`."""
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
        picked = any(self.is_order(part) and self.is_tensor(part) for part in parts) or any(map(self._several, parts))
        return picked and self.is_tensor(node.value)

    def _several(self, node: ast.expr) -> bool:
        """Whether an index is an array of numbers, which picks as many elements, and no view of them."""
        return (
            isinstance(node, ast.Name | ast.Subscript | ast.Call)
            and self.file.value(node, self.place).kind == "array"
            and not self.mentions(node)
        )

    def is_order(self, node: ast.expr) -> bool:
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
        if api.is_torchs_own(denoted):
            return denoted.startswith(api.TENSOR_NAMESPACES) or (
                denoted.count(".") == 1 and last_part(denoted) not in api.PLAIN_TORCH | _VIEWS_OF_TORCH
            )
        if isinstance(node.func, ast.Attribute) and self.is_tensor(node.func.value):
            return node.func.attr not in VIEWS
        if REDUCES.search(last_part(chain(node.func))):
            return True
        targets = self.file.project.types.targets(self.file.path, self.place.function, chain(node.func))
        return bool(targets) or self.file.value(node.func, self.place).kind == "module"

    def mentions(self, node: ast.AST) -> bool:
        """Whether the loop's variable occurs in it."""
        return any(isinstance(n, ast.Name) and n.id in self.variables for n in ast.walk(node))


def _binds(node: ast.Assign, name: str) -> bool:
    return any(isinstance(target, ast.Name) and target.id == name for target in node.targets)


def _asked(test: ast.expr) -> ast.expr:
    return test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else test
