"""Functions that are put in the place of a module's `forward`: `layer.attn.forward = types.MethodType(f, layer.attn)`.

Nothing calls them by their name; calling the module does.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.facts.call_graph.index import FunctionKey, Index
from torchperf_lint.facts.call_graph.types import Types
from torchperf_lint.facts.outlines.mentions import PARTIAL
from torchperf_lint.facts.outlines.records import Binding, Outline
from torchperf_lint.facts.roles.role import Role
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.model import Confidence

_PATCHED = Role(
    "forward",
    "is put in the place of a module's `forward` ({}:{}), which every step runs",
    "in every forward pass",
    Confidence.LIKELY,
)
_BINDER = "MethodType"
"""Is given the function first."""


def patched_forwards(index: Index, types: Types) -> Iterator[tuple[FunctionKey, Role]]:
    """The functions of a project that are assigned to a `forward`, and why they are hot."""
    forwards = frozenset(target for target in index.bound_chains if target.endswith(".forward"))
    for path, outline in index.outlines.items() if forwards else ():
        for binding in outline.bindings:
            if binding.target not in forwards:
                continue
            for chain in _functions(outline, binding):
                for thing in types.bound_to(path, binding.function, chain):
                    if thing.kind == "function":
                        because = _PATCHED.because.format(path, binding.line)
                        yield FunctionKey(thing.path, thing.index), _PATCHED._replace(because=because)


def _functions(outline: Outline, binding: Binding) -> list[str]:
    """The names of what a binding puts there: `f`, `f.__get__(x)`, `types.MethodType(f, x)`, `partial(f, ...)`."""
    if binding.value.startswith(PARTIAL):
        return [binding.value.partition(":")[2]]
    if not binding.value.endswith("()"):
        return [binding.value]
    made = binding.value[:-2]
    if made.endswith(".__get__"):
        return [made.removesuffix(".__get__")]
    if last_part(made) != _BINDER:
        return []
    given = (mention for mention in outline.mentions if mention.kind == "given" and mention.line == binding.line)
    return [mention.chain for mention in given if mention.of == f"0:{made}" and mention.function == binding.function]
