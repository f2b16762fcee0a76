"""Copies that go into a file in the same turn of a loop: what is saved has to come to the host, batch by batch."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import names_of

SAVERS = tuple(
    "save savez savez_compressed dump imwrite imsave save_image write_png write_jpeg tofile create_dataset "
    "to_parquet".split()
)
_MODULES = ("numpy", "torch", "pickle", "json", "cv2", "imageio", "skimage", "scipy", "PIL", "h5py", "safetensors")
_METHODS = frozenset({"tofile", "create_dataset", "to_parquet"})
_PASSES = 3
"""How many bindings lie between the copy and the file."""


def saved_at_once(file: SourceFile, site: Site) -> bool:
    """Whether what a copy gives is written to a file as often as it is copied: `np.save(path, features)`."""
    if site.hot is None or not file.mentions(SAVERS):
        return False
    saves = [other for other in _saves(file) if other.function == site.function]
    given = {name for save in saves for name in names_of(_written(save))}
    within = any(part is site.call for save in saves for part in ast.walk(_written(save)))
    return within or bool(given & made_of(file, site))


def _saves(file: SourceFile) -> Iterator[Site]:
    """The calls of a file that write a file wherever hot code stands, so under no cadence."""
    for site in file.hot_calls(*SAVERS):
        dotted = file.denotes(site.call.func, site) or ""
        name = last_part(site.record.callee)
        if _is_own(site) or name in _METHODS or dotted.startswith(_MODULES):
            yield site


def _written(save: Site) -> ast.expr:
    """What is written: of `picture.save(path)` the picture, of `np.save(path, x)` any argument."""
    return save.receiver if _is_own(save) and save.receiver is not None else save.call


def _is_own(save: Site) -> bool:
    """`picture.save(path)`: of `np.save(path, x)` and `log.save(x)` nothing is known."""
    imported = chain(save.call.func).partition(".")[0] in save.file.outline.imports
    return last_part(save.record.callee) == "save" and isinstance(save.receiver, ast.Name) and not imported


def made_of(file: SourceFile, site: Site) -> set[str]:
    """The names that hold the copy, what is made of it, and the elements that a loop takes from it."""
    around = file.enclosing(site.function)
    statement = around.statement(site.call)
    found = names_of(*statement.targets) if isinstance(statement, ast.Assign) else set()
    for _ in range(_PASSES if found else 0):
        for node in around.parents:
            if isinstance(node, ast.For) and names_of(node.iter) & found:
                found |= names_of(node.target)
            elif isinstance(node, ast.Assign) and names_of(node.value) & found:
                found |= names_of(*node.targets)
    return found
