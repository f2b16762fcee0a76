"""Copies to the host of what the same function has uploaded, unchanged: the host had those numbers all along.

    labels = labels.to(device)                 inputs = tokenizer(texts, return_tensors="pt").to(device)
    ...                                        ...
    seen.append(labels.cpu())                  ids = inputs["input_ids"].cpu().tolist()

Whether the copy is a result of an evaluation makes no difference: it was there before.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.constants.changed_in_place import base_of, changed, given_for_effect
from torchperf_lint.facts.copies.entries_uploaded import (
    as_entry,
    entries_given_back,
    made_of_each,
    written_entry,
    zipped,
)
from torchperf_lint.facts.copies.made_there import is_made_of_host_numbers
from torchperf_lint.facts.devices.devices import target_device
from torchperf_lint.facts.devices.moved_in_place import moved_in_place
from torchperf_lint.facts.devices.movers import MOVERS, moved_by_function
from torchperf_lint.facts.devices.recursive_movers import moved_part_by_part
from torchperf_lint.facts.files.source import Place, SourceFile
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_text
from torchperf_lint.facts.syntax.syntax import below
from torchperf_lint.facts.values.entries import bound_again
from torchperf_lint.facts.values.value import ANYWHERE, DEVICE, HOST, Frame
from torchperf_lint.patterns import pattern

_HOPS = 3
_SAME = frozenset(
    "detach data view reshape squeeze unsqueeze flatten contiguous clone long int float bool double half bfloat16 "
    "permute transpose t T cpu numpy items".split()
)
"""What gives the same numbers, in another shape or type; `numpy()` and `cpu()` before a test of what they give."""
_GATHERS = frozenset({"tuple", "list"})
"""`tuple(t.to(device) for t in batch)`."""
_ENCODERS = pattern(r"(?:^|_)(?:tokenizer?|tokenize|processor|feature_extractor|image_processor|encode_plus)$|_plus$")
"""Callables that give tensors on the host, as their libraries do."""
_COMPOSED = frozenset({"torchvision.transforms.Compose()", "torchvision.transforms.v2.Compose()"})
"""What turns images of files into tensors; who runs it on the device has nothing to upload after it."""
_REDUCES = frozenset("max min sum amax amin any all long int float".split())
_ENTRIES = frozenset({"items", "values"})
_CHANGES = pattern(r"[a-z]_$")
_EXCHANGES = pattern(
    r"(?:^|[._])(?:all_?reduce(?:_\w+)?|reduce_tensor|i?recv)$"
    r"|(?:^|\.)(?:dist|distributed)\.(?:broadcast|reduce|scatter|all_gather_into_tensor|reduce_scatter_tensor)$"
)
"""Calls that put what other processes have into their first argument: `dist.all_reduce(x)`, `all_reduce_tensor(x)`."""


def uploaded_on(file: SourceFile, place: Place, node: ast.expr) -> int | None:
    """The line on which the function around uploads, from the host, what an expression is a part of, or is; else None.

    None as well where the function may have changed it since.
    """
    return uploaded_in(file, place.frame, node)


def uploaded_in(file: SourceFile, frame: Frame, node: ast.expr) -> int | None:
    """The same for an expression anywhere in a file."""
    body = file.project.body(file.path)
    return _Search(file, frame, body).line(node, frame.at, _HOPS) if body is not None else None


def may_be_changed(file: SourceFile, frame: Frame, body: Body, name: str) -> bool:
    """Whether a function, or a call that exchanges with other processes, writes into what a name stands for."""
    return _Search(file, frame, body).is_changed(name)


def below_reductions(node: ast.expr) -> ast.expr:
    """What the largest, the smallest or the sum is taken of: `n` of `n.max()` and `torch.max(n.data)`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _REDUCES:
        plain = isinstance(node.func.value, ast.Name) and node.func.value.id == "torch"
        if plain and not node.args:
            break
        node = node.args[0] if plain else node.func.value
    return node


def below_comparison(node: ast.expr) -> ast.expr:
    """What is compared with a number that is written out: `t` of `t != 0` and of `0 < t`; anything else as it is."""
    if not isinstance(node, ast.Compare) or len(node.ops) != 1 or isinstance(node.ops[0], ast.In | ast.NotIn):
        return node
    sides = [side for side in (node.left, *node.comparators) if not _is_number(side)]
    return sides[0] if len(sides) == 1 else node


def _is_number(node: ast.expr) -> bool:
    node = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


