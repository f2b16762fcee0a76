"""Functions that draw the next token: `sample_logits(logits, temperature, top_p)`.

Each token of a text is drawn once, whatever loop goes through them, and whoever runs the model.
"""

from __future__ import annotations

from torchperf_lint.facts.call_graph.index import FunctionKey, Index
from torchperf_lint.facts.roles.role import Role
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

SAMPLER = Role(
    "rollout",
    "draws a token of its logits, as a decoding loop does for every new one",
    "in every decoding step",
    Confidence.LIKELY,
)
_DRAWS = pattern(r"(?:^|_)(?:sampl\w*|draw|nucleus|next_token|top_?[kp])(?:_|$)")
_LOGITS = pattern(r"^(?:\w+_)?logits$")
_HOW = frozenset({"temperature", "temp", "top_k", "top_p", "topk", "topp", "filter_thres"})
"""What the drawing is set by; losses of sampled classes have none of these."""


def draws_a_token(index: Index, key: FunctionKey) -> bool:
    """Whether a function is given logits first, and how to draw of them: a temperature, how many are in question."""
    function = index.function(key)
    given = [parameter.name for parameter in function.parameters[function.bound :]]
    if len(given) < 2 or not _DRAWS.search(function.name) or not _LOGITS.match(given[0]):
        return False
    return not _HOW.isdisjoint(given[1:]) and index.outlines[key.path].imports_from("torch")
