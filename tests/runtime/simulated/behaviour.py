"""What scripts rely on besides numbers, checked one by one on the simulated device: behaviour.py OUT."""

from __future__ import annotations

import copy
import gc
import inspect
import io
import json
import math
import os
import pickle
import sys
import threading
import traceback
import warnings
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from torchperf_lint.runtime import simulated

CUDA = torch.device("cuda", 0)


class Events:
    """Every event with the thread it came on; reset before each check."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []
        self.bytes: list[int] = []

    def _note(self, what: str) -> None:
        self.seen.append((what, threading.current_thread().name))

    def sync(self, what: str) -> None:
        self._note(what)

    def copy(self, direction: str, nbytes: int, pinned: bool, blocking: bool) -> None:
        self.bytes.append(nbytes)
        self._note(direction + ("" if blocking else "-async") + ("-pinned" if pinned else ""))

    def unsupported(self, what: str) -> None:
        self._note(f"unsupported: {what}")

    def named(self, what: str) -> list[str]:
        """The threads on which it happened."""
        return [thread for name, thread in self.seen if name == what]


EVENTS = Events()


class Rows(Dataset):
    def __len__(self) -> int:
        return 16

    def __getitem__(self, i: int) -> tuple[torch.Tensor, int]:
        return torch.full((4,), float(i)), i


def on(shape: tuple[int, ...] = (3,)) -> torch.Tensor:
    return torch.ones(shape, device="cuda")


def load(context: str) -> None:
    loader = DataLoader(Rows(), 4, num_workers=1, pin_memory=True, multiprocessing_context=context)
    total = torch.zeros((), device=CUDA)
    for rows, _ in loader:
        assert rows.is_pinned()
        assert not rows.clone().is_pinned()
        total += rows.cuda(non_blocking=True).sum()
    assert EVENTS.seen == [("h2d-async-pinned", "MainThread")] * 4
    assert total.item() == 480


def check_loader_fork() -> None:
    load("fork")


def check_loader_spawn() -> None:
    load("spawn")


def check_loader_forkserver() -> None:
    load("forkserver")


def check_a_thread_of_the_script() -> None:
    x, read = on(), []
    thread = threading.Thread(target=lambda: read.append(x.sum().item()), name="mine")
    thread.start()
    thread.join()
    assert read == [3.0]
    assert EVENTS.named("item") == ["mine"]


def check_hooks_on_the_threads_of_autograd() -> None:
    y, read = on().requires_grad_(), []
    y.register_hook(lambda grad: read.append(grad.sum().item()))
    (y * 2).sum().backward()
    assert read == [6.0]
    (thread,) = EVENTS.named("item")
    assert thread != "MainThread"


def check_hooks_stay_with_a_moved_parameter() -> None:
    layer, norms = nn.Linear(3, 2), []
    layer.weight.register_post_accumulate_grad_hook(lambda p: norms.append(p.grad.norm().item()))
    layer.weight.register_hook(lambda grad: grad * 2)
    layer.cuda()(on((1, 3))).sum().backward()
    assert norms == [torch.full((2, 3), 2.0).norm().item()]


def check_an_optimizer_made_before_the_move() -> None:
    layer = nn.Linear(3, 2)
    optimizer = torch.optim.Adam(layer.parameters(), 0.1)
    parameters = list(layer.parameters())
    layer.cuda()
    assert [id(p) for p in layer.parameters()] == [id(p) for p in parameters]
    assert type(layer.weight) is nn.Parameter
    before = layer.weight.detach().clone()
    layer(on((1, 3))).sum().backward()
    optimizer.step()
    assert (layer.weight != before).all()


def check_a_module_goes_back_with_its_gradients() -> None:
    layer = nn.Linear(3, 2).cuda()
    loss = layer(on((1, 3))).sum()
    loss.backward()
    EVENTS.seen.clear()
    layer.cpu()
    assert len(EVENTS.named("d2h")) == 4
    assert layer.weight.grad.device.type == "cpu"
    layer(torch.ones(1, 3)).sum().backward()
    assert torch.equal(layer.weight.grad, torch.full((2, 3), 2.0))


def check_tied_weights_move_once() -> None:
    embed, out = nn.Embedding(4, 3), nn.Linear(3, 4, bias=False)
    out.weight = embed.weight
    model = nn.ModuleList([embed, out]).to("cuda")
    assert model[0].weight is model[1].weight
    assert EVENTS.bytes == [48]


def check_parameter_subclasses_and_attributes_survive() -> None:
    class Marked(nn.Parameter):
        pass

    module = nn.Module()
    module.p = Marked(torch.ones(3))
    module.p.no_decay = True
    module.cuda()
    assert type(module.p) is Marked
    assert module.p.no_decay
    assert module.p.device == CUDA


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
    leaf = torch.ones(4, device=CUDA, requires_grad=True)
    doubled = leaf * 2
    doubled[1:3].mul_(3)
    doubled.sum().backward()
    assert leaf.grad.tolist() == [2, 6, 6, 2]


def check_copies_of_models_and_tensors() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)).cuda()
    EVENTS.seen.clear()
    twin = copy.deepcopy(model)
    assert EVENTS.seen == []
    assert all(value.device == CUDA for value in twin.state_dict().values())
    assert twin[0].weight.data_ptr() != model[0].weight.data_ptr()


def check_checkpoints() -> None:
    state = {"x": on(), "pair": [on((2,))[:1], 3]}
    file = io.BytesIO()
    torch.save(state, file)
    for location, device in ((None, "cuda"), ("cpu", "cpu"), ("cuda:0", "cuda"), (lambda storage, _: storage, "cpu")):
        file.seek(0)
        loaded = torch.load(file, map_location=location)
        assert loaded["x"].device.type == device, location
        assert loaded["pair"][0].tolist() == [1.0]
    assert pickle.loads(pickle.dumps(on())).device == CUDA


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


def check_autocast_casts_what_a_card_casts() -> None:
    layer, x = nn.Linear(4, 2).cuda(), on((3, 4))
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert layer(x).dtype == torch.bfloat16
        assert layer(x).softmax(1).dtype == torch.float32
        assert (x @ x.T).dtype == torch.bfloat16
        assert torch.cat([x, x.bfloat16()]).dtype == torch.float32
        assert (x + 1).dtype == torch.float32
        assert nn.functional.mse_loss(layer(x), layer(x)).dtype == torch.float32
        assert torch.ones(2, 2).mm(torch.ones(2, 2)).dtype == torch.float32
        with torch.autocast("cuda", enabled=False):
            assert layer(x).dtype == torch.float32
    with torch.amp.autocast("cuda"):
        layer(x).sum().backward()
        assert layer(x).dtype == torch.float16
    assert layer.weight.grad.dtype == torch.float32
    assert layer(x).dtype == torch.float32


def check_a_fused_optimizer_takes_the_scaler_without_a_read() -> None:
    layer = nn.Linear(4, 2).cuda()
    optimizer = torch.optim.AdamW(layer.parameters(), fused=True)
    scaler = torch.amp.GradScaler("cuda")
    before = layer.weight.detach().clone()
    EVENTS.seen.clear()
    scaler.scale(layer(on((1, 4))).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert EVENTS.seen == []
    assert not torch.equal(layer.weight, before)


def check_an_encoder_evaluates_padded_batches_and_says_how() -> None:
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(6, 2, 8, batch_first=True), 1).eval()
    x, padding = torch.randn(2, 4, 6), torch.tensor([[False] * 4, [False] * 2 + [True] * 2])
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        host = encoder(x, src_key_padding_mask=padding)
        EVENTS.seen.clear()
        device = encoder.cuda()(x.cuda(), src_key_padding_mask=padding.cuda()).cpu()
    torch.testing.assert_close(device[~padding], host[~padding])
    assert any("nested tensors" in what for what, _ in EVENTS.seen)


def check_a_forked_process_has_no_device() -> None:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            torch.ones(2).cuda()
        except RuntimeError as error:
            os.write(write, str(error).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert b"Cannot re-initialize CUDA in forked subprocess" in os.read(read, 1000)
    os.close(read)
    os.close(write)


def check_grad_scaler_skips_what_overflows() -> None:
    layer = nn.Linear(4, 2).cuda()
    optimizer = torch.optim.SGD(layer.parameters(), 0.1)
    scaler = torch.amp.GradScaler("cuda", init_scale=2.0**16)
    before = layer.weight.detach().clone()
    scaler.scale(layer(on((1, 4))).sum() * float("inf")).backward()
    EVENTS.seen.clear()
    scaler.step(optimizer)
    assert [what for what, _ in EVENTS.seen] == ["item"]
    scaler.update()
    assert torch.equal(layer.weight, before)
    assert scaler.get_scale() == 2.0**15


def check_streams_and_events() -> None:
    stream = torch.cuda.Stream()
    default = torch.cuda.current_stream()
    assert default == torch.cuda.default_stream() != stream
    with torch.cuda.stream(stream):
        assert torch.cuda.current_stream() == stream
        on().record_stream(stream)
    assert torch.cuda.current_stream() == default
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    end.record(stream)
    stream.wait_event(end)
    assert stream.query()
    assert EVENTS.seen == []
    elapsed = start.elapsed_time(end)
    assert math.isnan(elapsed)
    assert [what for what, _ in EVENTS.seen] == [
        "unsupported: Event.elapsed_time: the simulated device measures no time; nan was returned"
    ]


def check_queries() -> None:
    assert torch.cuda.is_available()
    assert torch.cuda.is_initialized()
    assert torch.cuda.is_bf16_supported()
    assert (torch.cuda.device_count(), torch.cuda.current_device()) == (1, 0)
    assert "simulated" in torch.cuda.get_device_name(0)
    assert torch.cuda.get_device_capability() == (8, 0)
    assert torch.cuda.get_device_properties("cuda:0").total_memory > 0
    torch.cuda.set_device(0)
    with torch.cuda.device(0):
        torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    torch.cuda.nvtx.range_push("step")
    torch.cuda.nvtx.range_pop()
    assert torch.accelerator.current_accelerator() == torch.device("cuda")
    assert EVENTS.seen == []
    assert torch.cuda.memory_allocated() == 0
    assert torch.cuda.max_memory_reserved() == 0
    assert len(EVENTS.seen) == 1
    assert "does not track its memory" in EVENTS.seen[0][0]


def check_sync_debug_mode_warns_and_refuses() -> None:
    x = on()
    torch.cuda.set_sync_debug_mode("warn")
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            x.sum().item()
            torch.nn.functional.one_hot(x.long())
            torch.cuda.synchronize()
        torch.cuda.set_sync_debug_mode("error")
        try:
            x.cpu()
        except RuntimeError as error:
            assert "synchronizing CUDA operation" in str(error)
        else:
            raise AssertionError("the copy was let through")
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert [Path(warning.filename).name for warning in caught] == ["behaviour.py"] * 2


def check_a_second_device_is_not_there() -> None:
    for ask in (lambda: torch.zeros(2, device="cuda:1"), lambda: torch.cuda.set_device(1), lambda: on().to("cuda:1")):
        try:
            ask()
        except RuntimeError as error:
            assert "invalid device ordinal" in str(error)
        else:
            raise AssertionError("a device that is not there was used")


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


def check_compile_runs_eagerly_and_says_so() -> None:
    layer = torch.compile(nn.Linear(3, 2).cuda())

    @torch.compile(fullgraph=True)
    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    layer.compile()
    assert double(layer(on((1, 3)))).shape == (1, 2)
    said = [what for what, _ in EVENTS.seen if what.startswith("unsupported")]
    assert said == ["unsupported: torch.compile runs eagerly under simulation"]


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


def check_what_cannot_be_simulated_is_named() -> None:
    attempts = (
        torch.cuda.CUDAGraph,
        lambda: torch.sparse_coo_tensor(torch.tensor([[0]], device=CUDA), on((1,)), (3,), check_invariants=False),
        lambda: on((2, 2)).to_sparse(),
        lambda: torch.distributed.init_process_group("nccl", store=torch.distributed.HashStore(), rank=0, world_size=1),
    )
    for attempt in attempts:
        EVENTS.seen.clear()
        try:
            attempt()
        except RuntimeError:
            assert any(what.startswith("unsupported: ") for what, _ in EVENTS.seen)
        else:
            raise AssertionError("this was simulated after all")


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


def check_patches_look_like_what_they_replace() -> None:
    assert torch.Tensor.to.__name__ == "to"
    assert "dtype" in torch.Tensor.to.__doc__
    assert torch.zeros.__doc__.strip().startswith("zeros(")
    assert list(inspect.signature(torch.cuda.synchronize).parameters) == ["device"]
    assert next(iter(inspect.signature(torch.compile).parameters)) == "model"


def check_subclasses_and_modes_still_have_their_say() -> None:
    seen = []

    class Mine(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            seen.append(function)
            return super().__torch_function__(function, types, args, kwargs or {})

    moved = torch.ones(3).as_subclass(Mine).to("cuda")
    assert type(moved) is Mine
    assert moved.device == CUDA
    assert torch.Tensor.to in seen

    class Watch(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            seen.append(function)
            return function(*args, **(kwargs or {}))

    seen.clear()
    with Watch():
        torch.zeros(3, device="cuda").sum().item()
    assert seen[0] is torch.zeros
    assert [what for what, _ in EVENTS.seen if what != "copy"] == ["h2d", "item"]


def check_dispatch_modes_see_the_operators() -> None:
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
            seen.append(str(operator))
            return operator(*args, **(kwargs or {}))

    x = on()
    with Watch():
        (x + 1).sum().item()
    assert seen == ["aten.add.Tensor", "aten.sum.default", "aten._local_scalar_dense.default"]


def check_torchscript() -> None:
    def scale(x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x) * torch.ones_like(x) + torch.zeros([1], device=x.device)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        assert torch.jit.script(scale)(on()).tolist() == [1, 1, 1]
        assert torch.jit.script(nn.Linear(3, 2).cuda())(on((1, 3))).device == CUDA


def check_higher_gradients_checkpointing_and_functions() -> None:
    x = torch.full((3,), 2.0, device=CUDA, requires_grad=True)
    (first,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert second.tolist() == [12, 12, 12]

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, value):
            ctx.save_for_backward(value)
            return value * value

        @staticmethod
        def backward(ctx, grad):
            return 2 * ctx.saved_tensors[0] * grad

    from torch.utils.checkpoint import checkpoint

    checkpoint(lambda value: Square.apply(value).relu(), x, use_reentrant=False).sum().backward()
    assert x.grad.tolist() == [4, 4, 4]
    assert torch.func.grad(lambda value: (value**2).sum())(x.detach()).tolist() == [4, 4, 4]
    assert torch.func.vmap(lambda row: row.sum())(on((4, 3))).shape == (4,)


def check_every_optimizer_steps() -> None:
    for name in ("SGD", "Adam", "AdamW", "Adagrad", "Adadelta", "RMSprop", "NAdam", "RAdam", "Adamax", "ASGD", "Rprop"):
        weights = {}
        for device in ("cuda", "cpu"):
            torch.manual_seed(0)
            layer = nn.Linear(3, 2)
            layer.to(device)
            optimizer = getattr(torch.optim, name)(layer.parameters(), lr=0.01)
            for _ in range(3):
                optimizer.zero_grad()
                layer(torch.ones(1, 3, device=device)).square().sum().backward()
                optimizer.step()
            weights[device] = layer.weight.detach().cpu()
        torch.testing.assert_close(weights["cuda"], weights["cpu"])


def check_a_data_parallel_of_one_device() -> None:
    assert nn.DataParallel(nn.Linear(3, 2).cuda())(on((4, 3))).shape == (4, 2)


def check_a_second_install_is_refused() -> None:
    try:
        simulated.install(EVENTS)
    except simulated.UnavailableError as error:
        assert "already" in str(error)
    else:
        raise AssertionError("installed twice")


def main() -> None:
    simulated.install(EVENTS)
    results = {}
    for name, check in list(globals().items()):
        if name.startswith("check_"):
            EVENTS.seen.clear()
            EVENTS.bytes.clear()
            try:
                check()
            except Exception:  # noqa: BLE001
                results[name] = traceback.format_exc() + f"\nevents: {EVENTS.seen[-12:]}"
            else:
                results[name] = None
    Path(sys.argv[1]).write_text(json.dumps(results), encoding="utf-8")


if __name__ == "__main__":
    main()
