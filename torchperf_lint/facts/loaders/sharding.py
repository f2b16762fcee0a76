"""Streams of samples: whether each worker reads a part of its own, or every one of them the whole."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.call_graph.index import FunctionKey, Thing
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.value import Frame
from torchperf_lint.patterns import pattern

ITERABLE = frozenset({"torch.utils.data.IterableDataset", "torch.utils.data.dataset.IterableDataset"})
_DIVIDES = pattern(
    r"worker|shard|rank|world|replica|process_(?:index|count|id)|num_process|n_process|partition|islice|split_by|queue|"
    r"socket|consumer|subscribe|barrier",
    re.IGNORECASE,
)
"""Names that tell of a worker's own part, or of a source that gives each item to one of them only."""
_DRAWS = pattern(
    r"^(?:rand\w*|choice|choices|sample|samples|uniform|normal|gauss|multinomial|integers|permutation|bernoulli|urandom)$"
)
"""Workers are seeded apart: what is drawn differs between them. To shuffle a list is to read all of it once more."""
_FIXED = frozenset(
    "range open glob iglob rglob listdir scandir walk reader DictReader iterrows itertuples readlines read_csv "
    "read_parquet read_json load loads GzipFile read_text splitlines iter_lines fetchall".split()
)
"""Calls that give the same, whoever asks."""
_THROUGH = frozenset(
    "enumerate zip sorted tqdm reversed iter list tuple chain from_iterable map filter batched cycle".split()
)
_LISTS = pattern(r"(?:^|[\[|. ])(?:list|List|tuple|Tuple|Sequence|str|Path|PathLike|int|DataFrame|ndarray)\b")
_DEEP = 6
_CALLS = 3


class Stream(NamedTuple):
    """What each worker reads whole."""

    name: str
    """Of the class."""
    source: str
    """What it iterates, as written; "" where that is not known to be the same for all workers."""


def undivided(project: Project, data: Thing) -> Stream | None:
    """What every worker of a loader over a data set reads whole; None where the class may know better."""
    index = project.index
    if data.kind != "instance" or not ITERABLE & set(index.external_bases(data)):
        return None
    if any(base not in ITERABLE and not _says_nothing(base) for base in index.external_bases(data)):
        return None
    iterates = index.method(data, "__iter__")
    methods = [
        FunctionKey(cls.path, number)
        for cls in index.ancestry(data)
        if cls.kind in ("class", "instance")
        for number in index.record(cls).methods.values()
    ]
    if iterates is None or any(_divides(project, key, _CALLS) for key in methods):
        return None
    reached = list(_generators(project, iterates, _CALLS))
    if any(_draws(project, key) for key in reached):
        return None
    sources = [source for key in reached for source in _sources(project, data, key)]
    return Stream(index.record(data).name, sources[0] if sources else "")


def _says_nothing(base: str) -> bool:
    return base.startswith(("typing.", "abc.", "builtins.")) or base in ("torch.utils.data.Dataset", "object")


def _node(project: Project, key: FunctionKey) -> ast.AST | None:
    body = project.body(key.path)
    return body.functions.get(key.index) if body is not None else None


def _divides(project: Project, key: FunctionKey, deep: int) -> bool:
    """Whether a function, or one it calls, names workers, ranks or shards."""
    node = _node(project, key)
    if node is None or any(_DIVIDES.search(name) for name in _names(node)):
        return True
    called = _called(project, key) if deep else ()
    return any(_divides(project, other, deep - 1) for other in called if other != key)


