"""TPL109."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from torchperf_lint.confirming import by_events
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.hotness.handed_on import hands_batches_on
from torchperf_lint.facts.hotness.hot import place
from torchperf_lint.facts.indexing.fixed_masks import fixed_in
from torchperf_lint.facts.indexing.mask_shapes import missing_dimensions, tells_nans
from torchperf_lint.facts.indexing.masks import is_mask
from torchperf_lint.facts.indexing.purposes import (
    BY_GROUP,
    BY_ROW,
    CHECKED,
    COUNTED,
    EACH_LAYER,
    FILLED,
    FIRST,
    FIXED,
    FOUND,
    FULL,
    GROUPS,
    LOST,
    MARKED,
    ONE_A_ROW,
    ONE_ROW,
    OWN_STEP,
    RANKED,
    REDUCED,
    SCATTERED,
    STEADY,
    TALLIED,
    WRITTEN,
)
from torchperf_lint.facts.indexing.selected import purpose
from torchperf_lint.facts.indexing.selections import (
    CHANGE,
    DISTINCT,
    INDICES,
    STORE,
    Selection,
    base_beside,
    selections,
)
from torchperf_lint.facts.indexing.selections_again import is_used_again
from torchperf_lint.facts.indexing.unpadded import Unpadded, unpadded
from torchperf_lint.facts.indexing.value_loops import of_groups
from torchperf_lint.facts.syntax.conditions import short, words
from torchperf_lint.model import Confidence, Finding, Severity, Verdict
from torchperf_lint.rule import SourceRule


class DataDependentSize(SourceRule):
    """`x[mask]`, `nonzero`, `unique` on a device tensor in code that runs every step.

    ## What it does
    Flags operations on device tensors whose result is as large as the data say: `x[mask]` with a boolean tensor,
    `x[mask] = tensor` and `x[mask] *= c`, `torch.nonzero`, `argwhere`, `masked_select`, `torch.where` with one
    argument, `unique`; where that runs every training step or forward pass, and the same can be written without the
    size: a sum, mean or loss of what is selected, elements that are computed and written back by the same mask,
    values that lie one after the other already and take their places in another tensor, one constant row that goes to
    all of them, a check that only raises; a
    mask that is the same whatever the data, or in every turn of a loop, or that can only be full; a loop that selects
    from one row of a batch after the other, or the rows of one sample after the other; a step that looks for its own
    number in the table that the loop goes through, `(self.timesteps == t).nonzero()`, which the host can count; counts
    of values that go to their places in a table, `seen[values] += counts`; a loop through the values that occur, `for c
    in labels.unique()`, that reduces each one's rows; places that all take one number, `seen[places[mask]] = True`; the
    largest few of what is selected; the tokens of a mask, found anew in each attention layer.
    `unpad_sequence` by lengths on the device selects so from each sequence.

    ## Why it is slow
    The result can be allocated only when its size is known: the device counts, and the host waits for the count and
    for everything queued before it. `x[mask] = tensor` counts as well, `x[mask] *= c` counts twice, and the backward
    pass counts again.

    ## Example
    ```python
    import torch
    import torch.nn.functional as F
    from torch import nn

    class Masked(nn.Module):
        def __init__(self):
            super().__init__()
            self.proj = nn.Linear(64, 64)

        def forward(self, x: torch.Tensor, target: torch.Tensor):
            out = self.proj(x.to("cuda"))
            out[out < 0] *= 0.1
            known = ~torch.isnan(target)
            return F.mse_loss(out[known], target[known])
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    class Masked(nn.Module):
        def __init__(self):
            super().__init__()
            self.proj = nn.Linear(64, 64)

        def forward(self, x: torch.Tensor, target: torch.Tensor):
            out = self.proj(x.to("cuda"))
            out = torch.where(out < 0, out * 0.1, out)
            known = ~torch.isnan(target)
            error = torch.where(known, out - target, 0.0)
            return error.square().sum() / known.sum()
    ```
    In a cross entropy, `ignore_index`: `F.cross_entropy(logits, target.masked_fill(~known, -100))`. For features that
    take the places of tokens, `x[mask] = features`: `x.masked_scatter_(mask[..., None], features)`, which counts only
    in the backward pass, where the features need a gradient.

    ## When it is fine
    Numbers are filled in without a count; indices that are integers have a size; so have masks on the host:
    ```python
    import torch
    from torch import nn

    class Filled(nn.Module):
        def __init__(self):
            super().__init__()
            self.proj = nn.Linear(64, 64)

        def forward(self, x: torch.Tensor, order: torch.Tensor):
            out = self.proj(x.to("cuda"))
            out[out < 0] = 0.0
            return torch.where(out > 6, out.sqrt(), out)[order.argsort()]
    ```
    Where the algorithm needs the smaller tensor (a network that runs on what is selected only, detections that a user
    gets, a graph) the wait is its price: that is only `possible`, shown with `--confidence possible`. One mask that
    selects twice, or selects and is stored by, `out[mask] = f(x[mask])`, is reported all the same, as info, in
    evaluations and results for a user too: one search for its elements would do for all. So is what is selected only to
    be counted, `len(x[labels == c])`, and what is searched for its first place only, `if len(found): end = found[0]`.

    ## Fix safety
    There is no automatic fix: what is computed for all elements may be infinite where the mask is not set, and the
    gradient of that has to be kept out.

    ## Confirmed by
    A synchronisation at the line in at least half of the recorded steps; or several in a row, in a loop of its own. On
    a simulated device the waits of its gradient, in the backward pass, are told with it.

    ## References
    - PyTorch's documentation of `torch.nonzero`: on CUDA it causes host-device synchronisation.
    - PyTorch performance tuning guide, "Avoid unnecessary CPU-GPU synchronization".
    - NVIDIA, "Writing sync-free code".
    """

    code, name, since = "TPL109", "data-dependent-size", "0.1.0"
    triggers = (
        *("[", ".nonzero(", ".argwhere(", ".masked_select(", ".unique(", ".unique_consecutive(", "where("),
        "unpad_sequence(",
    )
    probes = ("host-sync",)
    of_gradients = True

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each hot selection; those by one mask share a root cause."""
        del project
        found = list(selections(file))
        causes: dict[object, str] = {}
        for selection in found:
            what, again = purpose(selection) or of_groups(selection, found), is_used_again(selection, found)
            what = _AGAIN if what is None and again else what
            for finding in self._judged(file, selection, what, again, found):
                cause = _cause(selection, causes)
                doubted = finding.confidence is Confidence.POSSIBLE  # it would hide what is shown by default
                yield replace(finding, root_cause=f"{cause}, perhaps" if doubted else cause)

        yield from (self._unpadded(file, one) for one in unpadded(file))

    def _unpadded(self, file: SourceFile, found: Unpadded) -> Finding:
        site, lengths = found.site, file.brief(found.lengths)
        assert site.hot is not None
        known = f"line {found.listed} has read as a list" if found.listed else "are read once, `.tolist()`"
        return self.found(
            site,
            message=f"`{file.brief(site.call)}` cuts each sequence by a mask on the device, whose elements the host "
            f"waits to have counted, {site.hot.when}",
            instead="cut by slices, whose ends the host has: `[s[:n] for s, n in zip(x, counts)]` (`x` with the batch "
            f"first), with the `{lengths}` that {known}",
            value=found.value,
            hot=site.hot,
            severity=Severity.INFO if site.hot.kind == "eval" or site.hot.evaluates else None,
            root_cause=f"TPL109 of sequences in function {site.function}",
        )

    def _judged(
        self, file: SourceFile, selection: Selection, what: str | None, again: bool, found: list[Selection]
    ) -> Iterator[Finding]:
        spot = selection.spot
        evaluates = spot.hot.evaluates or (
            spot.hot.kind == "eval" and not hands_batches_on(spot.file.project.index, spot.hot)
        )
        # Who evaluates may want what is selected; nobody wants the elements of what is only counted, or found again, or
        # whose places a constant row takes.
        unwanted = what in (COUNTED, FOUND, ONE_ROW, OWN_STEP, TALLIED) or again
        disputable = what is None or spot.hot.optional or (evaluates and not unwanted)
        if disputable and file.weakest is not Confidence.POSSIBLE:
            return
        value = base_beside(selection, found)
        if value is None:
            return
        mask = short(words(_as_mask(selection, what)))
        loop = fixed_in(selection) if what == FIXED else None
        within_a_step = loop is not None and not loop.hot
        mild = disputable or evaluates or within_a_step or what in (_AGAIN, BY_ROW, BY_GROUP, GROUPS, FIRST)
        yield self.found(
            spot,
            message=f"{_told(file, selection, mask)}, and the host waits for that {spot.hot.when}",
            instead=_instead(selection, what).format(
                mask=mask,
                whole=_whole(_as_mask(selection, what), mask),
                wide=_widened(selection, mask),
                loop=place(loop.path, loop.head, file.path) if loop is not None else "",
            ),
            value=value,
            hot=spot.hot,
            severity=Severity.INFO if mild else None,
            confidence=Confidence.POSSIBLE if disputable else None,
        )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By synchronisations at the selection."""
        return by_events(finding, run, run.at(finding, "sync"), "synchronisation", probes=self.probes)


def _cause(selection: Selection, causes: dict[object, str]) -> str:
    """What findings by one mask share, and those of one statement."""
    spot = selection.spot
    statement = spot.file.enclosing(spot.function).statement(spot.expression)
    places = ((spot.function, selection.key), statement)
    known = next((causes[place] for place in places if place in causes), None)
    cause = known or f"TPL109 of {selection.key} in function {spot.function}"
    causes.update(dict.fromkeys(places, cause))
    return cause


def _told(file: SourceFile, selection: Selection, mask: str) -> str:
    assert selection.spot.expression is not None
    written = file.brief(selection.spot.expression)
    if selection.form == CHANGE:
        return f"`{written}` is read and written by a mask: how many elements of `{mask}` are set is counted twice"
    if selection.form == STORE:
        return f"`{written} = ...` writes a tensor by a mask: how many elements of `{mask}` are set has to be counted"
    if selection.form == DISTINCT:
        return f"how many values `{written}` gives has to be counted on the device"
    return f"`{written}` is as large as `{mask}` has elements set, which has to be counted"


def _as_mask(selection: Selection, what: str | None) -> ast.expr:
    """A mask as it is written into the advice: `x != 0` of the numbers that `x.nonzero()` finds."""
    spot, mask = selection.spot, selection.mask
    if (
        selection.form != INDICES
        or what not in (WRITTEN, SCATTERED, COUNTED)
        or is_mask(spot.file.project.values, mask, spot.frame)
    ):
        return mask
    return ast.Compare(mask, [ast.NotEq()], [ast.Constant(0)])


def _whole(node: ast.expr, mask: str) -> str:
    """A mask as something to call a method of: `(labels != ignored).sum()`."""
    return mask if isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript) else f"({mask})"


def _widened(selection: Selection, mask: str) -> str:
    """The mask with as many dimensions as what it selects from, as far as those are known."""
    missing = missing_dimensions(selection)
    return f"{_whole(selection.mask, mask)}[...{', None' * missing}]" if missing else mask


def _instead(selection: Selection, what: str | None) -> str:
    one_value = what is None and selection.form == STORE  # nobody knows how many values there are
    if what in _OF_NANS and tells_nans(selection):
        return _OF_NANS[what]
    narrower = what in (WRITTEN, ONE_ROW, REDUCED) and missing_dimensions(selection) is None
    return (_ONE_VALUE if one_value else "") + _INSTEAD[what] + (_NARROWER if narrower else "")


_AGAIN = "again"
_NARROWER = "; a mask with fewer dimensions than `x`, one for each row, is `{whole}[..., None]` there"
_ONE_VALUE = "where one value goes everywhere, `x = torch.where({mask}, value, x)`; else "
_INSTEAD: dict[str | None, str] = {
    WRITTEN: "compute the new values for all elements and choose: `x = torch.where({wide}, new, x)`; for a product "
    "with 0 or a constant, `masked_fill`",
    ONE_ROW: "one row goes to all of them, however many: `x = torch.where({wide}, row, x)`, or `masked_fill` where its "
    "values are all the same",
    SCATTERED: "`x.masked_scatter_({mask}, values)`, the mask widened to the shape of `x` (`{whole}[..., None]`), puts "
    "values of the same dtype there without a count; where one value goes everywhere, "
    "`x = torch.where({mask}, value, x)`",
    REDUCED: "reduce all elements: `torch.where({wide}, x, 0).sum()`, divided by `{whole}.sum()` for a mean; for an "
    "extreme, fill the others "
    "with what never wins, for a median with NaN, and take `nanmedian`; of a `bincount`, set the `weights` of the "
    "others to 0",
    LOST: 'leave all elements in: `reduction="none"`, then `torch.where({mask}, loss, 0).sum()`, divided by '
    "`{whole}.sum()` for a mean; in a "
    "cross entropy, `ignore_index`",
    FILLED: "fill through the mask, which needs no indices: `x[{mask}] = value`, `x.masked_fill({mask}, value)`",
    CHECKED: "test all elements at once, with `amin`, `amax` or `any`, and read one answer, under a switch if need be",
    FOUND: "one place is read, which the mask tells without a count: `{whole}.int().argmax(-1)`, for all rows at once "
    "where a loop asks for each",
    FIRST: "one place is taken, which the mask tells without a count: `{whole}.int().argmax()`, of the last "
    "`(torch.arange(n, device=...) * {whole}).amax()`; that there is one, `{whole}.any()`, goes along in one read",
    OWN_STEP: "the number of the step is how often the loop has turned, which the host can count: hand it over, "
    "`for i, t in enumerate(...)`, or keep it on the object, `self.step_index += 1`",
    COUNTED: "count on the device: `{whole}.sum()`",
    STEADY: "no data decide over the mask: take a diagonal with `diagonal()`, other parts by slices, or by indices "
    "that are found once and kept, `rows = {whole}.nonzero(as_tuple=True)`",
    FIXED: "the mask is the same in every turn of the loop ({loop}): find its elements once before, and take them "
    "by their indices, which wait no more: `rows = {whole}.nonzero(as_tuple=True)`, then `x[rows]`",
    ONE_A_ROW: "take each row's by its place, which has a size: `last = torch.where({mask}, positions, -1).amax(1)`, "
    "then `x[torch.arange(len(x), device=x.device), last]`",
    BY_ROW: "select from all rows at once, and cut the result apart: `x[masks].split(masks.sum(-1).tolist())` waits "
    "twice, and not at each row",
    BY_GROUP: "sort by sample once, and cut the rows apart: `x[index.argsort()].split(index.bincount(minlength=n)"
    ".tolist())` waits once, and not for each sample; rows that lie sorted need no `argsort`",
    GROUPS: "reduce the rows of all values at once: `values, place = {whole}.unique(return_inverse=True)` waits once, "
    "and `index_add_` or `scatter_reduce_` by `place` for no value; where the values are numbers below a bound, "
    "`{mask}` itself is the place",
    EACH_LAYER: "all layers get the same mask: find the places once, before the first of them, and hand them on with "
    "it",
    TALLIED: "count at the places themselves, which have a size: `counts.index_add_(0, {whole}.flatten(), ones)`, with "
    "a one for each element",
    MARKED: "let one slot more take what is left out: `t.index_fill_(0, torch.where({mask}, places, n).flatten(), "
    "value)` of a `t` with `n + 1` slots, and read `t[:n]`",
    RANKED: "as many are taken whatever is selected: fill the others with what never wins, "
    "`x.masked_fill(~{whole}, -inf)`, and take `topk` of all",
    FULL: "the mask cannot leave out any, or the shapes would not fit: number the rows, `x[torch.arange(len(n), "
    "device=n.device), n]`, or `x.gather(1, n[:, None])`",
    _AGAIN: "find the elements once, and take and store them by their indices: `rows = "
    "{whole}.nonzero(as_tuple=True)`, then `x[rows]`, `y[rows]` (beside other indices `x[i, rows[0]]`), which wait no "
    "more",
    None: "keep the full size and a mask beside it, where the algorithm allows that",
}
_OF_NANS: dict[str | None, str] = {
    REDUCED: "reduce all elements: `torch.where({wide}, x, 0).sum()`, divided by `{whole}.sum()` for a mean; what is "
    "NaN and goes into `x` has to be filled before that, `y = torch.where({mask}, y, 0)`, or its gradient is NaN",
    LOST: "fill what is NaN before the loss, or its gradient is NaN whatever is chosen of it later: "
    "`y = torch.where({mask}, y, 0)`; then `reduction=\"none\"` and `torch.where({mask}, loss, 0).sum()`, divided by "
    "`{whole}.sum()` for a mean",
}
"""What a mask leaves out is NaN: 0 times that is NaN in the backward pass."""
