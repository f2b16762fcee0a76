"""Functions called after initialisation that make what each pass begins with: `coords = self.initialize_flow(image)`.

What sets something up once keeps its result in an object, or gives none; what is bound to a local name of hot code is
made anew each time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey, Index
from torchperf_lint.patterns import pattern

_INITIAL = pattern(
    r"^_?initiali[sz]e_(?!weights?$|parameters?$|model)\w|^_init_(?!weights?$|parameters?$|model)\w", re.IGNORECASE
)


def makes_beginnings(index: Index, callers: Mapping[FunctionKey, tuple[CallSite, ...]], key: FunctionKey) -> bool:
    """Whether every caller of a function with such a name puts what it gives into a local name."""
    if not _INITIAL.search(index.function(key).name):
        return False
    sites = callers.get(key, ())
    return bool(sites) and all(_is_bound(index, site) for site in sites)


def _is_bound(index: Index, site: CallSite) -> bool:
    given = f"{site.call.callee}()"
    bindings = (b for b in index.outlines[site.path].bindings if b.function == site.call.function)
    return any(b.value.startswith(given) and "." not in b.target for b in bindings)
