"""Algorithms that run on the host only: what is handed to them has to be copied there."""

from __future__ import annotations

import ast

from torchperf_lint.facts.copies.array_models import given_to_another_library
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.arguments import arguments
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.patterns import pattern

_LIBRARIES = frozenset(
    "librosa pesq pystoi mir_eval museval srmrpy pyworld soundfile onnxruntime lap lapsolver lapx pycocotools nltk "
    "sacrebleu rouge_score gym gymnasium scann faiss annoy hnswlib pycolmap".split()
)
"""Audio scores and files, sessions of other runtimes, assignment, text scores, environments, nearest neighbours."""
_FUNCTIONS = (
    *("scipy.optimize.", "scipy.sparse.", "scipy.spatial.", "torchvision.io."),
    *("scipy.stats.beta.", "scipy.stats.spearmanr", "scipy.stats.kendalltau"),
    *("scipy.special.stdtr", "scipy.special.betainc", "scipy.special.gammaincinv", "scipy.special.bdtr"),
    *("cv2.connectedComponents", "cv2.findContours", "cv2.minAreaRect", "cv2.watershed", "cv2.solvePnP", "cv2.imwrite"),
)
"""Of libraries of which other functions, such as filters, have a counterpart in torch."""
_PARTLY = frozenset(name.partition(".")[0] for name in _FUNCTIONS)


_SESSION = pattern(r"(?:^|[._])(?:sess|session)_?\.run$")
"""A session of another runtime, which takes arrays: of onnxruntime, of tensorflow of old."""


def feeds_host_only(file: SourceFile, site: Site) -> bool:
    """Whether the function around a copy, or a function of the file that it calls, calls such an algorithm.

    Or whether the copy is for an object of another library, which takes arrays.
    """
    if given_to_another_library(file, site):
        return True
    if not any(dotted.partition(".")[0] in _LIBRARIES | _PARTLY for dotted in file.outline.imports.values()):
        return False
    functions = {site.function}
    called = {last_part(call.callee) for call in file.outline.calls if call.function == site.function}
    called = {name for name in called - api.TENSOR_ONLY_METHODS if _may_get(file, site, name)}
    functions |= {n for n, record in enumerate(file.outline.functions) if record.name in called}
    return any(_calls_host_only(file, call.callee) for call in file.outline.calls if call.function in functions)


def _may_get(file: SourceFile, site: Site, name: str) -> bool:
    """Whether what is copied may come to a function that is called: not where it only goes into an entry elsewhere."""
    around = file.enclosing(site.function)
    statement = around.statement(site.call)
    if not isinstance(statement, ast.Assign) or not all(isinstance(t, ast.Subscript) for t in statement.targets):
        return True
    roots = {chain(target).partition("[")[0] for target in statement.targets}
    calls = [node for node in around.parents if isinstance(node, ast.Call) and last_part(chain(node.func)) == name]
    given = (part for call in calls for part in arguments(call))
    return any(node is site.call or chain(node) in roots for part in given for node in ast.walk(part))


def _calls_host_only(file: SourceFile, callee: str) -> bool:
    if _SESSION.search(callee):
        return True
    head, _, rest = callee.partition(".")
    dotted = file.outline.imports.get(head, "")
    return _is_host_only(f"{dotted}.{rest}" if rest else dotted)


def _is_host_only(dotted: str) -> bool:
    return dotted.partition(".")[0] in _LIBRARIES or dotted.startswith(_FUNCTIONS)
