"""Matrices that torch factors or inverts, and then asks the device whether that worked: it raises on the host if not.

    L = torch.linalg.cholesky(A)             L, info = torch.linalg.cholesky_ex(A)      # asks nobody
    inverse = A.inverse()                    inverse, info = torch.linalg.inv_ex(A)

`eigh`, `svd`, `lstsq` and `matrix_rank` wait, too, and have no variant that does not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.copies.on_device import on_device
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.facts.values.value import Value

UNCHECKED = {
    "inv": ("inv_ex", "inverse"),
    "inverse": ("inv_ex", "inverse"),
    "cholesky": ("cholesky_ex", "L"),
    "solve": ("solve_ex", "result"),
    "lu_factor": ("lu_factor_ex", ""),
    "ldl_factor": ("ldl_factor_ex", ""),
}
"""Function -> the variant in `torch.linalg` that does not wait, and the name of its result; "" where there are two."""
_FUNCTIONS = (
    *(f"torch.linalg.{name}" for name in UNCHECKED if name != "inverse"),
    "torch.inverse",
    "torch.cholesky",
)
_METHODS = ("inverse", "cholesky")


class Solution(NamedTuple):
    """A hot call that waits for its own check."""

    site: Site
    function: str
    """Its last name, of UNCHECKED."""
    matrix: ast.expr
    value: Value


def checked_solutions(file: SourceFile) -> Iterator[Solution]:
    """The hot calls of a file, of matrices on the device, where nothing handles the error that the check is for."""
    for site, matrix in (*_functions(file), *_methods(file)):
        if site.hot is None or site.hot.kind == "data" or _is_handled(site):
            continue
        value = on_device(file, site, matrix)
        if value is not None and value.kind == "tensor":
            yield Solution(site, last_part(site.record.callee), matrix, value)


def _functions(file: SourceFile) -> Iterator[tuple[Site, ast.expr]]:
    for site in file.calls_of(*_FUNCTIONS):
        matrix = site.call.args[0] if site.call.args else site.keyword("A") or site.keyword("input")
        if matrix is not None and not isinstance(matrix, ast.Starred) and not _asks_otherwise(site):
            yield site, matrix


def _methods(file: SourceFile) -> Iterator[tuple[Site, ast.expr]]:
    """Methods of tensors; those of transforms, `scaler.inverse(x)`, are given what they work on."""
    for site in file.hot_calls(*_METHODS):
        called = site.call.func
        if isinstance(called, ast.Attribute) and not site.call.args and file.denotes(called, site) not in _FUNCTIONS:
            yield site, called.value


def _asks_otherwise(site: Site) -> bool:
    """`out=`, or `lu_factor(pivot=False)`: other forms, of which little is known."""
    return site.keyword("out") is not None or site.keyword("pivot") is not None


def _is_handled(site: Site) -> bool:
    """Whether a `try` around the call has a way out for matrices that cannot be inverted: it needs the check."""
    parents = site.file.enclosing(site.function).parents
    node: ast.AST = site.call
    while node in parents:
        above = parents[node]
        if isinstance(above, ast.Try) and above.handlers and node in above.body:
            return True
        node = above
    return False
