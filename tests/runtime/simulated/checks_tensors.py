"""What tensors look like and where they may be: devices, views, storages, generators, pinned memory."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import warnings

import numpy as np
import torch
from harness import CUDA, EVENTS, on, raised
from torch import nn
from torch.utils.data import random_split


def check_the_face_of_a_tensor() -> None:
    x = on((2, 3))
    assert x.device == torch.device("cuda:0") == CUDA
    assert (x.is_cuda, x.is_cpu, x.get_device(), x.type()) == (True, False, 0, "torch.cuda.FloatTensor")
    assert isinstance(x, torch.cuda.FloatTensor)
    assert not isinstance(x, torch.cuda.LongTensor)
    assert type(x) is torch.Tensor
    assert "device='cuda:0'" in repr(x)
    assert x.data.is_cuda
    assert x.untyped_storage().device == CUDA
    assert x.view(-1).untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    assert x[1].storage_offset() == 3


def check_types_of_old_take_sizes_and_values() -> None:
    assert torch.cuda.FloatTensor(2, 3).shape == (2, 3)
    assert torch.cuda.FloatTensor(torch.Size([2, 3])).shape == (2, 3)
    drawn = torch.cuda.FloatTensor(np.array([[1.0, 2.0]]))
    assert (drawn.tolist(), drawn.dtype, drawn.device) == ([[1.0, 2.0]], torch.float32, CUDA)
    assert torch.cuda.LongTensor([3, 4]).tolist() == [3, 4]


def check_the_default_type_of_old_is_that_of_every_constructor() -> None:
    elsewhere: list[torch.device] = []
    torch.set_default_tensor_type("torch.cuda.FloatTensor")
    made = (torch.Tensor([1.0]), torch.Tensor(2, 3), torch.Tensor(), torch.Tensor(np.ones(2)), torch.ones(2))
    assert [x.device for x in made] == [CUDA] * 5
    assert [tuple(x.shape) for x in made] == [(1,), (2, 3), (0,), (2,), (2,)]
    assert torch.FloatTensor([1.0]).device.type == "cpu"
    assert nn.Linear(2, 2).weight.device == CUDA
    host = torch.ones(2, device="cpu")
    for x in (host.pin_memory(), torch.empty(2, pin_memory=True, device="cpu")):
        assert (x.device.type, x.is_pinned(), x.untyped_storage().is_pinned()) == ("cpu", True, True)
    assert (host.is_pinned(), host.untyped_storage().is_pinned()) == (False, False)
    rows = torch.utils.data.TensorDataset(torch.ones(4, 2, device="cpu"))
    loader = torch.utils.data.DataLoader(rows, pin_memory=True)
    assert [x.is_pinned() for (x,) in loader] == [True] * 4
    thread = threading.Thread(target=lambda: elsewhere.append(torch.zeros(2).device))
    thread.start()
    thread.join()
    x = torch.ones(2, requires_grad=True)
    doubled = x * 2
    doubled.register_hook(lambda gradient: elsewhere.append(torch.zeros(2).device))
    doubled.sum().backward()
    assert elsewhere == [CUDA, CUDA], "a default device is of one thread, a default type of all"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch deprecates it
        torch.set_default_tensor_type("torch.FloatTensor")
    assert {torch.Tensor([1.0]).device.type, torch.Tensor(2).device.type, torch.ones(2).device.type} == {"cpu"}


def check_views_and_writes_in_place() -> None:
    x = torch.arange(12.0, device=CUDA).view(3, 4)
    x.t()[1].mul_(10)
    x[0].zero_()
    x[:, 2:].add_(1)
    x.unsqueeze_(0).squeeze_(0)
    assert x.cpu().tolist() == [[0, 0, 1, 1], [4, 50, 7, 8], [8, 90, 11, 12]]
    out = torch.empty(0, device=CUDA)
    torch.add(x, x, out=out)
    assert out.shape == (3, 4)
    assert torch.equal(out, 2 * x)
    assert out.resize_(2, 2).shape == (2, 2)
    columns = torch.arange(6.0, device=CUDA).reshape(2, 3).t()
    assert columns.resize_(3, 2).tolist() == [[0, 3], [1, 4], [2, 5]], "resized to the size it has"
    assert columns.resize_(2, 3).tolist() == [[0, 1, 2], [3, 4, 5]]
    leaf = torch.ones(4, device=CUDA, requires_grad=True)
    doubled = leaf * 2
    doubled[1:3].mul_(3)
    doubled.sum().backward()
    assert leaf.grad.tolist() == [2, 6, 6, 2]


def check_default_device_and_device_contexts() -> None:
    with torch.device("cuda"):
        assert nn.Linear(3, 2).weight.device == CUDA
        assert torch.zeros(2, device="cpu").device.type == "cpu"
    torch.set_default_device("cuda")
    try:
        assert torch.zeros(2).device == CUDA
        assert torch.tensor([1]).device == CUDA
    finally:
        torch.set_default_device(None)
    assert torch.zeros(2).device.type == "cpu"
    assert torch.zeros(2, device=0).device == CUDA


def check_generators_and_seeds() -> None:
    torch.manual_seed(3)
    first = torch.rand(4, device=CUDA)
    torch.manual_seed(3)
    assert torch.equal(first.cpu(), torch.rand(4))
    torch.manual_seed(3)
    torch.rand(100)
    assert torch.equal(first, torch.rand(4, device=CUDA))
    generator = torch.Generator(device="cuda").manual_seed(5)
    assert generator.device == CUDA
    assert isinstance(generator, torch.Generator)
    assert isinstance(torch.default_generator, torch.Generator)
    assert b"torchperf" not in pickle.dumps(torch.Generator())
    assert pickle.loads(pickle.dumps(torch.Generator().manual_seed(9))).initial_seed() == 9
    one = torch.randn(3, device=CUDA, generator=generator)
    state = torch.cuda.get_rng_state()
    two = torch.rand(3, device=CUDA)
    torch.cuda.set_rng_state(state)
    assert torch.equal(two, torch.rand(3, device=CUDA))
    assert torch.equal(one, torch.randn(3, device=CUDA, generator=generator.manual_seed(5)))


def check_devices_do_not_mix() -> None:
    x = on((2, 2))
    assert (x * torch.tensor(2.0)).sum().item() == 8
    for mix in (
        lambda: x + torch.ones(2, 2),
        lambda: x @ torch.ones(2, 2),
        lambda: nn.Linear(2, 2)(x),
        x.numpy,
    ):
        try:
            mix()
        except (RuntimeError, TypeError):
            continue
        raise AssertionError("host and device tensors were mixed")


def put(x: torch.Tensor, index: object, value: object) -> torch.Tensor:
    x[index] = value
    return x


def check_a_tensor_of_the_host_is_not_read_by_an_index_of_the_device() -> None:
    host, rows, mask = torch.ones(4, 1), torch.tensor([1, 2], device=CUDA), torch.ones(4, device=CUDA) > 0
    said = "RuntimeError: indices should be either on cpu or on the same device as the indexed tensor (cpu)"
    assert {raised(lambda: host[rows]), raised(lambda: host[mask]), raised(lambda: host[:, rows])} == {said}
    assert on((4, 1))[torch.tensor([1, 2])].device == CUDA
    assert EVENTS.seen[-2:][0][0] == "h2d"


def check_a_tensor_of_the_host_is_written_where_an_index_of_the_device_says() -> None:
    """ATen fetches the index, and a mask's places with a wait for their count."""
    rows, mask = torch.arange(2, device=CUDA), torch.arange(4, device=CUDA) > 2
    EVENTS.seen.clear()
    assert put(torch.zeros(4), rows, torch.ones(2)).tolist() == [1, 1, 0, 0]
    assert put(torch.zeros(4), mask, 1.0).tolist() == [0, 0, 0, 1]
    assert [what for what, _ in EVENTS.seen if what != "copy"] == ["d2h", "nonzero", "d2h"]


