"""What a data set does for each item: which calls, of which data set, and what of them is the same every time."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.hotness.loop import FEW_TURNS
from torchperf_lint.facts.outlines.records import Outline
from torchperf_lint.facts.syntax.arguments import arguments, keyword, unpacks
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.value import Frame

_ITEM_METHODS = frozenset({"__getitem__", "__getitems__"})
_DATA_SETS = ("Dataset", "__getitem__")
"""A text with neither has no data set and, all but always, no helper of one."""
_KEPT = frozenset({"cached_property", "lru_cache", "cache", "cached", "memoize", "cachedmethod"})
_KEEPS_A_PATH = frozenset(
    "join Path PurePath str fspath expanduser abspath realpath resolve normpath format lower upper strip removesuffix "
    "removeprefix with_suffix with_name joinpath as_posix replace open fsencode encode fs_path".split()
)
"""Functions whose result is the same whenever what they are given is; `open` stands for the file."""
_DEEP = 6


class ItemCall(NamedTuple):
    """A call that a data set makes for each item."""

    site: Site
    root: FunctionKey
    """Its `__getitem__`."""

    @property
    def name(self) -> str:
        """`Volumes.__getitem__`."""
        return self.site.file.project.index.function(self.root).qualname


def item_calls(file: SourceFile, *names: str) -> Iterator[ItemCall]:
    """The calls with one of these last names that a data set makes whenever it is asked for an item."""
    if not file.mentions(_DATA_SETS):
        return
    for site in file.hot_calls(*names):
        if site.hot is None or site.hot.kind != "data":
            continue
        root = _root(file, site)
        if root is not None and not _kept(file, site):
            yield ItemCall(site, root)


def _root(file: SourceFile, site: Site) -> FunctionKey | None:
    """The `__getitem__` that a call is made for."""
    assert site.hot is not None
    index = file.project.index
    outline = index.outlines.get(site.hot.path)
    for number, record in enumerate(outline.functions if outline is not None else ()):
        if record.header_line == site.hot.line and record.name in _ITEM_METHODS:
            return FunctionKey(site.hot.path, number)
    return None


def turns_in(item: ItemCall) -> CallSite | None:
    """The call that a loop runs several times for one item: the call itself, or that of the helper it stands in."""
    site, project = item.site, item.site.file.project
    if _looped(site.file.outline, site.record.region):
        return CallSite(site.file.path, site.record)
    key = FunctionKey(site.file.path, site.function)
    callers = project.hotness.callers.get(key, ()) if key != item.root else ()
    looped = (one for one in callers if _looped(project.index.outlines[one.path], one.call.region))
    return next((one for one in looped if one.path == item.root.path and one.call.function == item.root.index), None)


def _looped(outline: Outline, region: int) -> bool:
    regions = outline.regions
    while regions[region].kind not in ("loop", "comprehension", "function", "class"):
        region = regions[region].parent
    return regions[region].kind in ("loop", "comprehension") and (regions[region].turns or FEW_TURNS + 1) > FEW_TURNS


def _kept(file: SourceFile, site: Site) -> bool:
    """Whether a decorator keeps what the function of a call gives, or what one around it gives."""
    number = site.function
    while number:
        record = file.outline.functions[number]
        if any(last_part(decorator) in _KEPT for decorator in record.decorators):
            return True
        number = record.parent
    return False


def called(site: Site) -> str:
    """The canonical dotted name of what a call calls, also where its module is imported inside a function by name.

    `h5py = lazy_import("h5py")`, `h5py = importlib.import_module("h5py")`; "" where nobody knows.
    """
    known = site.file.denotes(site.call.func, site)
    if known is not None and "()" not in known:
        return known
    head, _, rest = chain(site.call.func).partition(".")
    body = site.file.project.body(site.file.path)
    found = (body.reaching(site.function, head, site.start) or []) if body is not None and rest else []
    return f"{head}.{rest}" if found and all(_imports(d.value, head) for d in found) else ""


def _imports(node: ast.expr | None, module: str) -> bool:
    if not isinstance(node, ast.Call) or "import" not in last_part(chain(node.func)) or not node.args:
        return False
    return isinstance(node.args[0], ast.Constant) and node.args[0].value == module


def stream_of(item: ItemCall, node: ast.expr) -> ast.expr | None:
    """The call that opened the file which an expression is, where the item opens it for itself; None for others."""
    body, site = item.site.file.project.body(item.site.file.path), item.site
    if isinstance(node, ast.Name) and body is not None:
        reaching = body.reaching(site.function, node.id, site.start) or []
        only = reaching[0] if len(reaching) == 1 and reaching[0].how in ("assign", "with") else None
        node = only.value if only is not None and only.value is not None else node
    return node if isinstance(node, ast.Call) and last_part(chain(node.func)) == "open" else None


def seeks(item: ItemCall, node: ast.expr) -> bool:
    """Whether the function of a call sets the position in the file that an expression is: it reads one record then."""
    body = item.site.file.project.body(item.site.file.path)
    return body is not None and any(name == "seek" for name, _ in body.uses(item.site.function, chain(node)))


# -- the same for every item ---------------------------------------------------------------------------


def same_for_every_item(item: ItemCall, node: ast.expr) -> bool:
    """Whether an expression of an item's call is known to be the same whatever item is asked for."""
    return _Same(item.site.file, item.root).of(node, item.site.frame.anew(), _DEEP)


