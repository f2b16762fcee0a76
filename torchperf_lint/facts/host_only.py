"""Algorithms that run on the host only: what is handed to them has to be copied there."""

from __future__ import annotations

from torchperf_lint.facts.chains import last_part
from torchperf_lint.facts.source import Site, SourceFile

_LIBRARIES = frozenset(
    "librosa pesq pystoi mir_eval museval srmrpy pyworld soundfile onnxruntime lap lapsolver lapx pycocotools nltk "
    "sacrebleu rouge_score gym gymnasium".split()
)
"""Audio scores and files, sessions of other runtimes, assignment, text scores, environments."""
_FUNCTIONS = ("scipy.optimize.", "scipy.sparse.", "scipy.spatial.", "torchvision.io.")


def feeds_host_only(file: SourceFile, site: Site) -> bool:
    """Whether the function around a copy, or a function of the file that it calls, calls such an algorithm."""
    if not any(
        dotted.partition(".")[0] in _LIBRARIES | {"scipy", "torchvision"} for dotted in file.outline.imports.values()
    ):
        return False
    functions = {site.function}
    called = {last_part(call.callee) for call in file.outline.calls if call.function == site.function}
    functions |= {n for n, record in enumerate(file.outline.functions) if record.name in called}
    return any(_calls_host_only(file, call.callee) for call in file.outline.calls if call.function in functions)


def _calls_host_only(file: SourceFile, callee: str) -> bool:
    head, _, rest = callee.partition(".")
    dotted = file.outline.imports.get(head, "")
    return _is_host_only(f"{dotted}.{rest}" if rest else dotted)


def _is_host_only(dotted: str) -> bool:
    return dotted.partition(".")[0] in _LIBRARIES or dotted.startswith(_FUNCTIONS)
