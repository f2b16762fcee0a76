"""Where a fix would have to guess there is none: the finding stays, the text stays."""

from __future__ import annotations

from textwrap import dedent

import pytest
from fixing import fixed

from torchperf_lint.facts.fixes import stacking
from torchperf_lint.model import Confidence

LOOP = """\
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader

cuda = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def train(model: nn.Module, loader, optimizer, device=cuda):
    {before}
    for x, y in loader:
        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
        out = model(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {inside}
    {after}
"""


def looped(inside, before="total = 0.0", after="return total"):
    """A training loop with these statements before, in and after it."""
    parts = {"inside": (inside, 8), "before": (before, 4), "after": (after, 4)}
    return LOOP.format(**{key: text.replace("\n", "\n" + " " * room) for key, (text, room) in parts.items()})


@pytest.mark.parametrize(
    ("inside", "becomes", "number"),
    [
        ("total += loss.item()", "total += loss.detach()", "float"),
        ("total += loss.detach().item()", "total += loss.detach()", "float"),
        ("total += loss.item() * x.size(0)", "total += loss.detach() * x.size(0)", "float"),
        ("total += 0.5 * loss.item()", "total += 0.5 * loss.detach()", "float"),
        (
            "total += loss.item()\nif x.shape[0] > 3:\n    print(loss.item())",
            "total += loss.detach()\nif x.shape[0] > 3:\n    print(loss.item())",
            "float",
        ),
        ("total += out.mean().item()\nprint(y.item())", "total += out.mean().detach()\nprint(y.item())", "float"),
        ("total += (loss + out.mean()).item() / 2", "total += (loss + out.mean()).detach() / 2", "float"),
    ],
)
def test_a_sum_is_kept_on_the_device(inside, becomes, number):
    done = fixed(looped(inside), "TPL101")
    assert done.text == looped(becomes, after=f"total = {number}(total)\nreturn total")


@pytest.mark.parametrize(
    ("inside", "becomes", "number", "begun"),
    [
        ("total += float(loss)", "total += loss.detach()", "float", "0"),
        ("total += float(loss + out.mean())", "total += (loss + out.mean()).detach()", "float", "0.0"),
        ("total += int((out.argmax(1) == y).sum())", "total += (out.argmax(1) == y).sum()", "int", "0"),
        ("total += int(out.argmax(1).eq(y).sum())", "total += out.argmax(1).eq(y).sum()", "int", "0"),
        ("total += int((out.argmax(1) == y).sum())", "total += (out.argmax(1) == y).sum()", "float", "0.0"),
    ],
)
def test_a_conversion_is_made_behind_the_loop(inside, becomes, number, begun):
    done = fixed(looped(inside, f"total = {begun}"), "TPL103")
    if (number, "int(" in inside) == ("float", True):  # ints that begin with 0.0 might round
        assert done.text == looped(inside, f"total = {begun}")
    else:
        assert done.text == looped(becomes, f"total = {begun}", f"total = {number}(total)\nreturn total")


@pytest.mark.parametrize("inside", ["total += math.exp(loss)", "total += math.pow(loss, 2)"])
def test_a_function_of_a_number_is_not_added_up_on_the_device(inside):
    text = looped(inside).replace("import torch\n", "import math\n\nimport torch\n", 1)
    done = fixed(text, "TPL103")
    assert done.text == text
    assert done.report.findings


@pytest.mark.parametrize(
    ("inside", "before"),
    [
        ("total += loss.item()\nprint(total)", "total = 0.0"),
        ("total += loss.item()\nif loss.grad is None:\n    total = 0.0", "total = 0.0"),
        ("total += loss.item()\nif x.shape[0] > 3:\n    return total", "total = 0.0"),
        ("total += loss.item() + 1", "total = 0.0"),
        ("total += loss.item() * loss", "total = 0.0"),
        ("total += 1 / loss.item()", "total = 0.0"),
        ("total -= loss.item()", "total = 0.0"),
        ("total = total + loss.item()", "total = 0.0"),
        ("total += loss.item()", "total = 1.0"),
        ("total += loss.item()", "total = len(loader)"),
        ("total += loss.item()", "total = 0.0\nif model.training:\n    total = 0.0"),
        ("total += out.max().item()", "total = 0"),
        ("total += loss.item()", "total = 0.0\ndef show():\n    return total"),
        ("total[0] += loss.item()", "total = [0.0]"),
        ("model.total += loss.item()", "model.total = total = 0.0"),
        ("total += loss.item()\ntotal += loss.item()", "total = 0.0"),
        ("total += loss.item()\nprint(loss.item())", "total = 0.0"),
        ("total += loss.item()\nwith cuda:\n    model.log(loss.detach().item())", "total = 0.0"),
    ],
)
def test_a_number_that_does_more_than_add_up_is_read_where_it_is(inside, before):
    text = looped(inside, before)
    done = fixed(text, "TPL101")
    assert done.text == text
    assert done.report.findings


