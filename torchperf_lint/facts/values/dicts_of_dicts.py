"""Functions that hand back a dict of dicts, whatever they are annotated to return.

    def training_step(self, batch) -> Dict[str, float]:    # as it was before
        metrics = {"loss": loss.detach()}
        return {"metrics": metrics, "samples": float(len(batch))}

What has dicts in it is no dict of numbers: the code says what is in it, not the annotation.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.bodies import Body


def gives_dicts_of_dicts(body: Body, function: int) -> bool:
    """Whether all that a function returns is written down as dicts, one of which holds another."""
    returned = body.returns(function)
    dicts = [node for node in returned if isinstance(node, ast.Dict)]
    return len(dicts) == len(returned) and any(_is_dict(body, function, v) for d in dicts for v in d.values)


def _is_dict(body: Body, function: int, node: ast.expr) -> bool:
    if isinstance(node, ast.Name):
        bound = body.assigned_once(function, node.id, body.at(node))
        return isinstance(bound, ast.Dict | ast.DictComp)
    return isinstance(node, ast.Dict | ast.DictComp)
