"""Functions that nothing in the project calls and that do a step's work by what they are given: a model and a batch.

`def proto_adapt(model, batch, ways): ... return cross_entropy(logits, labels)` is what a training loop elsewhere calls.
"""

from __future__ import annotations

import re

from torchperf_lint.facts.call_graph.index import FunctionKey, Index
from torchperf_lint.facts.roles.cold import NOT_TRAINING_NAME
from torchperf_lint.facts.roles.operations import no_operation
from torchperf_lint.facts.roles.role import Role
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_BATCH = pattern(r"^(?:mini_?|train_|support_|query_)?batch$|^(?:task|episode)_batch$")
_MODEL = pattern(r"^(?:\w+_)?(?:model|net|network|learner|student|encoder|backbone)$")
_LOSS = pattern(r"loss|criterion|cross_entropy|^(?:mse|nll|l1|bce|kl_div)\b", re.IGNORECASE)

_STEP = Role(
    "step",
    "computes the loss of a batch that it is given, with a model that it is given: a training loop calls it every step",
    "every training step",
    Confidence.LIKELY,
)


def batch_role(index: Index, key: FunctionKey) -> Role | None:
    """The role of a plain function that nothing in the project calls, or None."""
    function = index.function(key)
    names = [p.name for p in function.parameters]
    if function.parent > 0 or function.class_index >= 0 or not any(map(_BATCH.match, names)):
        return None
    models = {name for name in names if _MODEL.match(name)}
    if not models or no_operation(key, function) or NOT_TRAINING_NAME.search(function.name):
        return None
    called = {call.callee for call in index.calls_in(key)}
    return _STEP if called & models and any(_LOSS.search(last_part(callee)) for callee in called) else None