def test_two_sums_of_one_name_do_not_hold_each_other_up():
    inside = "total += loss.item()\nloss = F.l1_loss(out, x)\nseen += loss.item()"
    done = fixed(looped(inside, "total, seen = 0.0, 0.0", "return total, seen"), "TPL101")
    assert ".item()" not in done.text


def test_where_an_exception_may_lead_the_number_is_read():
    text = LOOP.replace("    for x", "    try:\n     for x").replace("        {inside}", "        total += loss.item()")
    text = text.format(before="total = 0.0", after="finally:\n        print(total)")
    assert fixed(text, "TPL101").text == text


@pytest.mark.parametrize(
    "expression",
    [
        "torch.FloatTensor(3).to(device)",
        "torch.zeros(3).cuda(gpu)",
        "torch.zeros(3).to(device, copy=True)",
        "torch.zeros(3).to(device, memory_format=torch.channels_last)",
        "torch.zeros(3).mul(torch.ones(3)).to(device)",
        "torch.zeros(3).type(torch.LongTensor).to(device)",
        "torch.zeros(3).to((d := device))",
        "torch.zeros(3)  # three\n            .to(device)",
        "torch.arange(n for n in [3]).to(device)",
    ],
)
def test_a_factory_that_cannot_take_the_device(expression):
    text = looped(f"mask = (\n            {expression}\n        )", "gpu = None")
    done = fixed(text, "TPL251")
    assert done.text == text


@pytest.mark.parametrize(
    "inside",
    [
        "mask = torch.zeros(3)\nother = mask.to(device)",
        "mask = torch.zeros(3)\nwhere = y.device\nmask = mask.to(where)",
    ],
)
def test_a_move_that_is_not_the_factorys_own_stays(inside):
    assert fixed(looped(inside, "pass"), "TPL251").text == looped(inside, "pass")


SAFE = """\
import torch
from torch.utils.data import DataLoader


def train(model: torch.nn.Module, data, optimizer):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loader = DataLoader(data, batch_size=8, num_workers=4, pin_memory=True)
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        model(x, y).mean().backward()
        optimizer.step()
"""


def test_a_copy_is_made_asynchronous_safely_where_all_is_known():
    done = fixed(SAFE, "TPL201", unsafe=False)
    assert done.text == SAFE.replace(".to(device)", ".to(device, non_blocking=True)")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (", pin_memory=True", ""),
        (", pin_memory=True", ", pin_memory=data.pin"),
        (", num_workers=4", ""),
        ("pin_memory=True", "pin_memory=True, collate_fn=data.collate"),
        ("model: torch.nn.Module, data", "model: torch.nn.Module, device, data"),
        ('"cuda" if', '"mps" if'),
        ("        model(x, y)", "        x[0] = 0\n        model(x, y)"),
        ("        model(x, y)", "        x.clamp_(0, 1)\n        model(x, y)"),
    ],
)
def test_a_copy_of_which_something_is_not_known_is_unsafe(old, new):
    text = SAFE.replace(old, new, 1)
    if "device, data" in new:
        text = text.replace('    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n', "")
    assert " x.to(device)," in fixed(text, "TPL201", unsafe=False).text
    assert " x.to(device, non_blocking=True)," in fixed(text, "TPL201").text


def test_a_loader_is_pinned_together_with_its_copies():
    text = SAFE.replace(", pin_memory=True", "")
    assert fixed(text, "TPL201").text == SAFE.replace(".to(device)", ".to(device, non_blocking=True)")


PASSED = """\
import torch
from torch.utils.data import DataLoader


def train(model: torch.nn.Module, loader, optimizer):
    for x, y in loader:
        x, y = x.to("cuda"), y.to("cuda")
        model(x, y).mean().backward()
        optimizer.step()


def main(build, data, optimizer):
    loaders = {"train": DataLoader(data, batch_size=8)}
    train(build(data), loaders[build.name], optimizer)
"""


