"""Attributes whose tensors some code of a project refills, under whatever name it has them there.

    def fill(scene, frames):
        images = scene.images
        images[:] = frames                      # as `scene.images.copy_(frames)`, `torch.stack(frames, out=...)`,
                                                # `np.copyto(scene.images.numpy(), frames)`, `put(scene.images, frames)`

Asked by the attribute's name alone: which object a function is given, nobody knows for sure. What a constructor puts
into its own attribute is how it makes it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.constants.changed_in_place import changed
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import nodes_of

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Module
_SHARING = frozenset(
    "numpy view view_as detach reshape squeeze unsqueeze flatten narrow select t transpose permute expand data T mT "
    "chunk split unbind contiguous".split()
)
"""Methods and attributes that give the same memory."""
_FILLS = frozenset({"copyto", "put", "place", "putmask", "put_along_axis", "fill_diagonal", "shuffle", "readinto"})
_GROWS = frozenset({"append", "extend", "insert", "pop", "clear", "update", "fill", "sort", "put", "itemset", "resize"})
_DEEP = 3
"""How many names one after the other are followed."""


def is_refilled(project: Project, name: str) -> bool:
    """Whether any function of a project may write into what is an attribute of this name."""
    for path in project.index.outlines:
        body = project.body(path) if f".{name}" in project.text(path) else None
        if body is not None and any(_Reading(project, node).refills(name) for node in body.functions.values()):
            return True
    return False


class _Reading:
    """One function's code."""

    def __init__(self, project: Project, function: _Function) -> None:
        self._project, self._function = project, function
        self._nodes = nodes_of(function) if not isinstance(function, ast.Module) else list(_of_module(function))
        self._parents = {child: node for node in self._nodes for child in ast.iter_child_nodes(node)}

    def refills(self, name: str) -> bool:
        """Whether it writes into what is an attribute of this name."""
        makes = getattr(self._function, "name", "") == "__init__"
        found = (n for n in self._nodes if isinstance(n, ast.Attribute) and n.attr == name)
        others = (node for node in found if not (makes and chain(node.value) == "self"))
        return any(self._is_written(node, _DEEP) for node in others)

    def _is_written(self, node: ast.AST, deep: int) -> bool:
        """Whether something is put into what an expression is, or into what shares its memory."""
        whole = True
        if isinstance(getattr(node, "ctx", None), ast.Store) and not isinstance(self._parents.get(node), ast.AugAssign):
            return False  # bound anew
        while True:
            parent = self._parents.get(node)
            if parent is None or any(node is part for part in changed(parent)):
                return parent is not None
            if isinstance(parent, ast.Subscript) and parent.value is node:
                whole = False
            elif isinstance(parent, ast.Attribute):
                called = self._parents.get(parent)
                is_method = isinstance(called, ast.Call) and called.func is parent
                if is_method and (parent.attr in _GROWS or any(node is part for part in changed(called))):  # type: ignore[arg-type]
                    return True
                if parent.attr not in _SHARING:
                    return False
                parent = called if is_method else parent
            elif isinstance(parent, ast.Call):
                return node is not parent.func and self._fills_what_it_is_given(parent)
            elif isinstance(parent, ast.keyword):
                call = self._parents.get(parent)
                return parent.arg == "out" or (isinstance(call, ast.Call) and self._fills_what_it_is_given(call))
            elif isinstance(parent, ast.Return | ast.Yield):
                return whole  # others have it then
            elif not isinstance(parent, ast.Tuple | ast.Starred):
                return self._is_written_as(parent, node, deep)
            assert parent is not None
            node = parent

    def _is_written_as(self, statement: ast.AST, value: ast.AST, deep: int) -> bool:
        """Whether a statement gives it another name, by which it is written into."""
        targets: list[ast.expr] = []
        if isinstance(statement, ast.Assign):
            targets = statement.targets
        elif isinstance(statement, ast.AnnAssign | ast.NamedExpr):
            targets = [statement.target]
        elif isinstance(statement, ast.For | ast.comprehension):
            targets = [statement.target] if statement.iter is value else []
        parts = [p for t in targets for p in (t.elts if isinstance(t, ast.Tuple) else [t])]
        names = {part.id for part in parts if isinstance(part, ast.Name)}
        if any(isinstance(part, ast.Attribute) for part in parts) or (names and not deep):
            return True
        reads = (n for n in self._nodes if isinstance(n, ast.Name) and n.id in names)
        return any(self._is_written(read, deep - 1) for read in reads)

    def _fills_what_it_is_given(self, call: ast.Call) -> bool:
        called = last_part(chain(call.func))
        return called in _FILLS or any(map(_writes_into_parameters, self._functions_named(called)))

    def _functions_named(self, name: str) -> Iterator[_Function]:
        for path, outline in self._project.index.outlines.items():
            numbers = [number for number, function in enumerate(outline.functions) if function.name == name]
            body = self._project.body(path) if numbers else None
            found = (body.functions.get(number) for number in numbers if body is not None)
            yield from (node for node in found if node is not None)


def _of_module(tree: ast.Module) -> Iterator[ast.AST]:
    """The nodes of a module's own code; its functions are read one by one."""
    stack: list[ast.AST] = [*tree.body]
    while stack:
        node = stack.pop()
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
            stack += ast.iter_child_nodes(node)


def _writes_into_parameters(function: _Function) -> bool:
    """Whether a function puts something into what it is given: `x[:] = y`, `x.copy_(y)`, `x += y`."""
    if isinstance(function, ast.Module):
        return False
    given = {a.arg for a in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)} - {"self"}
    return any(_written_name(part) in given for node in nodes_of(function) for part in changed(node))


def _written_name(node: ast.expr) -> str:
    """`x` of `x`, `x[0]` and `x.data`."""
    while isinstance(node, ast.Subscript) or (isinstance(node, ast.Attribute) and node.attr in _SHARING):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
