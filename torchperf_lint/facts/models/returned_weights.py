"""Parts of what a function returns that all its callers drop: attention weights that are handed back for nobody.

return out, weights            x, attn = self.attention(q, k, v)          # and nothing reads `attn`
                               x, self.attn = self.attention(q, k, v)     # nor `.attn`, in the whole project
                               if return_attention: return attn           # off by default
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey
from torchperf_lint.facts.constants.off_flags import OffFlags
from torchperf_lint.facts.files.kept_unread import is_kept_unread
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile

_HOPS = 3
_MANY = 12


def position_returned(body: Body, function: int, node: ast.expr) -> int | None:
    """Where in the tuple that a function returns an expression stands; None where it is not handed back so."""
    for returned in body.returns(function):
        if isinstance(returned, ast.Tuple):
            found = next((n for n, part in enumerate(returned.elts) if part is node), None)
            if found is not None:
                return found
    return None


class Dropped:
    """Asks all callers in sight whether they need a part of what a function returns."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.kept: list[str] = []
        """Attributes that keep it for nobody, as written."""
        self.flags: list[str] = []
        """Flags of callers, off by default, on which they read it."""

    def by_all(self, key: FunctionKey, position: int, hops: int = _HOPS) -> bool:
        """Whether all callers, and there are some, leave the part unread, at least by default."""
        sites = self.project.hotness.callers.get(key, ())
        if not 0 < len(sites) <= _MANY or hops <= 0 or position == 0:
            return False
        return all(self._by(site, position, hops) for site in sites)

    def _by(self, site: CallSite, position: int, hops: int) -> bool:
        body = self.project.body(site.path)
        call = body.node_of(site.call) if body is not None else None
        around = body.functions.get(site.call.function) if body is not None else None
        if body is None or call is None or around is None:
            return False
        for node in ast.walk(around):
            if isinstance(node, ast.Subscript) and node.value is call:
                return isinstance(node.slice, ast.Constant) and node.slice.value == 0
            if isinstance(node, ast.Assign) and node.value is call:
                target = node.targets[0]
                parts = target.elts if isinstance(target, ast.Tuple) and len(node.targets) == 1 else []
                taken = parts[position] if position < len(parts) else None
                if isinstance(taken, ast.Name):
                    return self._is_unread(body, site, taken.id, hops)
                return taken is not None and self._is_kept(site, taken)
        return False

    def _is_kept(self, site: CallSite, taken: ast.expr) -> bool:
        """Whether an attribute takes the part, and nothing reads that."""
        unread = is_kept_unread(self.project, site.path, site.call.function, taken)
        self.kept += [ast.unparse(taken)] if unread else []
        return unread

    def _is_unread(self, body: Body, site: CallSite, name: str, hops: int) -> bool:
        """Whether nothing reads a name, but on request, and for returns whose callers drop it in turn."""
        function = site.call.function
        file = SourceFile(self.project, site.path, self.project.text(site.path))
        off = OffFlags(file, function)
        for use in body.reads(function, name):
            flag = off.before(use)
            self.flags += [flag] if flag is not None else []
            place = position_returned(body, function, use)
            handed_on = place is not None and self.by_all(FunctionKey(site.path, function), place, hops - 1)
            if flag is None and not handed_on:
                return False
        return True