def test_a_copy_stays_as_it_is_where_no_loader_of_the_file_pins():
    assert fixed(PASSED, "TPL201").text == PASSED
    pinned = PASSED.replace("batch_size=8", "batch_size=8, pin_memory=True")
    assert fixed(pinned, "TPL201").text == pinned.replace('("cuda")', '("cuda", non_blocking=True)')
    elsewhere = PASSED.replace("DataLoader(data, batch_size=8)", "build.loader(data)")
    assert fixed(elsewhere, "TPL201").text == elsewhere.replace('("cuda")', '("cuda", non_blocking=True)')


def test_a_copy_of_what_is_made_of_the_batch_stays_as_it_is():
    text = SAFE.replace(" x.to(device),", " x[:, 0].unsqueeze(1).to(device),")
    assert text != SAFE
    assert " x[:, 0].unsqueeze(1).to(device)," in fixed(text, "TPL201").text


def test_the_number_of_workers_is_never_invented():
    text = dedent(SAFE).replace(", num_workers=4, pin_memory=True", "")
    for code in ("TPL201", "TPL301", "TPL302"):
        assert "num_workers" not in fixed(text, code).text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("if torch.cuda.is_available():\n    torch.cuda.empty_cache()", ""),
        ("if model.training:\n    torch.cuda.empty_cache()", ""),
        ("if loader.next():\n    torch.cuda.empty_cache()", "if loader.next():\n    pass\n"),
        ("if model.training:\n    torch.cuda.empty_cache()\n    print(1)", "if model.training:\n    print(1)\n"),
        ("torch.cuda.empty_cache(); print(1)", "print(1)\n"),
    ],
)
def test_an_emptied_cache_is_left_alone(before, after):
    left = "".join(f"        {line}\n" for line in after.splitlines())
    done = fixed(looped(before, "pass", "pass"), "TPL401").text
    assert done == looped("@", "pass", "pass").replace("        @\n", left)


@pytest.mark.parametrize(
    ("code", "inside"),
    [
        ("TPL601", "class Slow(torch.optim.SGD):\n    def zero_grad(self, set_to_none=False):\n        pass\n"),
        ("TPL551", "with torch.autograd.detect_anomaly():\n    model(x)"),
        ("TPL255", "state = torch.tensor([turn.state for turn in batches])"),
    ],
)
def test_what_has_no_literal_to_change_stays(code, inside):
    text = looped(inside, "pass", "pass")
    if code == "TPL601":
        text = looped("slow.zero_grad(set_to_none=False)", "slow = Slow(model.parameters())", "pass")
        text = text.replace("def train", f"{inside}\n\ndef train")
    if code == "TPL255":
        text = text.replace("optimizer, device", "optimizer, batches, device")
    done = fixed(text, code, confidence=Confidence.POSSIBLE)
    assert done.text == text
    assert done.report.findings


def test_an_array_is_made_with_numpy_imported_for_it():
    text = looped("kept = torch.tensor([row.numpy() for row in x])", "pass", "pass")
    done = fixed(text, "TPL255").text
    assert "torch.tensor(numpy.array([row.numpy() for row in x]))" in done
    assert "from torch.utils.data import DataLoader\nimport numpy\n" in done


@pytest.mark.parametrize(
    "expression",
    [
        "torch.tensor([0.5], device=x.device)",
        "torch.tensor(True, device=x.device)",
        "torch.tensor(1j, device=x.device)",
        "torch.tensor(1e39, device=x.device)",
        "torch.tensor(x.shape[0], device=x.device)",
        "torch.tensor(0.5).abs().to(x.device)",
        "torch.tensor(0.5).to(x)",
        "torch.tensor(0.5).to(device, torch.float64)",
        "torch.tensor(0.5).type_as(out)",
        "torch.tensor(0.5, requires_grad=True).to(x.device)",
        "torch.tensor(0.5, device=x.device, pin_memory=False)",
        "torch.asarray(0.5, device=x.device)",
    ],
)
def test_a_number_that_a_factory_may_fill_otherwise_is_uploaded(expression):
    text = looped(f"half = {expression}", "pass", "pass")
    assert fixed(text, "TPL252").text == text


