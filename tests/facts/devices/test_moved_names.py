"""Batches that no loader in sight yields: what a step takes in, or is given, and moves to the device."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest
from calls_in import site_of
from snippets import MARK, hot_at, marked, texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.values.value import ANYWHERE, HOST
from torchperf_lint.model import Confidence
from torchperf_lint.rules.tpl201_blocking_batch_transfer import BlockingBatchTransfer

STEP = "loss = model(x).mean()\nloss.backward()\noptimizer.step()\noptimizer.zero_grad()"


def copies(code):
    """The lines at which TPL201 finds a blocking copy, and the marked one."""
    files = texts(dedent(code))
    rule = BlockingBatchTransfer()
    project = Project.of_texts(files)
    seen = rule.check(SourceFile(project, "a.py", files["a.py"]), project)
    wanted = [marked(files)[1][0]] if MARK in files["a.py"] else []
    return [finding.location.line for finding in seen], wanted


def check(code):
    seen, wanted = copies(code)
    assert seen == wanted


def step(loop, taken, before="pass", after=STEP):
    body = indent(f"{taken}\n{after}", "    ")
    return "def train(model, data, optimizer, device, steps):\n" + indent(f"{before}\n{loop}\n{body}", "    ")


TAKEN = {
    "a loop over anything": step("for x, y in data:", f"x = x.to(device)  {MARK}"),
    "an entry": step("for batch in data:", f"x = batch['x'].to(device)  {MARK}"),
    "an attribute": step("for batch in data:", f"x = batch.src.cuda()  {MARK}"),
    "unpacked": step("for i, sample in enumerate(data):", f"x, y = sample\nx = x.float().to(device)  {MARK}"),
    "by a method": step("for _ in range(steps):", f"x, y = data.next_batch()\nx = x.to(device)  {MARK}"),
    "whatever shows how far one is": step("for x, y in show('Train', data):", f"x = x.to(device)  {MARK}"),
    "by next": step("for _ in range(steps):", f"x, y = next(iter(data))\nx = x.to(device)  {MARK}"),
    "seen in another shape": step("for x, y in data:", f"x = torch.unsqueeze(x, 1).to(device)  {MARK}"),
    "by a helper": step(
        "for batch in loader:", f"x, y = parts(batch)\nx = x.cuda()  {MARK}", "loader = DataLoader(data)"
    ),
}


@pytest.mark.parametrize("name", TAKEN)
def test_what_a_step_takes_in_and_moves(name):
    check(TAKEN[name])


NOT_TAKEN = {
    "to a type": step("for x, y in data:", "x = x.to(torch.float32)"),
    "to the host": step("for x, y in data:", "x = x.to('cpu')"),
    "a model": step("for model in data:", "model.to(device)\nx = torch.ones(3)"),
    "drawn from a buffer": step("for _ in range(steps):", "x, y = data.sample(64)\nx = x.to(device)"),
    "made by anything": step("for _ in range(steps):", "x, y = data.make(64)\nx = x.to(device)"),
    "moved by accelerate": step(
        "for x, y in data:", "x = x.to(device)", "optimizer = accelerator.prepare_data_loader(optimizer)"
    ),
    "moved by torch_xla": step("for x, y in data:", "import torch_xla\nx = x.to(device)"),
    "moved unless a prefetcher did": step("for x, y in data:", "if not args.prefetcher:\n    x = x.to(device)"),
    "of a class that is known": "class Parcels:\n    pass\n\n"
    + step("for x in parcels:", "x.to(device)", "parcels = Parcels()"),
    "made of texts": step(
        "for batch in loader:",
        "coded = tokenizer(batch['text'], return_tensors='pt')\nx = coded['input_ids'].to(device)",
        "loader = DataLoader(data)",
    ),
    "made of pictures": step(
        "for batch in loader:", "x = transform(batch[0])\nx = x.to(device)", "loader = DataLoader(data)"
    ),
    "shown": """
        def show(model, samples, device):
            with torch.no_grad():
                for z in samples:
                    model(z.to(device))
    """,
}


@pytest.mark.parametrize("name", NOT_TAKEN)
def test_what_is_no_batch(name):
    check(NOT_TAKEN[name])


def test_what_is_evaluated_without_gradients():
    check(f"""
        @torch.no_grad()
        def valid(model, criterion, sampler, device):
            for x, y in sampler:
                x = x.to(device)  {MARK}
                criterion(model(x), y)
    """)


def test_what_is_evaluated_by_an_old_type():
    hot = hot_at(f"""
        def check(model, loader, Tensor):
            for x in loader:
                x = x.type(Tensor)  {MARK}
                with torch.no_grad():
                    show(model(x))
    """)
    assert hot is not None
    assert hot.confidence is Confidence.LIKELY


def test_what_is_taken_by_next_in_an_evaluation():
    check(f"""
        def evaluate(model, data, device, wanted):
            done = 0
            while done < wanted:
                batch, kinds = next(data)
                batch = batch.to(device)  {MARK}
                with torch.no_grad():
                    model(batch)
                done += len(batch)
    """)


GIVEN = [
    ("step", "batch", True),
    ("train_batch", "data", True),
    ("update", "batch", True),
    ("train_on_batch", "images", True),
    ("step", "model", False),
    ("update", "images", False),
]


@pytest.mark.parametrize(("name", "given", "moved"), GIVEN)
def test_what_a_step_is_given(name, given, moved):
    check(f"""
        class Task:
            def {name}(self, {given}, number):
                x = {given}[0].to(self.device)  {MARK if moved else ""}
                loss = self.loss_func(self.model(x), number)
                loss.backward()
                self.optimizer.step()
    """)


def test_what_a_trainer_of_a_package_moves():
    check("""
        from lightning import LightningModule

        class Task(LightningModule):
            def train_batch(self, batch):
                x = batch[0].to(self.device)
                loss = self.model(x).mean()
                self.manual_backward(loss)
                self.optimizers().step()
    """)


def test_a_bar_that_is_a_context():
    check(f"""
        from tqdm import tqdm

        def train(model, dataset, optimizer, device):
            loader = DataLoader(dataset, num_workers=4)
            with tqdm(enumerate(loader), total=len(loader)) as bar:
                for i, (x, y) in bar:
                    x = x.to(device)  {MARK}
                    model(x).mean().backward()
                    optimizer.step()
    """)


def test_a_validation_pass_between_steps():
    check(f"""
        def train(model, loader, valid_loader, optimizer, device):
            for step, (x, y) in enumerate(loader):
                model(x.to(device, non_blocking=True)).mean().backward()
                optimizer.step()
                if step % 1000 == 0:
                    show(model, x.to(device))
                    with torch.no_grad():
                        for x, y in valid_loader:
                            model(x.to(device))  {MARK}
    """)


@pytest.mark.parametrize(
    ("loop", "copy", "part"),
    [
        ("for x, y in loader:", "x = x.to(device)", True),
        ("for i, (x, y) in enumerate(tqdm(loader)):", "x = x.to(device)", True),
        ("for batch in loader:", "x = [t.to(device) for t in batch]", True),
        ("for batch in loader:", "x = {k: t.to(device) for k, t in batch.items()}", True),
        ("for batch in loader:", "x, y = batch\nx = x.to(device)", True),
        ("for batch in loader:", "x = batch['x']\nx = x.to(device)", True),
        ("for batch in loader:", "x = batch.to(device)", False),
        ("for i, batch in enumerate(loader):", "x = batch.to(device)", False),
    ],
)
@pytest.mark.parametrize("library", ["transformers", "dgl"])
def test_a_part_of_a_batch_is_a_tensor_where_whole_ones_are_objects(loop, copy, part, library):
    """Of a graph library's batches a part may be an object too, a graph."""
    lines = copy.splitlines()
    lines[-1] += f"  {MARK}" if part and library == "transformers" else ""
    head = f"from tqdm import tqdm\nfrom {library} import things\n"
    check(head + step(loop, "\n".join(lines), "loader = DataLoader(data, num_workers=2)"))