class _Search:
    def __init__(self, file: SourceFile, frame: Frame, body: Body) -> None:
        self.file = file
        self.frame = frame
        self.body = body

    def line(self, node: ast.expr, at: tuple[int, int], hops: int) -> int | None:
        """The line of the upload that an expression comes from."""
        held = _own_attribute(node)
        if held is not None:
            return self._of_attribute(held) if hops == _HOPS else None
        entry = self._entry(node, at)
        if entry is not None:
            return self.line(entry, self.body.at(entry), hops - 1) if hops else None
        if self._is_picked_there(node, at):
            return None
        given_back = self._of_entry_given_back(node, at, hops)
        if given_back is not None:
            return given_back
        node = same_numbers(node)
        part = made_of_each(node)
        if part is not None:
            return self.line(part, self.body.at(part), hops - 1) if isinstance(part, ast.Call) and hops else None
        if isinstance(node, ast.Call):
            return self._of_call(node, at, hops)
        if isinstance(node, ast.Tuple | ast.List) and node.elts and hops:
            lines = [self.line(element, at, hops - 1) for element in node.elts]
            return lines[0] if None not in lines else None
        in_place = self._moved_in_place(node, at) if isinstance(node, ast.Name) else None
        if in_place is not None:
            return in_place
        if not isinstance(node, ast.Name) or not hops or self.is_changed(node.id):
            return None
        reaching = self.body.reaching(self.frame.function, node.id, at) or ()
        if any(self._may_be_filled(d, node.id) for d in reaching):
            return None
        lines = [self._of_binding(d, hops) for d in reaching if not self._rests_on_host(d, reaching, node.id)]
        return lines[0] if lines and None not in lines else None

    def _is_picked_there(self, node: ast.expr, at: tuple[int, int]) -> bool:
        """`images[scores > 0.5]`, of scores on the device: the host has the images, and does not know which of them."""
        while isinstance(node, ast.Subscript | ast.Attribute | ast.Call):
            if isinstance(node, ast.Subscript):
                if isinstance(node.slice, ast.Compare | ast.Name | ast.Call):
                    index = self.file.project.values.of(node.slice, self.frame._replace(at=at))
                    if index.kind == "tensor" and index.device != HOST:
                        return True
                node = node.value
            else:
                node = node.func if isinstance(node, ast.Call) else node.value
        return False

    def _moved_in_place(self, node: ast.Name, at: tuple[int, int]) -> int | None:
        """The line that moves a batch entry by entry, `to_device(batch)`, where nothing else is put into it."""
        values, frame = self.file.project.values, self.frame._replace(at=at)
        moved = moved_in_place(values, node.id, frame, self.body)
        batch = values.of(node, frame) if moved is not None and not moved.chosen else None
        if moved is None or batch is None or batch.kind != "batch" or batch.device != DEVICE:
            return None
        statement = moved.statement
        reaching = self.body.reaching(self.frame.function, node.id, at) or ()
        bound = min((d.at for d in reaching), default=(0, 0))
        # What stands before its binding was put into another batch, as of the loop that trains.
        stored = (v for v in self.body.stored_items(self.frame.function, node.id) if self.body.at(v) > bound)
        within = all(statement.lineno <= value.lineno <= (statement.end_lineno or 0) for value in stored)
        return statement.lineno if within else None

    def _of_call(self, node: ast.Call, at: tuple[int, int], hops: int) -> int | None:
        if isinstance(node.func, ast.Name) and node.func.id in _GATHERS and len(node.args) == 1:
            return self.line(node.args[0], at, hops)
        values = zipped(node)
        if values is not None:
            return self.line(values, at, hops)
        if self._uploads(node, at):
            return node.lineno
        # What is there already, `y = y[:, -n:].to(device)`, is not copied again.
        moves = isinstance(node.func, ast.Attribute) and node.func.attr in ("to", "cuda")
        return self.line(node.func.value, at, hops) if isinstance(node.func, ast.Attribute) and moves else None

    def _entry(self, node: ast.expr, at: tuple[int, int]) -> ast.expr | None:
        """What `inputs["labels"]` of `inputs = {"labels": batch[3]}` stands for, where nothing else is put there."""
        asked = as_entry(below(node, _SAME))
        if asked is None:
            return None
        assert isinstance(asked.value, ast.Name)
        name = asked.value.id
        put = self._put_once(name, asked.slice, at)
        made = self.body.assigned_once(self.frame.function, name, at) if put is None else None
        return put if made is None else written_entry(self.file, self.frame.function, made, asked)

    def _of_entry_given_back(self, node: ast.expr, at: tuple[int, int], hops: int) -> int | None:
        """`batch["y"]` of `batch = self.to_device(batch)`: what a function of the same file uploads, in a new dict."""
        asked = as_entry(below(node, _SAME)) if hops == _HOPS else None
        name = asked.value.id if asked is not None and isinstance(asked.value, ast.Name) else ""
        made = self.body.assigned_once(self.frame.function, name, at) if name else None
        function = self._one_function(made) if isinstance(made, ast.Call) else None
        if asked is None or function is None or self.is_changed(name):
            return None
        there = _Search(self.file, self.frame._replace(function=function), self.body)
        parts = entries_given_back(self.file, self.body, function, asked)
        lines = [there.line(part, self.body.at(part), hops - 1) for part in parts]
        return lines[0] if lines and None not in lines else None

    def _one_function(self, call: ast.Call) -> int | None:
        """The one function of the same file that a call runs."""
        targets = self.file.project.types.targets(self.frame.path, self.frame.function, chain(call.func))
        return targets[0].index if len(targets) == 1 and targets[0].path == self.frame.path else None

    def _put_once(self, name: str, key: ast.expr, at: tuple[int, int]) -> ast.expr | None:
        """The upload that has always been put under a text by now: `batch["labels"] = batch["labels"].to(device)`."""
        function, text = self.frame.function, key.value if isinstance(key, ast.Constant) else None
        put = self.body.put_under(function, name).get(text, []) if isinstance(text, str) else []
        if len(put) != 1 or not isinstance(put[0], ast.Call) or not self._uploads(put[0], self.body.at(put[0])):
            return None
        if bound_again(self.body, self.frame._replace(at=at), name, put[0]):
            return None
        block = self.body.block_of(function, self.body.at(put[0]))
        always = self.body.block_of(function, at)[: len(block)] == block
        return put[0] if always and self.body.at(put[0], end=True) <= at else None

    def _of_result(self, d: Definition, call: ast.Call, hops: int) -> int | None:
        """`pred, true = self.process(batch)`: what a function of the same file uploads and gives back."""
        function = self._one_function(call)
        if function is None or len(d.index) != 1 or hops < _HOPS:
            return None
        there = _Search(self.file, self.frame._replace(function=function), self.body)
        lines = [
            there.line(result.elts[d.index[0]], self.body.at(result), hops - 1)
            if isinstance(result, ast.Tuple) and d.index[0] < len(result.elts)
            else None
            for result in self.body.returns(function)
        ]
        return lines[0] if lines and None not in lines else None

    def _rests_on_host(self, d: Definition, reaching: Sequence[Definition], name: str) -> bool:
        """Whether a name is bound on the host, and uploaded below that under a test: `if use_cuda: x = x.cuda()`.

        What a loop gives is what such a test uploads, where that is the name itself.
        """
        if d.value is None or d.how not in ("assign", "item", "loop"):
            return False
        deeper = [o for o in reaching if o.at > d.at and o.how in ("assign", "item")]
        below = [o for o in deeper if len(o.block) > len(d.block) and o.block[: len(d.block)] == d.block]
        if d.how == "loop":
            return any(o.value is not None and _is_moved(_bound_part(o, o.value), name) for o in below)
        return bool(below) and self._is_on_host(_bound_part(d, d.value), self.frame._replace(at=self.body.at(d.value)))

    def _of_attribute(self, name: str) -> int | None:
        """`self.gt`, where the methods of the class bind it to nothing but what they upload."""
        own = self.file.project.index.class_of(self.frame.path, self.frame.function)
        record = self.file.project.index.record(own) if own is not None else None
        lines: list[int | None] = []
        for function in sorted(record.methods.values()) if record is not None else ():
            there = _Search(self.file, self.frame._replace(function=function), self.body)
            made = [value for n, value, _ in self.body.self_assignments(function) if n == name]
            lines += [there.line(value, self.body.at(value), _HOPS - 1) for value in made]
            if there.is_changed(f"self.{name}") or f"self.{name}[" in self.body.augmented(function):
                return None
        return lines[0] if lines and None not in lines else None

    def _of_binding(self, d: Definition, hops: int) -> int | None:
        if d.value is None or d.how not in ("assign", "item"):
            return None
        value = _bound_part(d, d.value)
        if d.how == "item" and isinstance(value, ast.Call):
            return self._of_result(d, value, hops) or self.line(value, self.body.at(value), hops - 1)
        return self.line(value, self.body.at(value), hops - 1)

    def _uploads(self, node: ast.Call, at: tuple[int, int]) -> bool:
        """`x.to(device)`, `x.cuda()`, `to_device(x, device)` of what is on the host."""
        frame = self.frame._replace(at=at)
        if self._is_made(node, at):
            return True
        if last_part(chain(node.func)) in MOVERS:
            moved = moved_by_function(self.file.project.values, node, frame)
            return moved is not None and self._is_on_host(moved.data, frame)
        if not isinstance(node.func, ast.Attribute) or node.func.attr not in ("to", "cuda"):
            parts = moved_part_by_part(self.file.project.values, node, frame)
            return parts is not None and self._is_on_host(parts, frame)
        if node.func.attr == "to" and target_device(self.file.project.values, node, frame) in (None, HOST):
            return False
        return self._is_on_host(node.func.value, frame)

    def _is_on_host(self, node: ast.expr, frame: Frame) -> bool:
        made = node.func if isinstance(node, ast.Call) else None
        if made is not None and _ENCODERS.search(last_part(chain(made)).lower()):
            return True
        value = self.file.project.values.of(node, frame)
        if value.kind in ("tensor", "batch"):
            return value.device == HOST or (value.device == ANYWHERE and self._is_composed(node, frame))
        return isinstance(node, ast.Name) and value.kind == "unknown" and self._is_encoded(node.id, frame.at)

    def _is_encoded(self, name: str, at: tuple[int, int]) -> bool:
        """Whether a name is what a tokenizer gave, or an entry of that: `v` of `for k, v in inputs.items()`."""
        reaching = self.body.reaching(self.frame.function, name, at) or ()
        return bool(reaching) and all(isinstance(d.value, ast.Call) and self._encodes(d, d.value) for d in reaching)

    def _encodes(self, d: Definition, call: ast.Call) -> bool:
        if d.how == "assign":
            return bool(_ENCODERS.search(last_part(chain(call.func)).lower()))
        whole = call.func.value if isinstance(call.func, ast.Attribute) and call.func.attr in _ENTRIES else None
        return d.how == "loop" and isinstance(whole, ast.Name) and self._is_encoded(whole.id, self.body.at(call))

    def _is_composed(self, node: ast.expr, frame: Frame) -> bool:
        """What `transform(image).unsqueeze(0)` gives, for a Compose of torchvision: who moves it then had an image."""
        node = same_numbers(node)
        values = self.file.project.values
        made = self.body.assigned_once(frame.function, node.id, frame.at) if isinstance(node, ast.Name) else None
        if made is not None:
            node, frame = same_numbers(made), frame._replace(at=self.body.at(made))
        thing = values.of(node.func, frame).thing if isinstance(node, ast.Call) else None
        return thing is not None and thing.kind == "external" and thing.dotted in _COMPOSED

    def is_changed(self, name: str) -> bool:
        """Whether the function, or a call that exchanges with other processes, writes into what a name stands for."""
        function = self.frame.function
        if self.body.stored_items(function, name) or self._exchanged(name):
            return True
        return any(_CHANGES.search(used) for used, _ in self.body.uses(function, name))

    def _may_be_filled(self, d: Definition, name: str) -> bool:
        """Whether a tensor made of numbers of the host goes to a call for its effect: an operator may count in it."""
        if not isinstance(d.value, ast.Call) or not self._is_made(d.value, self.body.at(d.value)):
            return False
        given = (a for s in self.body.statements(self.frame.function) for a in given_for_effect(s))
        if any(isinstance(argument, ast.Name) and argument.id == name for argument in given):
            return True
        nodes = self.file.enclosing(self.frame.function).of_kinds((ast.Call,))
        return any(base_of(target) == name for node in nodes for target in changed(node))  # `out=`

    def _is_made(self, node: ast.Call, at: tuple[int, int]) -> bool:
        return is_made_of_host_numbers(self.file.project.values, node, self.frame._replace(at=at))

    def _exchanged(self, name: str) -> bool:
        given = self.body.passed_to(self.frame.function, name)
        return any(position == 0 and _EXCHANGES.search(callee) for callee, _, position in given)