@pytest.mark.parametrize(
    "setting",
    [
        '# finds the kernel that fails\nos.environ["CUDA_LAUNCH_BLOCKING"] = "1"',
        'if __name__ == "__main__":\n    os.environ["CUDA_LAUNCH_BLOCKING"] = "1"',
        'if torch.cuda.is_available():\n    os.environ["CUDA_LAUNCH_BLOCKING"] = "1"\nelse:\n    print("slow")',
        'os.environ["TORCH_USE_CUDA_DSA"] = os.environ["CUDA_LAUNCH_BLOCKING"] = "1"',
        'before = os.environ.setdefault("CUDA_LAUNCH_BLOCKING", "1")',
        'os.environ.update({"A": "1"}, CUDA_LAUNCH_BLOCKING="1")',
        'os.environ.update({**shared, "CUDA_LAUNCH_BLOCKING": "1"})',
        'os.environ.update(dict(A="1", CUDA_LAUNCH_BLOCKING="1"))',
    ],
)
def test_a_setting_that_something_else_hangs_on_stays(setting):
    text = f"import os\n\nimport torch\n\nshared = {{}}\n\n{setting}\n"
    done = fixed(text, "TPL552")
    assert done.text == text
    assert done.report.findings


@pytest.mark.parametrize(
    ("setting", "becomes"),
    [
        ('os.environ.update({"CUDA_LAUNCH_BLOCKING": "1", "A": ("2")})', 'os.environ.update({"A": ("2")})'),
        ('os.environ.update({"A": ("2"), "CUDA_LAUNCH_BLOCKING": "1"})', 'os.environ.update({"A": ("2")})'),
        ('os.environ |= {\n    "A": "2",\n    "CUDA_LAUNCH_BLOCKING": ("1"),\n}', 'os.environ |= {\n    "A": "2",\n}'),
    ],
)
def test_of_several_settings_the_others_stay(setting, becomes):
    text = f"import os\n\n{setting}\n"
    assert fixed(text, "TPL552").text == text.replace(setting, becomes)


PINS = """\
import torch
from torch.utils.data import DataLoader


def train(model: torch.nn.Module, data, optimizer, device=torch.device("cuda")):
    loader = DataLoader(data, batch_size=8, num_workers=4, pin_memory=True)
    for x, y in loader:
        x, y = x.pin_memory().to(device, non_blocking=True), y.to(device, non_blocking=True)
        model(x, y).mean().backward()
        optimizer.step()
"""


def test_a_batch_that_its_loader_has_pinned_is_not_pinned_again():
    assert fixed(PINS, "TPL203", unsafe=False).text == PINS.replace(".pin_memory()", "")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("pin_memory=True", "pin_memory=data.pins"),
        ("pin_memory=True", "pin_memory=True, collate_fn=data.collate"),
        ("x.pin_memory()", "x.float().pin_memory()"),
        ("    loader = DataLoader(data, batch_size=8, num_workers=4, pin_memory=True)", "    loader = data.loader"),
    ],
)
def test_a_batch_that_may_not_be_pinned_stays_so_only_if_asked(old, new):
    text = PINS.replace(old, new, 1)
    assert fixed(text, "TPL203", unsafe=False).text == text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x.pin_memory()", "x.pin_memory(device)"),
        ("x.pin_memory()", "torch.rand(3).pin_memory()"),
        ("x.pin_memory()", "(x  # pinned\n            .pin_memory())"),
    ],
)
def test_what_has_to_be_pinned_somewhere_is(old, new):
    text = PINS.replace(old, new)
    assert fixed(text, "TPL203").text == text


AMP = """\
from torch.cuda.amp import autocast, custom_fwd


def step(model, x, flags):
    with {call}:
        return model(x)
"""


@pytest.mark.parametrize(
    ("call", "becomes"),
    [
        ("autocast()", 'torch.amp.autocast("cuda")'),
        ("autocast((flags))", 'torch.amp.autocast("cuda", enabled=(flags))'),
        ("autocast(True, *flags)", None),
        ("autocast(True, flags.dtype, False)", "(...enabled=True, dtype=flags.dtype, cache_enabled=False)"),
        ("autocast(**flags)", 'torch.amp.autocast("cuda", **flags)'),
        (
            "autocast(\n        enabled=flags,\n    )",
            'torch.amp.autocast(\n        "cuda",\n        enabled=flags,\n    )',
        ),
        ("autocast(\n        flags,  # on?\n    )", '(...\n        "cuda",\n        enabled=flags,  # on?\n    )'),
        ("flags(partial(autocast))", 'flags(partial(torch.amp.autocast, "cuda"))'),
        ("flags(partial(autocast, flags))", 'flags(partial(torch.amp.autocast, "cuda", enabled=flags))'),
        ("flags(partial(custom_fwd))", None),
    ],
)
def test_the_device_type_is_said_where_it_goes(call, becomes):
    text = "from functools import partial\n\n" + AMP.format(call=call)
    done = fixed(text, "TPL507").text
    if becomes is None:
        assert done == text
        return
    wanted = becomes.replace("(...\n", "torch.amp.autocast(\n").replace("(...", 'torch.amp.autocast("cuda", ')
    wanted = "from functools import partial\n\n" + AMP.format(call=wanted).replace("import autocast, ", "import ")
    assert done == wanted.replace("custom_fwd\n", "custom_fwd\nimport torch\n", 1)


