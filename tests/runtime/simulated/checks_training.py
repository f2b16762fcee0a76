"""What training loops rely on: loaders, threads, moves, checkpoints, mixed precision, optimizers."""

from __future__ import annotations

import copy
import io
import pickle
import threading
import warnings

import torch
from harness import CUDA, EVENTS, on
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __len__(self) -> int:
        return 16

    def __getitem__(self, i: int) -> tuple[torch.Tensor, int]:
        return torch.full((4,), float(i)), i


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


def check_what_a_hook_reads_in_a_gradient_that_reads_nothing_itself() -> None:
    def unpack(value: torch.Tensor) -> torch.Tensor:
        assert (value > 0).any().item()
        return value

    with torch.autograd.graph.saved_tensors_hooks(lambda value: value, unpack):
        loss = (on().requires_grad_() * 2).max()
    assert not EVENTS.seen
    loss.backward()
    assert len(EVENTS.named("item")) == 2  # what is reduced, and the result


def check_hooks_on_the_threads_of_autograd() -> None:
    y, read = on().requires_grad_(), []
    y.register_hook(lambda grad: read.append(grad.sum().item()))
    (y * 2).sum().backward()
    assert read == [6.0]
    (thread,) = EVENTS.named("item")
    assert thread != "MainThread"


def check_searches_for_nan_are_told_from_what_hooks_read() -> None:
    y, read = on().requires_grad_(), []
    y.register_hook(lambda grad: read.append(bool(grad.isnan().any())))
    with torch.autograd.set_detect_anomaly(True):
        (y * 2).sum().backward()
    assert (len(EVENTS.named("anomaly-mode")), len(EVENTS.named("item"))) == (2, 1)
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        (on().requires_grad_() * 2).sum().backward()
    (on().requires_grad_() * 2).sum().backward()
    assert len(EVENTS.seen) == 3


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


def check_a_data_parallel_copies_what_the_host_gives_it() -> None:
    model = nn.DataParallel(nn.Linear(3, 2)).cuda()
    given, pinned = torch.ones(4, 3), torch.ones(4, 3).pin_memory()
    EVENTS.seen.clear()
    out = model(given)
    assert out.device == CUDA
    assert [what for what, _ in EVENTS.seen] == ["h2d-async"]
    EVENTS.seen.clear()
    model(pinned)
    assert [what for what, _ in EVENTS.seen] == ["h2d-async-pinned"]


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
