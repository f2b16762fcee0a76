"""Settings: parameters that callers give alike at every step, by name, annotation and tests; objects that hold them."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from torchperf_lint.facts.bindings.bindings import Narrowing
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.bindings.hints import (
    NUMBERS,
    SEQUENCES,
    annotation_words,
    default_of,
    numeric_parameter,
    scalar_parameter,
)
from torchperf_lint.facts.outlines.records import Position
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.literals import is_text
from torchperf_lint.patterns import pattern

LITERAL = "literal"
"""Written out, or counted."""
CONFIGURED = "configured"
"""Set by a constructor and nowhere else, or handed on as a setting."""
SHAPE = "shape"
"""Follows from the shapes of tensors, which the host knows without asking the device."""
GIVEN = "given"
"""Handed on by callers that nobody sees, as a setting by its name or annotation: steps most often give it alike."""
_ORDER = (LITERAL, CONFIGURED, SHAPE, GIVEN)

_OF_SHAPES = pattern(r"(?:^|_)(?:shapes?|sizes?|grids?|resolutions?|t?hw)(?:_list)?$")
"""Parameters that hand on the shapes of inputs, as lists of numbers."""
_SIDES = pattern(r"(?:^|_)(?:height|width|[hw])$")
"""Parameters that hand on one side of an input, where they are annotated as one number, or the other side is, too."""
_OTHER_SIDES = {"height": "width", "width": "height", "h": "w", "w": "h"}
_OF_AN_INPUT = pattern(r"^(?:image_size|(?:img|ori|pad|batch_input|pad_img)_shape)$")
"""What detectron2's `Instances` and mmdetection's records of a sample hold of its image: two numbers, or three.

In DETR, `orig_size` is a tensor, and in LLaVA `image_sizes`.
"""
_SETTINGS = pattern(
    r"(?:^|_)(?:weights?|weightings?|sigmas?|alphas?|betas?|gammas?|deltas?|lambdas?|means?|stds?|variances?|scales?|"
    r"scalings?|factors?|thresholds?|tolerances?|quantiles?|ratios?|temperatures?|margins?|strides?|"
    r"anchors?|eps(?:ilons?)?|colou?rs?|fill|fill_value|padding_value|bins?|bin_edges|edges|"
    r"freqs?|frequencies|ranges?|limits?|bounds|momentum|dim|channels?|heads|radius|max_period|theta|sample_rate|wavelengths?|bandwidths?|"
    r"n_fft)$",
    re.IGNORECASE,
)
"""Parameters that hand on what somebody chose once."""
_OF_VOCABULARY = pattern(r"(?:^|_)(?:eos|bos|pad|sep|cls|mask|unk|start|stop)_(?:token_?)?ids?$")
"""Parameters that hand on the ids of a tokenizer's special tokens."""
_DATA = pattern(
    r"(?:^|_)(?:ids?|idx|index|indices|indexes|lengths?|lens?|labels?|targets?|scores?|logits?|probs?|counts?|tokens?|"
    r"positions?|times?|timesteps?|timestamps?|steps?|t|durations?|points?|box(?:es)?|coords?|data|inputs?|outputs?|x|"
    r"y|batch|metas?|infos?|(?:sample|example|pixel|instance|token)_weights?|samples?|features?|offsets?|shifts?|values?|rewards?|"
    r"actions?|states?|observations?|obs|frames?|prompts?|angles?)$",
    re.IGNORECASE,
)
"""Parameters that hand on what the step is about."""
_CONFIGURATION = pattern(
    r"(?:^|\.)(?:\w*_)?(?:config|cfg|conf|hparams|hyper_?params)(?:\.[a-z_]+){0,2}$|(?:^|\.)_?(?:opts?|args)$"
    r"|^self\.defaults$",
    re.IGNORECASE,
)
"""Objects that hold settings, by their names, and parts of them: nothing changes those from step to step."""
_TABLE = pattern(
    r"(?:^|[._])(?:kwargs|opts?|options|settings|configs?|cfg|hparams|hyper_?params)(?:_\w+)?$", re.IGNORECASE
)
"""Tables of settings, by their names."""
_TESTED_NUMBERS = pattern(r"\b(?:int|float|Number|list|tuple|List|Tuple|Sequence)\b")
_TABLES = frozenset({"dict", "Dict", "Mapping"})
"""Words of an annotation that say what is known of each sample: `metas: list[dict]`."""
_OTHER = pattern(r"\b(?:Tensor|Parameter|ndarray|str|dict)\b")


