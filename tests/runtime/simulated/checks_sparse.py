"""Sparse tensors: gradients of embeddings, adjacency matrices; what of them a card waits for."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial

import torch
from harness import CUDA, EVENTS, on, raised
from torch import nn

from torchperf_lint.runtime.simulated.sparse import shared


def heard() -> list[str]:
    """What happened since the last look; a blocking copy is one event."""
    events = [what for what, _ in EVENTS.seen if what != "copy"]
    EVENTS.seen.clear()
    return events


def matrix(device: object = "cpu") -> torch.Tensor:
    """2 by 3, one of its places twice."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch says once that it does not check the indices
        made = torch.sparse_coo_tensor(torch.tensor([[0, 1, 1], [2, 0, 0]]), torch.tensor([3.0, 4.0, 5.0]), (2, 3))
    return made.to(device)


def check_sparse_tensors_are_made_and_moved() -> None:
    x = matrix(CUDA)
    assert heard() == ["h2d", "h2d"]
    assert (x.device, x.is_cuda, x.is_sparse, x._nnz(), x.is_coalesced()) == (CUDA, True, True, 3, False)
    assert (x._indices().device, x._values().device) == (CUDA, CUDA)
    assert heard() == []
    assert x.cpu().to_dense().tolist() == [[0, 0, 3], [9, 0, 0]]
    assert heard() == ["d2h", "d2h"]
    assert matrix().coalesce().to(CUDA).is_coalesced()
    assert "device='cuda:0'" in repr(x)


def check_merging_waits_for_a_count() -> None:
    x = matrix(CUDA)
    heard()
    merged = x.coalesce()
    assert heard() == ["coalesce"]
    assert merged.coalesce() is merged
    assert heard() == []
    assert (merged.indices().tolist(), merged.values().tolist()) == ([[0, 1], [2, 0]], [3, 9])
    assert x.pow(2).is_coalesced()
    assert heard() == ["d2h", "d2h", "coalesce"]


def check_products_merge_what_is_not_merged() -> None:
    x, dense = matrix(CUDA), on((3, 4))
    merged = x.coalesce()
    heard()
    for product in (torch.sparse.mm(merged, dense), merged @ dense, torch.mv(merged, dense[:, 0])):
        assert product.device == CUDA
    assert heard() == []
    assert torch.sparse.mm(x, dense).tolist() == [[3] * 4, [9] * 4]
    assert heard() == ["coalesce", "d2h"]
    weight = nn.Parameter(on((3, 2)))
    torch.sparse.mm(merged, weight).sum().backward()
    assert heard() == ["coalesce"], "the transposed matrix of the backward pass is not merged"
    assert weight.grad.tolist() == [[9, 9], [0, 0], [3, 3]]


def check_sums_are_not_merged() -> None:
    x = matrix(CUDA).coalesce()
    heard()
    twice = x + x
    dense = torch.zeros(2, 3, device=CUDA).add_(twice, alpha=0.5)
    assert (twice._nnz(), twice.is_coalesced()) == (4, False)
    assert heard() == []
    assert dense.tolist() == [[0, 0, 3], [9, 0, 0]]
    four = twice + twice
    assert heard() == ["d2h", "coalesce"], "more entries than places"
    assert (four._nnz(), four.to_dense().tolist()) == (2, [[0, 0, 12], [36, 0, 0]])


def check_writes_in_place() -> None:
    x = matrix(CUDA)
    heard()
    x.mul_(2).add_(x)
    assert x.to_dense().tolist() == [[0, 0, 12], [36, 0, 0]]
    assert x.zero_()._nnz() == 0
    assert not any("unsupported" in what for what in heard())
    assert on((2, 3)).sparse_mask(matrix(CUDA).coalesce())._values().tolist() == [1, 1]
    torch.zeros(2, 3, device=CUDA).to_sparse()
    assert "nonzero" in heard()


