"""What a call of an abstract method runs: any of the methods that stand in for it, as many as there are.

    class Model(nn.Module):                             for batch in loader:
        def forward_loss(self, points):                     loss = self.model.forward_loss(batch)
            raise NotImplementedError

Of which class the object is, nobody can tell; whichever it is, its method runs as often as the call.
"""

from __future__ import annotations

from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey, Index
from torchperf_lint.facts.outlines.records import Call, Function
from torchperf_lint.facts.syntax.chains import last_part

_ABSTRACT = frozenset({"abstractmethod", "abstractproperty"})


class Implementations:
    """Finds them for one project, and remembers of which calls they are."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self._supposed: set[tuple[str, Call, FunctionKey]] = set()
        self._open: dict[FunctionKey, bool] = {}

    def targets(self, path: str, call: Call, key: FunctionKey) -> list[FunctionKey]:
        """The method that a call finds and, where that does nothing itself, all that override it."""
        function = self.index.function(key)
        own = function.class_index < 0 or function.name.startswith("__") or "super()" in call.callee
        if own or not self._is_left_open(key):
            return [key]
        found = self.index.overrides(key)
        self._supposed.update((path, call, other) for other in found if other != key)
        return found

    def _is_left_open(self, key: FunctionKey) -> bool:
        if key not in self._open:
            self._open[key] = is_left_open(self.index, key)
        return self._open[key]

    def supposed(self, site: CallSite, key: FunctionKey) -> bool:
        """Whether a call may run a method only because it finds the abstract one."""
        return (*site, key) in self._supposed


def leaves_methods_to_others(index: Index, path: str) -> bool:
    """Whether a class of a file has a method that is abstract by its decorator, and nothing in the project defines it.

    Whoever wrote that meant others to derive from the class, and to run what stands beside it.
    """
    functions = index.outlines[path].functions
    abstract = (FunctionKey(path, number) for number, one in enumerate(functions) if _is_abstract(one))
    return any(len(index.overrides(key)) == 1 for key in abstract)


def _is_abstract(function: Function) -> bool:
    return function.class_index >= 0 and any(last_part(decorator) in _ABSTRACT for decorator in function.decorators)


def is_left_open(index: Index, key: FunctionKey) -> bool:
    """Whether a method says that subclasses have to define it: by a decorator, or as it only raises."""
    if any(last_part(decorator) in _ABSTRACT for decorator in index.function(key).decorators):
        return True
    if not all(call.callee == "NotImplementedError" for call in index.calls_in(key)):
        return False
    return not any(function == key.index for function, _ in index.outlines[key.path].returns)
