"""Objects that change the logits of the next token by a rule: `logit_filter.apply(logits, tokens)`.

A decoding loop goes through a list of them, of which nothing says what it holds. What they are given tells: what the
network gave for the next token, beside the tokens so far.
"""

from __future__ import annotations

from torchperf_lint.facts.call_graph.index import Index, Thing

FILTERS = frozenset({"apply", "process", "filter"})
"""What their method is called."""
_SCORES = frozenset({"logits", "scores", "next_token_logits", "next_token_scores", "logprobs"})
_TOKENS = frozenset({"tokens", "input_ids", "generated", "generated_ids", "prev_tokens", "token_ids"})


def filters_logits(index: Index, cls: Thing, name: str) -> bool:
    """Whether a method takes the logits of the next token and the tokens so far, and hardly anything else."""
    key = index.method(cls, name)
    if key is None:
        return False
    function = index.function(key)
    first_two = {p.name for p in function.parameters[function.bound : function.bound + 2]}
    return bool(first_two & _SCORES) and bool(first_two & _TOKENS)