def test_the_last_use_takes_the_import_with_it():
    text = (
        "import torch\nfrom torch.cuda.amp import GradScaler, autocast\n\nscaler = GradScaler()\n\n\n"
        "def step(model, x):\n    with autocast():\n        return model(x)\n\n\n"
        "def again(model, x):\n    with autocast(False):\n        return model(x)\n"
    )
    assert "import GradScaler" not in fixed(text, "TPL507").text
    other = (
        text + "\n\ndef third():\n    try:\n        import apex\n    except ImportError:\n        return autocast()\n"
    )
    assert "from torch.cuda.amp import autocast\n" in fixed(other, "TPL507").text


@pytest.mark.parametrize(
    ("code", "call"),
    [
        ("TPL402", "freed = gc.collect()"),
        ("TPL402", "print(gc.collect())"),
        ("TPL402", "model = model if gc.collect() else None"),
        ("TPL115", "torch.cuda.synchronize(next(devices))"),
        ("TPL115", "done = torch.cuda.synchronize()"),
    ],
)
def test_a_call_that_does_more_stays(code, call):
    text = "import gc\n" + looped(call, "devices = iter([device])", "pass")
    done = fixed(text, code)
    assert done.text == text
    assert done.report.findings


def test_a_helper_that_other_code_calls_keeps_its_call():
    text = "import gc\n" + looped("tidy()", "pass", "pass") + "\n\ndef tidy():\n    print()\n    gc.collect()\n"
    assert "collect" not in fixed(text, "TPL402").text
    text += "\n\ndef between_phases():\n    tidy()\n"
    assert fixed(text, "TPL402").text == text


MOVED = """\
import torch
from torch import nn


def train(model: nn.Module, loader, optimizer, device):
    for x in loader:
        optimizer.zero_grad()
        {move}
        model(x.to(device, non_blocking=True)).mean().backward()
        optimizer.step()
"""


@pytest.mark.parametrize("move", ["model.to(device)", "model = model.to(device)", 'model.to(torch.device("cuda", 0))'])
def test_a_module_is_moved_before_the_loop(move):
    text = MOVED.format(move=f"{move}  # where it belongs").replace(
        "    for", f"    {move}  # where it belongs\n    for", 1
    )
    expected = text.replace(f"        {move}  # where it belongs\n        model(", "        model(")
    assert fixed(MOVED.format(move=f"{move}  # where it belongs"), "TPL208").text == expected


@pytest.mark.parametrize(
    "move",
    [
        "model.to(x.device)",
        "model.to(next(model.parameters()).device)",
        "device = x.device\n        model.to(device)",
        "print(model)\n        model.to(device)",
        "if x.is_cuda:\n            model.to(device)",
        "moved = model.to(device)",
        "print(model.to(device))",
    ],
)
def test_a_module_that_may_have_to_be_moved_in_the_loop_is(move):
    text = MOVED.format(move=move)
    assert fixed(text, "TPL208").text == text


@pytest.mark.parametrize(
    ("inside", "becomes", "after", "safe"),
    [
        ("total += loss", "total += loss.detach()", "return total.item()", True),
        ("total += loss", "total += loss.detach()", "return (total / len(loader)).item()", True),
        ("total += loss", "total += loss.detach()", "return total", False),
        ("total += loss", "total += loss.detach()", "print(total)", False),
        ("total += loss", "total += loss.detach()", "return lambda: total.item()", True),
        ("total = total + loss * 2", "total = total + (loss * 2).detach()", "return total.item()", True),
        ("kept.append(loss)", "kept.append(loss.detach())", "return kept", False),
        ("kept.append(out)", "kept.append(out.detach())", "return kept", False),
        ("kept.append(out.view(-1))", "kept.append(out.view(-1).detach())", "return kept", False),
    ],
)
def test_what_is_kept_loses_its_graph(inside, becomes, after, safe):
    code = "TPL405" if "out" in inside else "TPL403"
    text, wanted = (looped(line, "total, kept = 0.0, []", after) for line in (inside, becomes))
    assert fixed(text, code).text == wanted
    assert fixed(text, code, unsafe=False).text == (wanted if safe else text)