def check_what_is_written_by_an_index_is_on_the_device_or_a_number() -> None:
    x, rows, mask = on((4, 3)), torch.tensor([0, 1], device=CUDA), torch.arange(4, device=CUDA) > 1
    apart = "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and"
    for index in (rows, mask, rows.cpu()):
        assert raised(lambda index=index: put(x, index, torch.zeros(2, 3))).startswith(apart)
    assert raised(lambda: put(torch.ones(4, 3), rows, x[:2])).startswith(apart)
    accumulated = raised(lambda: x.index_put_((rows,), torch.zeros(2, 3), accumulate=True))
    assert accumulated == "RuntimeError: expected device cuda:0 but got device cpu for value tensor"
    for index in (rows, mask, mask.cpu()):
        put(x, index, 2.0), put(x, index, torch.tensor(2.0)), put(x, index, torch.ones(3, device=CUDA))


def check_refusals_name_cuda() -> None:
    told = raised(lambda: on().__setitem__(0, on()))
    assert "torch.cuda.FloatTensor{[3]}" in told and "simulated" not in told, told
    told = raised(lambda: on().__setitem__(slice(None), on().to_sparse()))
    assert "self type = torch.cuda.FloatTensor and src type = torch.cuda.sparse.FloatTensor" in told, told


def check_generators_draw_for_their_own_device() -> None:
    host, device = torch.Generator(), torch.Generator(device="cuda")
    for draw in (
        lambda: torch.rand(3, device=CUDA, generator=host),
        lambda: torch.randperm(3, device=CUDA, generator=host),
        lambda: on().normal_(generator=host),
        lambda: torch.multinomial(on(), 1, generator=torch.default_generator),
    ):
        assert raised(draw) == "RuntimeError: Expected a 'cuda' device type for generator but found 'cpu'"
    filled = torch.zeros(3)
    for draw in (
        lambda: torch.rand(3, generator=device),
        lambda: torch.randperm(3, generator=device),
        lambda: random_split(range(4), [2, 2], generator=device),
        lambda: filled.normal_(generator=device),
        lambda: nn.init.uniform_(filled, generator=device),
        lambda: torch.multinomial(torch.ones(3), 1, generator=device),
        lambda: torch.bernoulli(torch.ones(3), generator=device),
        lambda: torch.normal(torch.zeros(3), 1.0, generator=device),
        lambda: torch.normal(0.0, 1.0, (3,), generator=device),
    ):
        assert raised(draw) == "RuntimeError: Expected a 'cpu' device type for generator but found 'cuda'"
    for fitting in (device, device.clone_state(), copy.deepcopy(device), torch.cuda.default_generators[0]):
        assert torch.rand(3, device=CUDA, generator=fitting).device == CUDA
        assert on().normal_(generator=fitting).device == CUDA
    assert filled.tolist() == [0, 0, 0]
    assert torch.multinomial(torch.ones(3), 2, generator=host).shape == filled.bernoulli_(generator=host)[1:].shape
    assert torch.rand(3, generator=host, pin_memory=True).is_pinned()
    assert torch.rand(3, generator=host, device="meta").is_meta


