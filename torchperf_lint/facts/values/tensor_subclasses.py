"""Methods and properties that tensors have in this project alone, as its own subclass of them defines those.

    class TiedParameter(nn.Parameter):
        def tied(self) -> TiedInfo: ...                p.tied().ranks[0] is no tensor, whatever `p` is
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from torchperf_lint.facts.call_graph.index import FunctionKey, Index, Thing
from torchperf_lint.facts.values.value import Value

_TENSORS = frozenset({"torch.Tensor", "torch.nn.Parameter", "torch.nn.parameter.Parameter"})
_known: WeakKeyDictionary[Index, dict[str, list[FunctionKey]]] = WeakKeyDictionary()


def of_subclasses(index: Index, name: str) -> FunctionKey | None:
    """The method of that name, a property too, of the project's subclasses of tensors; None where several define it."""
    if index not in _known:
        _known[index] = _collected(index)
    found = _known[index].get(name, ())
    return found[0] if len(found) == 1 else None


def tells_another_kind(value: Value) -> bool:
    """Whether what such a method gives is seen, and is no tensor."""
    return value.kind not in ("unknown", "tensor", "batch")


def _collected(index: Index) -> dict[str, list[FunctionKey]]:
    found: dict[str, list[FunctionKey]] = {}
    for path, outline in index.outlines.items():
        for number, record in enumerate(outline.classes):
            if any(base.dotted in _TENSORS for base in index.ancestry(Thing("class", path, number))):
                for name, method in record.methods.items():
                    found.setdefault(name, []).append(FunctionKey(path, method))
    return found