class _Same:
    """Answers for one file and one `__getitem__`."""

    def __init__(self, file: SourceFile, root: FunctionKey) -> None:
        self.project = file.project
        self.root = root

    def of(self, node: ast.expr | None, frame: Frame, depth: int) -> bool:
        if depth <= 0 or node is None:
            return False
        if isinstance(node, ast.Constant):
            return True
        if isinstance(node, ast.Name):
            return self._name(node, frame, depth)
        if isinstance(node, ast.Attribute):
            return self._attribute(node, frame, depth)
        parts = _parts(node)
        return parts is not None and all(self.of(part, frame, depth - 1) for part in parts)

    def _name(self, node: ast.Name, frame: Frame, depth: int) -> bool:
        body = self.project.body(frame.path)
        if body is None:
            return False
        reaching = body.reaching(frame.function, node.id, frame.at)
        record = self.project.index.function(FunctionKey(frame.path, frame.function))
        position = next((n for n, p in enumerate(record.parameters) if p.name == node.id), None)
        if reaching:
            if position is not None or not all(d.how in ("assign", "with") and d.value is not None for d in reaching):
                return False
            return all(self.of(d.value, frame._replace(at=d.at), depth - 1) for d in reaching)
        if position is not None:
            return self._parameter(frame, position, node.id, depth)
        # A name of the module, which outlives the item; one of a function around it may be anything.
        return frame.function == 0 or (record.parent == 0 and node.id not in body.definitions(frame.function))

    def _parameter(self, frame: Frame, position: int, name: str, depth: int) -> bool:
        """Whether every call in sight gives a helper the same; a `__getitem__` is given the index."""
        key = FunctionKey(frame.path, frame.function)
        record = self.project.index.function(key)
        if record.bound and position == 0:
            return True
        if record.name in _ITEM_METHODS:
            return False
        sites = self.project.hotness.callers.get(key, ())
        given = [self._given(site.path, site.call, position - record.bound, name, depth) for site in sites]
        return bool(given) and all(given)

    def _given(self, path: str, record: object, position: int, name: str, depth: int) -> bool:
        body = self.project.body(path)
        call = body.node_of(record) if body is not None else None  # type: ignore[arg-type]
        if call is None or unpacks(call):
            return False
        argument = keyword(call, name)
        if argument is None and position < len(call.args):
            argument = call.args[position]
        frame = Frame(path, record.function, (record.line, record.column))  # type: ignore[attr-defined]
        return argument is None or self.of(argument, frame, depth - 1)

    def _attribute(self, node: ast.Attribute, frame: Frame, depth: int) -> bool:
        record = self.project.index.function(FunctionKey(frame.path, frame.function))
        own = record.parameters[0].name if record.bound and record.parameters else ""
        base = node.value
        if isinstance(base, ast.Name) and base.id == own:
            return self._is_set_up_once(frame, node.attr)
        return self.of(base, frame, depth - 1)

    def _is_set_up_once(self, frame: Frame, attribute: str) -> bool:
        """Whether an attribute of the data set is neither a property nor assigned while items are made."""
        index, hot = self.project.index, self.project.hotness.functions
        cls = index.class_of(frame.path, frame.function)
        if cls is None or index.method(cls, attribute) is not None:
            return False
        for one in index.ancestry(cls):
            body = self.project.body(one.path) if one.kind == "class" else None
            for method in index.record(one).methods.values() if body is not None else ():
                reason = hot.get(FunctionKey(one.path, method))
                assigned = body is not None and any(name == attribute for name, _, _ in body.self_assignments(method))
                if assigned and reason is not None and reason.kind == "data":
                    return False
        return True


def _parts(node: ast.expr) -> list[ast.expr] | None:
    """What an expression is made of, where nothing else decides what it is; None for others."""
    if isinstance(node, ast.JoinedStr):
        return [part.value for part in node.values if isinstance(part, ast.FormattedValue)]
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.Subscript):
        return [node.value, node.slice]
    if isinstance(node, ast.Tuple | ast.List):
        return list(node.elts)
    if isinstance(node, ast.IfExp):
        return [node.test, node.body, node.orelse]
    if isinstance(node, ast.Call) and last_part(chain(node.func)) in _KEEPS_A_PATH:
        receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
        given = arguments(node)
        return given if receiver is None else [receiver, *given]
    return None