def learned_values(device: str, *, merged: bool) -> torch.Tensor:
    values = torch.tensor([3.0, 4.0, 5.0], device=device, requires_grad=True)
    places = torch.tensor([[0, 1, 1], [2, 0, 0]], device=device)
    made = torch.sparse_coo_tensor(places, values, (2, 3), check_invariants=False)
    if merged:
        torch.sparse.sum(made.coalesce() * 2, 1).to_dense().square().sum().backward()
    else:
        torch.sparse.mm(made, torch.arange(6.0, device=device).reshape(3, 2)).square().sum().backward()
    return values.grad


def check_values_are_learned() -> None:
    for merged in (False, True):
        assert learned_values("cuda", merged=merged).tolist() == learned_values("cpu", merged=merged).tolist()
        said = [what.split()[1] for what in heard() if "unsupported" in what]
        assert said == ["_sparse_sum_backward"] * merged


def check_a_sparse_tensor_is_cut_to_anothers_places() -> None:
    x, other = matrix(CUDA), on((2, 3)).to_sparse()
    merged, part = x.coalesce(), matrix(CUDA).coalesce() * 10
    heard()
    for given, mask in ((merged, other), (x, other), (merged, x), (x, part)):
        cut = given.sparse_mask(mask)
        assert (cut.device, cut._nnz(), cut.is_coalesced()) == (CUDA, mask._nnz(), mask.is_coalesced())
        assert heard() == [], "what is not merged is sorted, and not merged"
        assert cut.cpu().to_dense().tolist() == given.cpu().sparse_mask(mask.cpu()).to_dense().tolist()
        heard()
    assert x.sparse_mask(x)._values().tolist() == [3, 4, 5]


def check_a_kernel_that_is_lacking_is_named() -> None:
    x = matrix(CUDA)
    heard()
    told = raised(lambda: shared(torch.ops.aten.sparse_mask.default)(x.coalesce(), matrix(CUDA).coalesce()))
    assert told == "RuntimeError: sparse_mask has no kernel on the simulated CUDA device"
    assert f"unsupported: {told.partition(': ')[2]}" in heard()


def check_what_is_not_known_is_said() -> None:
    x = matrix(CUDA).coalesce()
    heard()
    assert torch.sparse.softmax(x, 1)._values().tolist() == [1, 1]
    (said,) = [what for what in heard() if what.startswith("unsupported")]
    assert said == "unsupported: _sparse_softmax of sparse tensors: what a card waits for in it is not known"


def trained(make: Callable[[], nn.Module], optimizer: type[torch.optim.Optimizer], device: str) -> torch.Tensor:
    torch.manual_seed(0)
    module = make().to(device)
    steps = optimizer(module.parameters(), lr=0.1)
    given = [torch.tensor([1, 2, 2, 3], device=device)]
    if isinstance(module, nn.EmbeddingBag):
        given.append(torch.tensor([0, 2], device=device))
    heard()
    for _ in range(3):
        steps.zero_grad()
        module(*given).square().sum().backward()
        assert module.weight.grad.is_sparse
        steps.step()
    return module.weight.detach()


def check_sparse_gradients_train_embeddings() -> None:
    plain = partial(nn.Embedding, 10, 4, sparse=True)
    summed = partial(nn.EmbeddingBag, 10, 4, mode="sum", sparse=True)
    averaged = partial(nn.EmbeddingBag, 10, 4, mode="mean", sparse=True)
    padded = partial(nn.Embedding, 10, 4, padding_idx=2, sparse=True)
    momentum = partial(torch.optim.SGD, momentum=0.9)
    merges = ["coalesce"] * 3
    for make, optimizer, events in (
        (plain, torch.optim.SGD, []),
        (plain, torch.optim.SparseAdam, merges),
        (plain, torch.optim.Adagrad, merges),
        (plain, momentum, []),
        (summed, torch.optim.SGD, []),
        (summed, torch.optim.Adagrad, merges),
        (averaged, torch.optim.SparseAdam, merges),
        (padded, torch.optim.SGD, ["mask-index"] * 6),
    ):
        host = trained(make, optimizer, "cpu")
        device = trained(make, optimizer, "cuda")
        assert heard() == events, (make, optimizer)
        assert torch.allclose(device.cpu(), host), (make, optimizer)