def _names(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            yield part.id
        elif isinstance(part, ast.Attribute):
            yield part.attr
        elif isinstance(part, ast.arg | ast.keyword):
            yield part.arg or ""
        elif isinstance(part, ast.Import | ast.ImportFrom):
            yield from (alias.name for alias in part.names)


def _called(project: Project, key: FunctionKey) -> list[FunctionKey]:
    body = project.body(key.path)
    callees = body.callees(key.index) if body is not None else []
    return [target for callee in callees for target in project.types.targets(key.path, key.index, callee)]


def _generators(project: Project, key: FunctionKey, deep: int) -> Iterator[FunctionKey]:
    """`__iter__` and what it calls."""
    yield key
    for other in _called(project, key) if deep else ():
        if other != key:
            yield from _generators(project, other, deep - 1)


def _draws(project: Project, key: FunctionKey) -> bool:
    body = project.body(key.path)
    return body is None or any(_DRAWS.match(last_part(callee)) for callee in body.callees(key.index))


def _sources(project: Project, data: Thing, key: FunctionKey) -> Iterator[str]:
    """What a generator iterates and is the same in every worker, as written."""
    body = project.body(key.path)
    node = body.functions.get(key.index) if body is not None else None
    if node is None or body is None:
        return
    inner = {id(part) for loop in ast.walk(node) if isinstance(loop, ast.For) for part in _below(loop)}
    for part in ast.walk(node):
        if id(part) in inner:
            continue  # what an outer loop gives it may be a worker's own
        iterated = part.iter if isinstance(part, ast.For) else part.value if isinstance(part, ast.YieldFrom) else None
        if isinstance(part, ast.Return) and isinstance(part.value, ast.Call) and chain(part.value.func) == "iter":
            iterated = part.value
        if iterated is not None and isinstance(node, ast.FunctionDef) and _yields(part):
            frame = Frame(key.path, key.index, body.at(iterated))
            if _Fixed(project, data).of(iterated, frame, _DEEP):
                yield ast.unparse(iterated)


def _below(loop: ast.For) -> Iterator[ast.AST]:
    return (part for statement in loop.body for part in ast.walk(statement))


def _yields(node: ast.AST) -> bool:
    """Whether a loop hands items out; a return or `yield from` does."""
    return not isinstance(node, ast.For) or any(isinstance(p, ast.Yield | ast.YieldFrom) for p in ast.walk(node))


class _Fixed:
    """Answers whether an expression is the same in every worker: a file, a list, a range."""

    def __init__(self, project: Project, data: Thing) -> None:
        self.project = project
        self.data = data

    def of(self, node: ast.expr | None, frame: Frame, deep: int) -> bool:
        if node is None or deep <= 0:
            return False
        if isinstance(node, ast.List | ast.Tuple | ast.ListComp | ast.Constant | ast.Dict):
            return True
        if isinstance(node, ast.Call):
            name = last_part(chain(node.func))
            if name in _THROUGH:
                given = [a for a in node.args if not isinstance(a, ast.Starred)]
                iterated = given[1:] if name in ("map", "filter") else given
                return bool(iterated) and any(self.of(argument, frame, deep - 1) for argument in iterated)
            return name in _FIXED
        if isinstance(node, ast.Subscript):
            return self.of(node.value, frame, deep - 1)
        if isinstance(node, ast.Name):
            return self._name(node, frame, deep)
        return isinstance(node, ast.Attribute) and self._attribute(node, frame, deep)

    def _name(self, node: ast.Name, frame: Frame, deep: int) -> bool:
        body = self.project.body(frame.path)
        reaching = (body.reaching(frame.function, node.id, frame.at) or []) if body is not None else []
        if reaching:
            known = [d for d in reaching if d.how in ("assign", "with") and d.value is not None]
            return len(known) == len(reaching) and all(
                self.of(d.value, frame._replace(at=d.at), deep - 1) for d in known
            )
        return self._annotated(frame, node.id)

    def _annotated(self, frame: Frame, name: str) -> bool:
        node = _node(self.project, FunctionKey(frame.path, frame.function))
        if not isinstance(node, ast.FunctionDef):
            return False
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        hint = next((a.annotation for a in arguments if a.arg == name), None)
        return hint is not None and bool(_LISTS.match(ast.unparse(hint).strip("'")))

    def _attribute(self, node: ast.Attribute, frame: Frame, deep: int) -> bool:
        record = self.project.index.function(FunctionKey(frame.path, frame.function))
        own = record.parameters[0].name if record.bound and record.parameters else ""
        if chain(node.value) != own or not own:
            return False
        found: list[bool] = []
        for cls in self.project.index.ancestry(self.data):
            if cls.kind not in ("class", "instance"):
                continue
            body = self.project.body(cls.path)
            for method in self.project.index.record(cls).methods.values() if body is not None else ():
                for name, value, _ in body.self_assignments(method) if body is not None else ():
                    if name == node.attr and body is not None:
                        at = body.at(value)
                        found.append(self.of(value, Frame(cls.path, method, at), deep - 1))
        return bool(found) and all(found)
