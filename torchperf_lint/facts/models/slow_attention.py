"""Where attention is left with its math backend: by a context around it, or by switches of the process."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_false
from torchperf_lint.patterns import pattern

_CONTEXT = ("torch.nn.attention.sdpa_kernel",)
_OLD_CONTEXT = ("torch.backends.cuda.sdp_kernel", "torch.backends.cuda.sdpa_kernel")
_FLASH = "torch.backends.cuda.enable_flash_sdp"
_EFFICIENT = "torch.backends.cuda.enable_mem_efficient_sdp"
_CUDNN = "torch.backends.cuda.enable_cudnn_sdp"
_DERIVES_AGAIN = ("create_graph", "jvp", "hessian", "jacobian", "jacrev", "jacfwd", "forward_ad", "gradgrad")
"""Second derivatives and forward mode have no fused kernel of attention."""
_MATH_VARIANT = pattern(r"math|naive|reference|eager", re.IGNORECASE)
"""Functions that offer this backend beside others: who calls them has chosen it."""


def math_only(file: SourceFile) -> Iterator[Site]:
    """The calls after which attention has no other backend; none in a file that needs it."""
    if file.mentions(_DERIVES_AGAIN):
        return
    for site in file.calls_of(*_CONTEXT):
        chosen = _MATH_VARIANT.search(file.outline.functions[site.function].qualname)
        if site.call.args and _names_math_only(site.call.args[0]) and not chosen:
            yield site
    for site in file.calls_of(*_OLD_CONTEXT):
        if all(is_false(site.keyword(name)) for name in ("enable_flash", "enable_mem_efficient")) and _no_cudnn(site):
            yield site
    off: dict[int, dict[str, Site]] = {}
    for site in file.calls_of(_FLASH, _EFFICIENT, _CUDNN):
        given = site.call.args[0] if site.call.args else site.keyword("enabled")
        name = file.denotes(site.call.func, site) or ""
        switched = off.setdefault(site.function, {})
        if is_false(given):
            switched[name] = site
        else:  # a variable, or switched on again
            switched.pop(name, None)
            switched["on"] = site
    for switched in off.values():
        if {_FLASH, _EFFICIENT} <= set(switched) and "on" not in switched:
            yield switched[_FLASH]


def _names_math_only(node: ast.expr) -> bool:
    backends = node.elts if isinstance(node, ast.List | ast.Tuple | ast.Set) else [node]
    return bool(backends) and all(last_part(chain(backend)) == "MATH" for backend in backends)


def _no_cudnn(site: Site) -> bool:
    """cuDNN's attention is one of the backends since 2.5, and on unless it is told to be off."""
    given = site.keyword("enable_cudnn")
    return given is None or is_false(given)