def is_configuration(node: ast.expr) -> bool:
    """Whether an expression names an object that holds settings: `self.cfg`, `config.model`, `args`."""
    return _CONFIGURATION.search(chain(node)) is not None


def is_size_of_an_input(name: str) -> bool:
    """Whether an attribute or entry of a record of a sample, of which no more is known, is the size of its image."""
    return _OF_AN_INPUT.search(name) is not None


def unpacks_settings(call: ast.Call) -> bool:
    """Whether what a call unpacks are settings, which are kept in a table together: `f(x, **render_kwargs)`."""
    return all(_TABLE.search(chain(k.value)) or is_configuration(k.value) for k in call.keywords if k.arg is None)


def loosest(kinds: Sequence[str]) -> str:
    """Of LITERAL, CONFIGURED, SHAPE and GIVEN: what is made of several: the kind furthest from a literal."""
    return max(kinds, key=_ORDER.index)


def setting(body: Body, function: int, name: str, at: Position, once: bool = False) -> str | None:
    """CONFIGURED or SHAPE for a parameter that is a setting of numbers, as far as the function tells; else None.

    `at`: where it is used, as an `isinstance` test around that place tells what is handed on where no tensor is.
    `once`: whether the function is a constructor, whose `image_size` needs no annotation.
    """
    words = annotation_words(body, function, name)
    if _OF_SHAPES.search(name):
        return SHAPE if numeric_parameter(body, function, name) or (once and words is None) else None
    if _SIDES.search(name) and (scalar_parameter(body, function, name) or _is_one_of_two(body, function, name)):
        return SHAPE
    tested = body.narrowing(function, name, at)
    chosen = _OF_VOCABULARY.search(name)
    if (_DATA.search(name) and not chosen) or (tested is not None and tested.holds and _OTHER.search(tested.classes)):
        return None
    if words is not None and (words & _TABLES or ("str" in words and not words & SEQUENCES)):
        return None
    unsaid = words is None and not once  # a constructor may be given a tensor to keep
    if (chosen or _SETTINGS.search(name)) and (unsaid or (words is not None and words & (SEQUENCES | NUMBERS))):
        return CONFIGURED
    return CONFIGURED if tested is not None and _stands_in(tested) else None


def _is_one_of_two(body: Body, function: int, name: str) -> bool:
    """Whether an image's other side is a parameter as well, and nothing is said of both: `bev_h` beside `bev_w`.

    `h` and `w` alone may be a state and weights.
    """
    node = body.functions.get(function)
    side = name.rpartition("_")[2]
    other = name.removesuffix(side) + _OTHER_SIDES[side]
    if not isinstance(node, ast.FunctionDef) or len(name) == 1:
        return False
    plain = {a.arg for a in (*node.args.args, *node.args.kwonlyargs) if a.annotation is None}
    return {name, other} <= plain and all(default_of(node, one) is None for one in (name, other))


def is_mode(body: Body, function: int, name: str) -> bool:
    """Whether a parameter is a word that chooses among a few, `mode: str = "sobel"`."""
    words = annotation_words(body, function, name) or frozenset()
    default = default_of(body.functions.get(function), name)
    named = is_text(default)
    return (named or bool(words & {"str", "Literal"})) and not words & SEQUENCES


def holds_others(body: Body, function: int, name: str, at: Position) -> bool:
    """Whether what holds numbers was dealt with: `if all(isinstance(s, float) for s in sigma): ... else:`."""
    tested = body.narrowing(function, name, at, elements=True)
    return tested is not None and tested.holds is not bool(_TESTED_NUMBERS.search(tested.classes))


def _stands_in(tested: Narrowing) -> bool:
    """Whether a test says that numbers are handed on where a tensor may be: `if isinstance(sigma, (tuple, list))`."""
    return tested.holds and bool(_TESTED_NUMBERS.search(tested.classes))