def _bound_part(d: Definition, value: ast.expr) -> ast.expr:
    """What a name is bound to: its part of a list that is written out, else the whole."""
    if (
        d.how == "item"
        and isinstance(value, ast.Tuple | ast.List)
        and len(d.index) == 1
        and d.index[0] < len(value.elts)
    ):
        return value.elts[d.index[0]]
    return value


def _is_moved(node: ast.expr, name: str) -> bool:
    """`y.cuda()` of `y`."""
    return isinstance(node, ast.Call) and chain(node.func) in (f"{name}.cuda", f"{name}.to")


def _own_attribute(node: ast.expr) -> str | None:
    """The name of the attribute of `self` that an expression shows another view of."""
    while True:
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _gives_the_same(node):
            node = node.func.value
        else:
            break
    own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    return node.attr if own and isinstance(node, ast.Attribute) else None


def _gives_the_same(call: ast.Call) -> bool:
    """`x.view(-1)`, `batch.get("mask")`."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    return name in _SAME or (name == "get" and len(call.args) == 1 and is_text(call.args[0]))


def same_numbers(node: ast.expr) -> ast.expr:
    """What an expression shows another view, or an entry, of."""
    while True:
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _gives_the_same(node):
            node = node.func.value
        elif isinstance(node, ast.Call) and last_part(chain(node.func)) == api.VARIABLE and node.args:
            node = node.args[0]  # of old versions: it wraps, and copies nothing
        elif isinstance(node, ast.Attribute) and node.attr not in api.PLAIN_ATTRIBUTES:
            node = node.value
        else:
            return node