@pytest.mark.parametrize(
    ("taken", "copied"),
    [
        ("x = next(iter(data))", True),
        ("x = next(iter(data.values()))", False),
        ("existing_model = next(iter(data))\nx = existing_model", False),
    ],
)
def test_one_of_several_models_is_no_batch(taken, copied):
    name = "existing_model" if "model" in taken else "x"
    seen, _ = copies(step("for _ in range(steps):", f"{taken}\ny = {name}.to(device)"))
    assert bool(seen) is copied


ALL_MOVED = """
def to_cuda(first, *others):
    return [first, *(None if x is None else x.cuda() for x in others)]

def evaluate(model, data):
    with torch.no_grad():
        for batch in data:
            x, lengths = batch
            print({read})
            {moved}
            model(x, lengths)
"""


@pytest.mark.parametrize(
    ("moved", "device"),
    [
        ("_, x, lengths = to_cuda(None, x, lengths)", HOST),
        ("x, lengths = parts(x, lengths)", ANYWHERE),
    ],
)
def test_what_a_helper_moves_of_as_many_as_it_is_given(moved, device):
    site = site_of(ALL_MOVED.format(read="lengths.size()", moved=moved), "lengths.size()")
    assert site.receiver is not None
    assert site.file.value(site.receiver, site).device == device


@pytest.mark.parametrize(
    ("moves", "on_host"),
    [
        ("order = torch.randperm(n).to(y.device)", False),
        ("order = torch.zeros(y.shape[0]).cuda()", False),
        ("order = torch.ones_like(y).cuda()", False),
        ("y = y.cuda()", True),
        ("order = torch.clamp(y, 0, 1).cuda()", True),
    ],
)
def test_what_is_only_asked_for_its_size(moves, on_host):
    code = """
        def permuted(y):
            n, d = torch.zeros_like(y).size()
            {moves}
            return y[order]

        def train(model, data, optimizer):
            for x in DataLoader(data):
                y = model.sample(x)
                loss = permuted(y).mean()
                loss.backward()
                optimizer.step()
        """
    site = site_of(code.format(moves=moves), "permuted(y)")
    value = site.file.project.values.of(site.call.args[0], site.frame)
    assert (value.device == HOST) is on_host
