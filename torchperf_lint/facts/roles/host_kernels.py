"""Functions that torch runs for tensors of the host alone: what a custom operator does on the CPU.

    library.impl("frame_sum", _frame_sum_cpu, "CPU")          @torch.library.register_kernel("mine::frame_sum", "cpu")

No device is read in them; the operator's kernel for CUDA is another function.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.call_graph.index import FunctionKey, Index
from torchperf_lint.facts.call_graph.types import Types
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import nodes_of

_REGISTERS = frozenset({"impl", "register_kernel"})


def host_kernels(index: Index, types: Types, body: Callable[[str], Body | None]) -> frozenset[FunctionKey]:
    """The functions of a project that are registered for the CPU, by a call or a decorator."""
    found = set(_given(index, types, body))
    for path, outline in index.outlines.items():
        for number, record in enumerate(outline.functions):
            if _REGISTERS & set(map(last_part, record.decorators)) and _is_decorated(body(path), number):
                found.add(FunctionKey(path, number))
    return frozenset(found)


def _given(index: Index, types: Types, body: Callable[[str], Body | None]) -> Iterator[FunctionKey]:
    for path, outline in index.outlines.items():
        for mention in outline.mentions:
            if mention.kind != "given" or last_part(mention.of) not in _REGISTERS:
                continue
            tree = body(path)
            calls = nodes_of(tree.functions[mention.function]) if tree is not None else ()
            if any(isinstance(call, ast.Call) and _registers(call, mention.chain) for call in calls):
                things = types.bound_to(path, mention.function, mention.chain)
                yield from (FunctionKey(t.path, t.index) for t in things if t.kind == "function")


def _registers(call: ast.Call, function: str) -> bool:
    return any(chain(argument) == function for argument in call.args) and _is_for_the_host(call)


def _is_decorated(body: Body | None, number: int) -> bool:
    function = body.functions.get(number) if body is not None else None
    decorators = getattr(function, "decorator_list", [])
    return any(isinstance(node, ast.Call) and _is_for_the_host(node) for node in decorators)


def _is_for_the_host(call: ast.Call) -> bool:
    """`impl(name, function, "CPU")`; not for `("cpu", "cuda")`, nor for all devices."""
    if last_part(chain(call.func)) not in _REGISTERS:
        return False
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    return any(isinstance(part, ast.Constant) and part.value in ("CPU", "cpu") for part in given)
