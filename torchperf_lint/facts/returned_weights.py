"""Parts of what a function returns that all its callers drop: attention weights that are handed back for nobody.

return out, weights            x, attn = self.attention(q, k, v)          # and nothing reads `attn`
                               x, self.attn = self.attention(q, k, v)     # nor `.attn`, in the whole project
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.bodies import Body
from torchperf_lint.facts.index import CallSite, FunctionKey
from torchperf_lint.facts.kept_unread import is_kept_unread
from torchperf_lint.facts.project import Project

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


def is_dropped(project: Project, key: FunctionKey, position: int, kept: list[str], hops: int = _HOPS) -> bool:
    """Whether all callers in sight, and there are some, leave a part of what a function returns unread.

    Attributes that they keep it in for nobody are added to `kept`, as written.
    """
    sites = project.hotness.callers.get(key, ())
    if not 0 < len(sites) <= _MANY or hops <= 0 or position == 0:
        return False
    return all(_drops(project, site, position, kept, hops) for site in sites)


def _drops(project: Project, site: CallSite, position: int, kept: list[str], hops: int) -> bool:
    body = project.body(site.path)
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
                return _is_unread(project, body, site, taken.id, kept, hops)
            if taken is None or not is_kept_unread(project, site.path, site.call.function, taken):
                return False
            kept.append(ast.unparse(taken))
            return True
    return False


def _is_unread(project: Project, body: Body, site: CallSite, name: str, kept: list[str], hops: int) -> bool:
    """Whether nothing reads a name, but for returns whose callers drop it in turn."""
    function = site.call.function
    places = [position_returned(body, function, use) for use in body.reads(function, name)]
    key = FunctionKey(site.path, function)
    return all(place is not None and is_dropped(project, key, place, kept, hops - 1) for place in places)