def check_numpy_names_the_device() -> None:
    x = on()
    said = "TypeError: can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host"
    assert all(raised(read).startswith(said) for read in (x.numpy, lambda: np.asarray(x), lambda: np.array([x])))
    assert x.numpy(force=True).tolist() == torch.ones(3).numpy().tolist() == [1, 1, 1]


def check_bytes_and_pinned_sides_of_converting_copies() -> None:
    wide, pinned = torch.ones(4, 6), torch.ones(4, 6).pin_memory()
    cases = {
        "h2d": (lambda: wide.to("cuda", torch.float16), 48),
        "h2d-async": (lambda: wide.to("cuda", torch.float16, non_blocking=True), 96),
        "h2d-async-pinned": (lambda: pinned.to("cuda", torch.float16, non_blocking=True), 96),
        "d2h": (lambda: x.to("cpu", torch.float16), 96),
        "d2h-async-pinned": (lambda: x.to("cpu", torch.float16, non_blocking=True), 48),
    }
    x = on((4, 6))
    for name, (make, nbytes) in cases.items():
        EVENTS.seen.clear()
        EVENTS.bytes.clear()
        assert make().dtype == torch.float16
        assert [what for what, _ in EVENTS.seen if what != "copy"] == [name]
        assert EVENTS.bytes == [nbytes], name


def check_pinned_memory_ends_with_its_storage() -> None:
    from torchperf_lint.runtime.simulated import memory

    before = len(memory._pinned)
    pinned = torch.ones(10).pin_memory()
    view = pinned[2:]
    assert pinned.pin_memory() is pinned
    del pinned
    assert view.is_pinned()
    assert len(memory._pinned) == before + 1
    del view
    gc.collect()
    assert len(memory._pinned) == before


def check_a_second_device_is_not_there() -> None:
    for ask in (lambda: torch.zeros(2, device="cuda:1"), lambda: torch.cuda.set_device(1), lambda: on().to("cuda:1")):
        try:
            ask()
        except RuntimeError as error:
            assert "invalid device ordinal" in str(error)
        else:
            raise AssertionError("a device that is not there was used")