@pytest.mark.parametrize(
    ("code", "inside"),
    [
        ("TPL403", "extra_loss = 0\nif x.size(0) > 3:\n    extra_loss = F.mse_loss(out, y)\nkept.append(extra_loss)"),
        ("TPL405", "kept.append(model(x))"),
        ("TPL405", "kept.extend(model(x))"),
    ],
)
def test_what_may_be_no_tensor_keeps_its_graph(code, inside):
    text = looped(inside, "kept = []", "return kept")
    done = fixed(text, code)
    assert done.text == text
    assert done.report.findings


@pytest.mark.parametrize(
    "inside",
    [
        "print([loss.item(), out.sum().item()])",
        "print([loss.item(), out.max().item()])",
        "print([loss.item(), x.shape[0], (out.argmax(1) == y).sum().item()])",
        "print([loss.item(), int(out.mean())])",
        "print([loss.item(), out.float().sum(1)[:1].sum(0, keepdim=True).item()])",
        "top1, = [out.view(-1).float().mean(0, keepdim=True)]\nprint([loss.item(), top1.item()])",
        "top1 = out.view(-1).float().mean(0, keepdim=True)\nprint([loss.item(), top1.item()])",
        "print([loss.item(), F.mse_loss(out, out, reduction='none').item()])",
        "print([loss.item(), F.mse_loss(out, out).item()])",
        "print(loss.item())\nprint(x)\nprint(out.mean().item())",
        "kept = loss.item()\nout = x\nprint(out.mean().item())",
        "kept = loss.item(); out = kept\nkept = out.mean().item()",
        "print(loss.item(), out.add_(1), out.mean().item())",
        "print(f'{loss.item()} {out.mean().item()}')",
        "loss_value = 3\nprint(loss.item(), out.mean().item(), loss_value)",
        "print(out.std().item(), math.pow(loss, out.mean()))",
    ],
)
def test_numbers_that_may_not_stack_are_read_one_by_one(inside):
    text = "import math\n" + looped(inside)
    assert fixed(text, "TPL119").text == text


@pytest.mark.parametrize(
    ("inside", "becomes"),
    [
        (
            "print(loss.item(), float(out.mean()))",
            "loss_value, out_mean = torch.stack([loss, out.mean()]).tolist()\nprint(loss_value, out_mean)",
        ),
        (
            "total = max(total, loss.item())\nprint(loss.item(), x)",
            "loss_value = loss.item()\ntotal = max(total, loss_value)\nprint(loss_value, x)",
        ),
        (
            "total += loss.item()\nprint(loss.item())",
            "loss_value = loss.item()\ntotal += loss_value\nprint(loss_value)",
        ),
        (
            "kept = loss.item(); kept += out.norm().item()",
            "loss_value, out_norm = torch.stack([loss, out.norm()]).tolist()\nkept = loss_value; kept += out_norm",
        ),
        (
            "print(out.norm().item(), math.pow(2, loss))",
            "out_norm, loss_value = torch.stack([out.norm(), loss]).tolist()\nprint(out_norm, math.pow(2, loss_value))",
        ),
        (
            "print(out.norm().item(), math.log(loss, 2))",
            "out_norm, loss_value = torch.stack([out.norm(), loss]).tolist()\nprint(out_norm, math.log(loss_value, 2))",
        ),
    ],
)
def test_numbers_of_one_kind_are_read_together(inside, becomes):
    assert fixed("import math\n" + looped(inside), "TPL119").text == "import math\n" + looped(becomes)


def test_many_numbers_are_read_on_many_lines():
    whole = stacking._laid_out(["a", "b"], "torch.stack", ["x.mean()", "y.mean()"], 80)
    assert whole == "a, b = torch.stack([x.mean(), y.mean()]).tolist()"
    assert stacking._laid_out(["a", "b"], "torch.stack", ["x.mean()", "y.mean()"], 40) == (
        "a, b = torch.stack(\n    [x.mean(), y.mean()]\n).tolist()"
    )
    assert stacking._laid_out(["a", "b"], "torch.stack", ["x.mean()", "y.mean()"], 18) == (
        "(\n    a,\n    b,\n) = torch.stack(\n    [\n        x.mean(),\n        y.mean(),\n    ]\n).tolist()"
    )
