"""What kind of value an expression is and where it lives; what nothing shows stays unknown."""

from __future__ import annotations

from textwrap import dedent

import pytest
from snippets import value_of

from torchperf_lint.facts.values.value import (
    ANYWHERE,
    DEVICE,
    HOST,
    NOTHING,
    PLAIN,
    UNKNOWN,
    Value,
    as_called,
    join,
    left_over,
    sequence,
    tensor,
    unpacked,
)
from torchperf_lint.model import Confidence


def shown(value):
    return (value.kind, value.device)


def check(code, expression, kind, device):
    value = value_of(code, expression)
    assert value.kind == kind, value
    if device is not None:
        assert value.device == device, value


def test_a_dict_that_forward_returns_is_no_tensor():
    net = """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.proj = nn.Linear(3, 3)

            def forward(self, x):
                loss = self.proj(x).sum()
                return {"loss": loss, "norm": loss.norm()}, [loss]

        net = Net().cuda()
        losses, parts = net(torch.zeros(3))
        for one in losses.values():
            print(losses, losses.values(), one, parts)
    """
    for expression, kind in (("losses", "sequence"), ("losses.values()", "sequence"), ("one", "tensor")):
        assert value_of(net, expression).kind == kind
    assert shown(value_of(net, "parts").item) == ("tensor", DEVICE)


@pytest.mark.parametrize(
    ("use", "kind"),
    [
        ("print(batch.tree_size)", "plain"),
        ("print(batch.tree_size.cpu())", "batch"),
        ("print(batch['tree'].size.to('cpu'), batch.tree_size)", "plain"),
        ("print(batch.leaf_size.cpu(), batch.tree_size)", "plain"),
    ],
)
def test_a_size_that_is_moved_is_a_tensor(use, kind):
    code = f"""
        import lightning as L

        class Net(L.LightningModule):
            def training_step(self, batch, batch_idx):
                {use}
    """
    assert value_of(code, "batch.tree_size").kind == kind
    assert value_of(code, "batch").kind == "batch"


def test_what_parts_of_an_array_are_asked_for():
    check("def f(x):\n    a, b = x[:, :2].long().t()\n    return a", "a", "tensor", ANYWHERE)
    check("def f(x):\n    a = x[:, :2].astype(int)\n    return x", "x", "unknown", None)
    check("def f(x):\n    a = x[0].long()\n    return x", "x", "unknown", None)


def test_what_is_compared_for_a_mask_is_an_array_or_a_tensor():
    net = "class Net(nn.Module):\n    def forward(self, x, y):\n        return x[y != 0], y\n"
    check(net, "y", "tensor", ANYWHERE)


MOVER = """
class Trainer:
    def __init__(self, device):
        self.device = device
        self.tpdv = dict(dtype=torch.float32, device={})

    def update(self, sample):
        options = {{"device": {}}}
        sample = torch.from_numpy(sample)
        a = sample.to(**self.tpdv)
        b = sample.to(**options)
        return a, b
"""


@pytest.mark.parametrize(("written", "place"), [("device", DEVICE), ("'cpu'", HOST)])
def test_a_device_in_what_a_move_spreads(written, place):
    code = MOVER.format(written, written.replace("device", "self.device"))
    check(code, "a", "tensor", place)
    check(code, "b", "tensor", place)


def test_what_a_branch_binds_again_before_it_ends():
    code = """
        def norm(params, flat):
            if flat:
                total = 1.0
            else:
                total = 0.0
                for p in params:
                    total += p.grad.norm()
                total = float(total)
            return total
        """
    check(code, "total", "plain", None)


def test_a_list_of_the_same_tensor_many_times():
    value = value_of("out = [torch.zeros(3, device='cuda')] * n\nprint(out)", "out")
    assert value.kind == "sequence"
    assert shown(value.item) == ("tensor", DEVICE)


# -- expressions on one line -----------------------------------------------------------------------

EXPRESSIONS = [
    # factories
    ("torch.zeros(3)", "tensor", HOST),
    ("torch.randn(3, 4)", "tensor", HOST),
    ("torch.arange(10)", "tensor", HOST),
    ("torch.zeros(3, device=device)", "tensor", DEVICE),
    ("torch.zeros(3, device='cuda')", "tensor", DEVICE),
    ("torch.zeros(3, device='cuda:1')", "tensor", DEVICE),
    ("torch.zeros(3, device=0)", "tensor", DEVICE),
    ("torch.zeros(3, device='cpu')", "tensor", HOST),
    ("torch.zeros(3, device=torch.device('cpu'))", "tensor", HOST),
    ("torch.zeros(3, device=torch.device('cuda', 0))", "tensor", DEVICE),
    ("torch.zeros(3, device=f'cuda:{rank}')", "tensor", DEVICE),
    ("torch.zeros(3, device='cuda' if use else 'cpu')", "tensor", DEVICE),
    ("torch.zeros(3, device=gpu_tensor.device)", "tensor", DEVICE),
    ("torch.zeros(3, device=host_tensor.device)", "tensor", HOST),
    ("torch.zeros(3, **options)", "tensor", ANYWHERE),
    ("torch.zeros(3, **{'device': device})", "tensor", DEVICE),
    ("torch.zeros(3, **dict(dtype=torch.float32, device='cpu'))", "tensor", HOST),
    ("torch.zeros(3).to(**options)", "tensor", ANYWHERE),
    ("torch.zeros(3).to(**dict(dtype=torch.float32, device=device))", "tensor", DEVICE),
    # numbers of numpy's
    ("gpu_tensor + np.log(2 * np.pi)", "tensor", DEVICE),
    ("np.sqrt(2) * np.prod(gpu_tensor.shape)", "plain", None),
    ("np.sqrt(array)", "array", HOST),
    ("np.mean(array)", "plain", None),
    ("np.mean(array, 0)", "array", HOST),
    ("torch.tensor([1, 2])", "tensor", HOST),
    ("torch.tensor(gpu_tensor.mean())", "tensor", DEVICE),
    ("torch.tensor(gpu_tensor, device='cpu')", "tensor", HOST),
    ("torch.from_numpy(array)", "tensor", HOST),
    ("torch.from_file('a.bin', False, 256, dtype=torch.int32)", "tensor", HOST),
    ("torch.as_tensor(array)", "tensor", HOST),
    ("torch.as_tensor(gpu_tensor)", "tensor", DEVICE),
    ("torch.FloatTensor(3)", "tensor", HOST),
    ("torch.cuda.FloatTensor(3)", "tensor", DEVICE),
    ("torch.zeros_like(gpu_tensor)", "tensor", DEVICE),
    ("torch.zeros_like(host_tensor)", "tensor", HOST),
    ("torch.zeros_like(host_tensor, device='cuda')", "tensor", DEVICE),
    ("nn.Parameter(torch.zeros(3))", "tensor", ANYWHERE),
    # moves
    ("torch.zeros(3).to(device)", "tensor", DEVICE),
    ("torch.zeros(3).to('cuda')", "tensor", DEVICE),
    ("torch.zeros(3).to(device=device)", "tensor", DEVICE),
    ("torch.zeros(3).to(rank)", "tensor", DEVICE),
    ("torch.zeros(3).to(gpu_tensor)", "tensor", DEVICE),
    ("torch.zeros(3).to(gpu_tensor.device)", "tensor", DEVICE),
    ("torch.zeros(3).to(torch.float16)", "tensor", HOST),
    ("torch.zeros(3).to(dtype=torch.float16)", "tensor", HOST),
    ("torch.zeros(3).to(gpu_tensor.dtype)", "tensor", HOST),
    ("torch.zeros(3).cuda()", "tensor", DEVICE),
    ("torch.zeros(3).cuda().cpu()", "tensor", HOST),
    ("gpu_tensor.cpu()", "tensor", HOST),
    ("gpu_tensor.to('cpu')", "tensor", HOST),
    ("gpu_tensor.to(torch.device('cpu'))", "tensor", HOST),
    ("gpu_tensor.float()", "tensor", DEVICE),
    ("gpu_tensor.detach().clone()", "tensor", DEVICE),
    # arithmetic
    ("gpu_tensor + 1", "tensor", DEVICE),
    ("1 - gpu_tensor", "tensor", DEVICE),
    ("gpu_tensor * host_tensor", "tensor", None),
    ("host_tensor + host_tensor", "tensor", HOST),
    ("-gpu_tensor", "tensor", DEVICE),
    ("~gpu_tensor", "tensor", DEVICE),
    ("gpu_tensor @ gpu_tensor", "tensor", DEVICE),
    ("gpu_tensor > 0", "tensor", DEVICE),
    ("0 < host_tensor", "tensor", HOST),
    ("torch.broadcast_shapes(gpu_tensor.shape, gpu_tensor.shape)", "plain", None),
    ("gpu_tensor is None", "plain", None),
    ("1 in gpu_tensor", "plain", None),
    ("not gpu_tensor", "plain", None),
    ("1 + 2", "plain", None),
    ("array * 2", "array", None),
    ("F.relu(unseen) - 0.5 * np.log(2 * np.pi)", "tensor", ANYWHERE),
    ("F.relu(unseen) * np.random.beta(1.0, 1.0)", "tensor", ANYWHERE),
    ("F.relu(unseen) / np.prod(gpu_tensor.shape[1:])", "tensor", ANYWHERE),
    ("F.relu(unseen) * np.random.beta(1.0, 1.0, 3)", "unknown", None),
    ("F.relu(unseen) * np.log(array)", "unknown", None),
    ("np.sqrt(3)", "plain", None),
    ("np.sqrt(unseen)", "array", None),
    ("np.sqrt([3])", "array", None),
    ("gpu_tensor[0]", "tensor", DEVICE),
    ("gpu_tensor[mask, 1:]", "tensor", DEVICE),
    ("(gpu_tensor if use else None)", "tensor", DEVICE),
    ("gpu_tensor or 0", "tensor", DEVICE),
    ("(y := gpu_tensor)", "tensor", DEVICE),
    ("gpu_tensor + array", "tensor", DEVICE),
    ("gpu_tensor / (np.sum(array) - 1)", "tensor", DEVICE),
    ("gpu_tensor.cpu() - array", "tensor", HOST),
    ("gpu_tensor.cpu() * gpu_tensor + array", "unknown", None),
    ("gpu_tensor + nothing_known", "tensor", DEVICE),
    ("'%s' % gpu_tensor", "plain", None),
    ("f'{gpu_tensor}'", "plain", None),
    # functions of tensors
    ("torch.cat([gpu_tensor, gpu_tensor])", "tensor", DEVICE),
    ("torch.stack([host_tensor])", "tensor", HOST),
    ("F.relu(gpu_tensor)", "tensor", DEVICE),
    ("F.cross_entropy(gpu_tensor, nothing_known)", "tensor", DEVICE),
    ("torch.exp(host_tensor)", "tensor", HOST),
    ("torch.max(gpu_tensor)", "tensor", DEVICE),
    ("torch.max(gpu_tensor, 1)", "sequence", DEVICE),
    ("torch.max(gpu_tensor, dim=1)[0]", "tensor", DEVICE),
    ("torch.unbind(gpu_tensor)[0]", "tensor", DEVICE),
    ("torch.linalg.norm(gpu_tensor)", "tensor", DEVICE),
    ("torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)", "tensor", ANYWHERE),
    ("torch.equal(gpu_tensor, host_tensor)", "plain", None),
    ("torch.is_tensor(gpu_tensor)", "plain", None),
    ("torch.load(path)", "unknown", None),
    # methods of tensors
    ("gpu_tensor.sum().item()", "plain", None),
    ("gpu_tensor.tolist()", "sequence", HOST),
    ("gpu_tensor.tolist()[0]", "plain", None),
    ("gpu_tensor.numpy()", "array", None),
    ("gpu_tensor.size(0)", "plain", None),
    ("gpu_tensor.numel()", "plain", None),
    ("gpu_tensor.shape", "plain", None),
    ("gpu_tensor.shape[0]", "plain", None),
    ("gpu_tensor.is_cuda", "plain", None),
    ("gpu_tensor.dtype", "dtype", None),
    ("gpu_tensor.device", "torch_device", DEVICE),
    ("gpu_tensor.grad", "tensor", DEVICE),
    ("gpu_tensor.T", "tensor", DEVICE),
    ("gpu_tensor.max(1)", "sequence", DEVICE),
    ("gpu_tensor.max()", "tensor", DEVICE),
    ("gpu_tensor.chunk(2)[0]", "tensor", DEVICE),
    # modules
    ("nn.Linear(3, 3)", "module", ANYWHERE),
    ("nn.Linear(3, 3).to(device)", "module", DEVICE),
    ("nn.Linear(3, 3).cuda()", "module", DEVICE),
    ("nn.Linear(3, 3).cpu()", "module", HOST),
    ("net(gpu_tensor)", "tensor", DEVICE),
    ("net.cuda()(host_tensor)", "tensor", DEVICE),
    ("net.cpu()(host_tensor)", "tensor", HOST),
    ("net(nothing_known)", "tensor", ANYWHERE),
    ("net(nothing_known).loss", "tensor", ANYWHERE),
    ("net.weight", "tensor", ANYWHERE),
    ("net.forward(gpu_tensor)", "tensor", DEVICE),
    ("net.eval()", "module", ANYWHERE),
    ("torch.compile(net)", "module", ANYWHERE),
    ("nn.CrossEntropyLoss()(gpu_tensor, gpu_tensor)", "tensor", DEVICE),
    ("nn.DataParallel(net)", "module", ANYWHERE),
    # other things
    ("torch.optim.Adam(net.parameters())", "optimizer", None),
    ("DataLoader(rows)", "loader", None),
    ("torch.device('cuda')", "torch_device", DEVICE),
    ("torch.device('cpu')", "torch_device", HOST),
    ("len(gpu_tensor)", "plain", None),
    ("float(gpu_tensor)", "plain", None),
    ("sum([gpu_tensor, gpu_tensor])", "tensor", DEVICE),
    ("max(gpu_tensor, gpu_tensor)", "tensor", DEVICE),
    ("list(gpu_tensor)", "tensor", DEVICE),
    ("np.zeros(3)", "array", None),
    ("np.zeros(3).mean()", "array", None),
    ("np.zeros(3).shape", "plain", None),
    ("array.item()", "plain", None),
    ("pd.read_csv(path)", "array", None),
    ("pd.DataFrame()['x'].mean()", "array", None),
    ("'a,b'.split(',')", "plain", None),
    ("'%d'", "plain", None),
    ("[gpu_tensor, gpu_tensor]", "sequence", DEVICE),
    ("[gpu_tensor, 1][0]", "tensor", DEVICE),
    ("[gpu_tensor, 1][1]", "plain", None),
    ("(gpu_tensor, host_tensor)[-1]", "tensor", HOST),
    ("{'x': gpu_tensor}['x']", "tensor", DEVICE),
    ("{'x': gpu_tensor}.values()", "sequence", DEVICE),
    ("[t.float() for t in [gpu_tensor]]", "sequence", DEVICE),
    # what nothing shows
    ("nothing_known", "unknown", None),
    ("nothing_known + 1", "unknown", None),
    ("nothing_known()", "unknown", None),
    ("nothing_known.item()", "unknown", None),
    ("nothing_known[0]", "unknown", None),
    ("nothing_known > 1", "unknown", None),
    ("(nothing_known == 1).type_as(gpu_tensor)", "tensor", ANYWHERE),
    ("lambda: 1", "unknown", None),
]


@pytest.mark.parametrize(("expression", "kind", "device"), EXPRESSIONS, ids=str)
def test_an_expression(expression, kind, device):
    code = f"""
        def f(nothing_known, use, rank, options, path, rows, mask):
            device = torch.device("cuda")
            net = nn.Linear(3, 3)
            array = np.zeros(3)
            host_tensor = torch.zeros(3)
            gpu_tensor = torch.zeros(3, device="cuda")
            see({expression})
        """
    check(code, expression, kind, device)


# -- variables -------------------------------------------------------------------------------------

VARIABLES = {
    "an assignment": ("x = torch.zeros(3, device='cuda')\nsee(x)", "x", "tensor", DEVICE),
    "the last assignment": ("x = torch.zeros(3, device='cuda')\nx = 3\nsee(x)", "x", "plain", HOST),
    "a later assignment does not count": ("x = 3\nsee(x)\nx = torch.zeros(3)", "x", "plain", HOST),
    "a chain of assignments": ("x = torch.zeros(3).cuda()\ny = x\nz = y + 1\nsee(z)", "z", "tensor", DEVICE),
    "an augmented assignment": ("x = 0\nx += torch.zeros(3).cuda()\nsee(x)", "x", "tensor", DEVICE),
    "several targets": ("a = b = torch.zeros(3).cuda()\nsee(b)", "b", "tensor", DEVICE),
    "a walrus": ("if (x := torch.zeros(3).cuda()) is not None:\n    see(x)", "x", "tensor", DEVICE),
    "an annotated assignment": ("x: object = torch.zeros(3).cuda()\nsee(x)", "x", "tensor", DEVICE),
    "both branches": ("if p:\n    x = torch.zeros(3).cuda()\nelse:\n    x = None\nsee(x)", "x", "tensor", DEVICE),
    "both branches, two devices": (
        "if p:\n    x = torch.zeros(3).cuda()\nelse:\n    x = torch.zeros(3)\nsee(x)",
        "x",
        "tensor",
        ANYWHERE,
    ),
    "only the branch we are in": (
        "x = 0\nif p:\n    x = torch.zeros(3).cuda()\nelse:\n    see(x)",
        "x",
        "plain",
        HOST,
    ),
    "a tensor or an array": (
        "if p:\n    x = torch.zeros(3)\nelse:\n    x = np.zeros(3)\nsee(x)",
        "x",
        "unknown",
        None,
    ),
    "with a branch without assignment": (
        "x = torch.zeros(3).cuda()\nif p:\n    x = None\nsee(x)",
        "x",
        "tensor",
        DEVICE,
    ),
    "try and except": (
        "try:\n    x = torch.zeros(3).cuda()\nexcept ValueError:\n    x = None\nsee(x)",
        "x",
        "tensor",
        DEVICE,
    ),
    "carried around a loop": (
        "x = None\nfor i in range(9):\n    see(x)\n    x = torch.zeros(3).cuda()",
        "x",
        "tensor",
        DEVICE,
    ),
    "accumulated in a loop": (
        "total = 0\nfor i in range(9):\n    total = total + torch.zeros(3).cuda()\nsee(total)",
        "total",
        "tensor",
        DEVICE,
    ),
    "reassigned before use in a loop": (
        "for i in range(9):\n    x = 3\n    see(x)\n    x = torch.zeros(3).cuda()",
        "x",
        "plain",
        HOST,
    ),
    "a name that depends on itself": (
        "def f(x):\n    for i in range(9):\n        x = x + 1\n    see(x)",
        "x",
        "unknown",
        None,
    ),
    "a counter": ("n = 0\nfor i in range(9):\n    n += 1\nsee(n)", "n", "plain", HOST),
    "a global": ("def g():\n    return see(LIMIT)\n\nLIMIT = torch.zeros(3).cuda()", "LIMIT", "tensor", DEVICE),
    "a variable of the enclosing function": (
        "def g():\n    def h():\n        return see(x)\n    x = torch.zeros(3).cuda()\n    return h",
        "x",
        "tensor",
        DEVICE,
    ),
    "deleted names are unknown": ("import x\nsee(x)", "x", "unknown", None),
    # unpacking
    "a pair": ("a, b = torch.zeros(3).cuda(), 4\nsee(b)", "b", "plain", HOST),
    "a nested pair": ("a, (b, c) = 1, (2, torch.zeros(3).cuda())\nsee(c)", "c", "tensor", DEVICE),
    "values and indices": ("top, where = torch.zeros(3, 3).cuda().max(1)\nsee(where)", "where", "tensor", DEVICE),
    "chunks": ("q, k = torch.zeros(3, 3).cuda().chunk(2)\nsee(k)", "k", "tensor", DEVICE),
    "a shape": ("b, c = torch.zeros(3, 3).cuda().shape\nsee(b)", "b", "plain", HOST),
    "a starred rest": ("a, *rest = torch.zeros(3).cuda()\nsee(rest)", "rest", "sequence", DEVICE),
    "a pair that a function returns": (
        "def pair():\n    return torch.zeros(3).cuda(), 4\n\ndef use():\n    t, n = pair()\n    see(t)\n    see(n)",
        "n",
        "plain",
        HOST,
    ),
    "the tensor of that pair": (
        "def pair():\n    return torch.zeros(3).cuda(), 4\n\ndef use():\n    t, n = pair()\n    see(t)\n    see(n)",
        "t",
        "tensor",
        DEVICE,
    ),
    # containers
    "a list filled item by item": (
        "def f():\n    xs = []\n    for i in range(9):\n        xs.append(torch.zeros(3).cuda())\n    see(xs[0])",
        "xs[0]",
        "tensor",
        DEVICE,
    ),
    "a dict filled item by item": (
        "def f():\n    logs = {}\n    logs['a'] = torch.zeros(3).cuda()\n    see(logs['a'])",
        "logs['a']",
        "tensor",
        DEVICE,
    ),
    "a dict of numbers": (
        "def f():\n    logs = dict()\n    logs['a'] = torch.zeros(3).cuda().item()\n    see(logs['a'])",
        "logs['a']",
        "plain",
        HOST,
    ),
    "the items of a dict": (
        "logs = {'a': torch.zeros(3).cuda()}\nfor name, value in logs.items():\n    see(value)",
        "value",
        "tensor",
        DEVICE,
    ),
    "the keys of such a dict": (
        "logs = {'a': torch.zeros(3).cuda()}\nfor name, value in logs.items():\n    see(name)",
        "name",
        "plain",
        HOST,
    ),
    "an element in enumerate": (
        "for i, x in enumerate([torch.zeros(3).cuda()]):\n    see(x)",
        "x",
        "tensor",
        DEVICE,
    ),
    "the counter of enumerate": ("for i, x in enumerate([torch.zeros(3).cuda()]):\n    see(i)", "i", "plain", HOST),
    "elements in zip": (
        "for x, y in zip([torch.zeros(3).cuda()], range(3)):\n    see(y)",
        "y",
        "plain",
        HOST,
    ),
    "the tensor in zip": (
        "for x, y in zip([torch.zeros(3).cuda()], range(3)):\n    see(x)",
        "x",
        "tensor",
        DEVICE,
    ),
    "a variable of a comprehension": ("r = [see(x) for x in [torch.zeros(3).cuda()]]", "x", "tensor", DEVICE),
    "a comprehension's variable hides ours": (
        "x = torch.zeros(3).cuda()\nr = [see(x) for x in range(3)]",
        "x",
        "plain",
        HOST,
    ),
    "a loop over a tensor": ("for row in torch.zeros(3).cuda():\n    see(row)", "row", "tensor", DEVICE),
    # devices as variables
    "a device variable": ("dev = torch.device('cuda')\nx = torch.zeros(3, device=dev)\nsee(x)", "x", "tensor", DEVICE),
    "a host device variable": ("dev = torch.device('cpu')\nx = torch.zeros(3).to(dev)\nsee(x)", "x", "tensor", HOST),
    "a device string": ("device = 'cpu'\nx = torch.zeros(3).cuda().to(device)\nsee(x)", "x", "tensor", HOST),
    "a device that is asked for": (
        "device = 'cuda' if torch.cuda.is_available() else 'cpu'\nx = torch.zeros(3, device=device)\nsee(x)",
        "x",
        "tensor",
        DEVICE,
    ),
    # uses
    "what backward is called on": ("def f(loss):\n    loss.backward()\n    see(loss)", "loss", "tensor", ANYWHERE),
    "what goes into backward": (
        "def f(a, b, scaler):\n    scaler.scale(a + b).backward()\n    see(b)",
        "b",
        "tensor",
        ANYWHERE,
    ),
    "what picks by its copy": ("def f(x, table):\n    y = table[x.cpu()]\n    see(x)", "x", "tensor", ANYWHERE),
    "what is picked by a copy": ("def f(x, table):\n    y = table[x.cpu()]\n    see(table)", "table", "unknown", None),
    "what picked before it was another": (
        "def f(x, table):\n    y = table[x.cpu()]\n    x = read(y)\n    see(x)",
        "see(x)",
        "unknown",
        None,
    ),
    "what only tensors can": ("def f(x):\n    y = x.unsqueeze(0)\n    see(x)", "x", "tensor", ANYWHERE),
    "what only what it becomes is asked": (
        "def f(x):\n    see(x + 1)\n    x = torch.cat([row for row in x])\n    y = x.unsqueeze(0)",
        "x + 1",
        "unknown",
        None,
    ),
    "what was no tensor when another was made": (
        "def f(n, group):\n    if group:\n        n = torch.tensor([n])\n        n.unsqueeze(0)\n"
        "        n = n.cpu().item()\n    see(n)",
        "n",
        "unknown",
        None,
    ),
    "what it becomes by operations": (
        "def f(x):\n    see(x + 1)\n    x = x / 2\n    x = x[0].float()\n    y = x.unsqueeze(0)",
        "x + 1",
        "tensor",
        ANYWHERE,
    ),
    "what it may still be where it is asked": (
        "def f(x, other):\n    see(x + 1)\n    if other:\n        x = load(other)\n    y = x.unsqueeze(0)",
        "x + 1",
        "tensor",
        ANYWHERE,
    ),
    "what a line uses and binds": (
        "def f(x):\n    see(x + 1)\n    x = F.relu(x)",
        "x + 1",
        "tensor",
        ANYWHERE,
    ),
    "what all processes computed": (
        "def f(self, x):\n    see(self.accelerator.gather_for_metrics(x['mask'].sum()).sum())\n"
        "    self.accelerator.backward(x)",
        "self.accelerator.gather_for_metrics(x['mask'].sum()).sum()",
        "tensor",
        ANYWHERE,
    ),
    "what asks all processes": (
        "def f(self, x):\n    self.accelerator.gather(x)\n    self.accelerator.backward(x)\n    see(self.accelerator)",
        "self.accelerator",
        "unknown",
        None,
    ),
    "what is used as a module": ("def f(thing):\n    thing.zero_grad()\n    see(thing)", "thing", "module", ANYWHERE),
    "what arrays can, too": ("def f(x):\n    y = x.mean()\n    see(x)", "x", "unknown", None),
    "an optimizer's step counter": ("def f(state):\n    see(state['step'])", "state['step']", "tensor", HOST),
    "a name like a module's, given a tensor": (
        "def f(backbone):\n    x = torch.zeros(3).cuda()\n    see(backbone(x))",
        "backbone(x)",
        "tensor",
        DEVICE,
    ),
    "a name like a module's, given anything": (
        "def f(backbone, x):\n    see(backbone(x))",
        "backbone(x)",
        "unknown",
        None,
    ),
    "a scaled loss": (
        "scaler = torch.cuda.amp.GradScaler()\nx = scaler.scale(torch.zeros(3).cuda())\nsee(x)",
        "x",
        "tensor",
        DEVICE,
    ),
}


@pytest.mark.parametrize(("code", "expression", "kind", "device"), VARIABLES.values(), ids=VARIABLES)
def test_a_variable(code, expression, kind, device):
    check(code, expression, kind, device)


# -- loaders ---------------------------------------------------------------------------------------

BATCHES = {
    "a plain loop": ("for x in loader:\n    see(x)", "x"),
    "a pair": ("for x, y in loader:\n    see(y)", "y"),
    "enumerate": ("for i, (x, y) in enumerate(loader):\n    see(y)", "y"),
    "enumerate from one": ("for i, x in enumerate(loader, 1):\n    see(x)", "x"),
    "tqdm": ("for x in tqdm(loader):\n    see(x)", "x"),
    "tqdm with words": ("for x in tqdm(loader, desc='train', leave=False):\n    see(x)", "x"),
    "enumerate of tqdm": ("for i, x in enumerate(tqdm(loader)):\n    see(x)", "x"),
    "tqdm of enumerate": ("for i, x in tqdm(enumerate(loader)):\n    see(x)", "x"),
    "a progress bar in a variable": ("bar = tqdm(loader)\nfor x in bar:\n    see(x)", "x"),
    "zip": ("for x, n in zip(loader, range(9)):\n    see(x)", "x"),
    "zip of two loaders": ("for (x, y), u in zip(loader, loader):\n    see(u)", "u"),
    "iter and next": ("it = iter(loader)\nx = next(it)\nsee(x)", "x"),
    "iter and next, a pair": ("it = iter(loader)\nx, y = next(it)\nsee(y)", "y"),
    "next of iter": ("x, _ = next(iter(loader))\nsee(x)", "x"),
    "islice": ("for x in itertools.islice(loader, 20):\n    see(x)", "x"),
    "a dict": ("for batch in loader:\n    see(batch['image'])", "batch['image']"),
    "items of a dict": ("for batch in loader:\n    for k, v in batch.items():\n        see(v)", "v"),
    "get": ("for batch in loader:\n    see(batch.get('image'))", "batch.get('image')"),
    "a tuple": ("for batch in loader:\n    see(batch[1])", "batch[1]"),
    "a tuple, unpacked later": ("for batch in loader:\n    x, y = batch\n    see(y)", "y"),
    "an attribute": ("for batch in loader:\n    see(batch.edge_index)", "batch.edge_index"),
    "a comprehension": ("r = [see(x) for x, y in loader]", "x"),
    "a cast": ("for x in loader:\n    x = x.float()\n    see(x)", "x"),
}
LOADER = "import itertools\nfrom tqdm import tqdm\n\nloader = DataLoader(range(9))\n"


@pytest.mark.parametrize(("code", "expression"), BATCHES.values(), ids=BATCHES)
def test_a_batch_is_on_the_host_and_knows_its_loader(code, expression):
    value = value_of(LOADER + code, expression)
    assert shown(value) == ("batch", HOST)
    assert [path for path, _, _ in value.origins] == ["a.py"]
    assert "DataLoader" in value.because


@pytest.mark.parametrize(
    ("code", "expression", "kind", "device"),
    [
        ("for x in loader:\n    x = x.cuda()\n    see(x)", "x", "tensor", DEVICE),
        ("for x, y in loader:\n    x, y = x.to(device), y.to(device)\n    see(y)", "y", "tensor", DEVICE),
        (
            "for b in loader:\n    b = {k: v.to(device) for k, v in b.items()}\n    see(b['x'])",
            "b['x']",
            "tensor",
            DEVICE,
        ),
        ("for b in loader:\n    b = [t.to(device) for t in b]\n    see(b[0])", "b[0]", "tensor", DEVICE),
        ("for x, y in loader:\n    see(net(x.to(device)))", "net(x.to(device))", "tensor", DEVICE),
        ("for i, x in enumerate(loader):\n    see(i)", "i", "plain", HOST),
        ("for x in loader:\n    see(x.shape[0])", "x.shape[0]", "plain", HOST),
        ("for x in loader:\n    see(len(x))", "len(x)", "plain", HOST),
        ("see(len(loader))", "len(loader)", "plain", HOST),
        ("for x in loader:\n    n = x.sum().item()\n    see(n)", "n", "plain", HOST),
        ("for x in loader:\n    see(x.numpy())", "x.numpy()", "array", HOST),
        ("see(loader.dataset)", "loader.dataset", "unknown", None),
    ],
)
def test_what_becomes_of_a_batch(code, expression, kind, device):
    check(f"{LOADER}device = torch.device('cuda')\nnet = nn.Linear(3, 3)\n{code}", expression, kind, device)


@pytest.mark.parametrize("parts", ["net, sgd, loader", "net, loader", "loader, net"])
def test_accelerate_prepares_loaders_whose_batches_are_on_the_device(parts):
    code = f"""
        from accelerate import Accelerator

        def train(rows):
            accelerator = Accelerator()
            net = nn.Linear(3, 3)
            sgd = torch.optim.SGD(net.parameters())
            loader = DataLoader(rows)
            {parts} = accelerator.prepare({parts})
            for x, y in loader:
                see(x, net(x))
        """
    assert shown(value_of(code, "x")) == ("batch", DEVICE)
    assert shown(value_of(code, "net(x)"))[0] == "tensor"
    assert value_of(code, "net").device == DEVICE


def test_the_batch_of_a_lightning_step_is_on_the_device():
    code = """
        from lightning import LightningModule

        class Task(LightningModule):
            def training_step(self, batch, index):
                x, y = batch
                see(x)
        """
    value = value_of(code, "x")
    assert shown(value) == ("batch", DEVICE)
    assert value.on_device


def test_a_loader_of_the_project_is_a_loader():
    code = "class Mine(DataLoader):\n    pass\n\nfor x in Mine([1]):\n    see(x)"
    value = value_of(code, "x")
    assert value.kind == "batch"
    assert value.origins


def test_a_loader_that_a_function_returns_keeps_its_place():
    code = {
        "data.py": "def make(rows):\n    return DataLoader(rows)",
        "train.py": "from data import make\n\nfor x in make([1]):\n    see(x)",
    }
    assert [path for path, _, _ in value_of(code, "x").origins] == ["data.py"]


def test_two_loaders_may_have_made_a_batch():
    code = "if p:\n    loader = DataLoader([1])\nelse:\n    loader = DataLoader([2])\nfor x in loader:\n    see(x)"
    assert len(value_of(code, "x").origins) == 2


# -- classes and parameters ------------------------------------------------------------------------

MODULE = """
    class Net(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.inner = nn.Linear(width, width)
            self.width = width * 2
            self.scale = nn.Parameter(torch.ones(3))
            self.names = ["a"]
            self.table = torch.zeros(3)
            self.gpu = torch.zeros(3).cuda()
            self.later = None
            self.register_buffer("mean", torch.zeros(3))

        def set(self):
            self.later = torch.zeros(3).cuda()

        def forward(self, x):
            see({expression})
            return self.inner(x), self.width, x.shape[0]
    """


@pytest.mark.parametrize(
    ("expression", "kind", "device"),
    [
        ("self", "module", ANYWHERE),
        ("self.inner", "module", ANYWHERE),
        ("self.inner(x)", "tensor", ANYWHERE),
        ("self.inner.weight", "tensor", ANYWHERE),
        ("self.scale", "tensor", ANYWHERE),
        ("self.scale + 1", "tensor", ANYWHERE),
        ("self.mean", "tensor", ANYWHERE),
        ("self.table", "tensor", HOST),
        ("self.gpu", "tensor", DEVICE),
        ("self.later", "tensor", DEVICE),
        ("self.names", "sequence", HOST),
        ("self.names[0]", "plain", HOST),
        ("self.nothing_known", "unknown", None),
    ],
)
def test_an_attribute_of_a_module(expression, kind, device):
    check(MODULE.format(expression=expression), expression, kind, device)


@pytest.mark.parametrize(
    ("expression", "kind", "device"),
    [
        ("out", "tensor", DEVICE),
        ("width", "plain", HOST),
        ("rows", "plain", HOST),
    ],
)
def test_a_module_of_the_project_gives_what_its_forward_returns(expression, kind, device):
    called = f"\nout, width, rows = Net(3).cuda()(x)\nsee({expression})\n"
    check(dedent(MODULE.format(expression="x")) + called, expression, kind, device)


def test_attributes_of_base_classes_and_of_objects():
    code = """
        class Base:
            def __init__(self):
                self.state = torch.zeros(3).cuda()
                self.count = 0

        class Child(Base):
            def read(self):
                return self.state

        child = Child()
        see(child.state, child.count, child.read())
        """
    assert shown(value_of(code, "child.state")) == ("tensor", DEVICE)
    assert shown(value_of(code, "child.count")) == ("plain", HOST)
    assert shown(value_of(code, "child.read()")) == ("tensor", DEVICE)


ANNOTATED = [
    ("torch.Tensor", "tensor", ANYWHERE),
    ("'torch.Tensor'", "tensor", ANYWHERE),
    ("torch.Tensor | None", "tensor", ANYWHERE),
    ("Optional[torch.Tensor]", "tensor", ANYWHERE),
    ("torch.LongTensor", "tensor", ANYWHERE),
    ("Variable", "tensor", ANYWHERE),
    ("torch.autograd.Variable", "tensor", ANYWHERE),
    ("Optional[Union[Variable, torch.ByteTensor]]", "tensor", ANYWHERE),
    ("Union[torch.Tensor, np.ndarray]", "unknown", None),
    ("tf.Variable", "unknown", None),
    ("np.ndarray", "array", HOST),
    ("pd.DataFrame", "array", HOST),
    ("int", "plain", HOST),
    ("float", "plain", HOST),
    ("str", "plain", HOST),
    ("nn.Module", "module", ANYWHERE),
    ("nn.Linear", "module", ANYWHERE),
    ("torch.optim.Optimizer", "optimizer", None),
    ("DataLoader", "loader", None),
    ("torch.device", "torch_device", DEVICE),
    ("Box", "object", None),
    ("Unheard", "unknown", None),
    ("dict", "unknown", None),
]


@pytest.mark.parametrize(("annotation", "kind", "device"), ANNOTATED, ids=[a[0] for a in ANNOTATED])
def test_an_annotation_is_believed(annotation, kind, device):
    code = f"""
        from typing import Optional, Union
        from torch.autograd import Variable
        class Box:
            pass
        def f(x: {annotation}):
            see(x)
    """
    check(code, "x", kind, device)


PASSED = {
    "a device tensor": ("g(torch.zeros(3).cuda())", "tensor", DEVICE),
    "a host tensor": ("g(torch.zeros(3))", "tensor", HOST),
    "by keyword": ("g(x=torch.zeros(3).cuda())", "tensor", DEVICE),
    "a number": ("g(3)", "plain", HOST),
    "an array": ("g(np.zeros(3))", "array", HOST),
    "two devices": ("g(torch.zeros(3).cuda())\ng(torch.zeros(3))", "tensor", ANYWHERE),
    "a tensor or a number": ("g(torch.zeros(3).cuda())\ng(3)", "tensor", DEVICE),
    "a tensor or an array": ("g(torch.zeros(3).cuda())\ng(np.zeros(3))", "unknown", None),
    "unpacked": ("g(*args)", "unknown", None),
    "nobody calls": ("pass", "unknown", None),
}


@pytest.mark.parametrize(("calls", "kind", "device"), PASSED.values(), ids=PASSED)
def test_a_parameter_is_what_callers_pass(calls, kind, device):
    check({"b.py": "def g(x):\n    see(x)", "a.py": f"from b import g\n\n{calls}"}, "x", kind, device)


def test_the_reason_of_a_parameter_names_the_call():
    value = value_of({"b.py": "def g(x):\n    see(x)", "a.py": "from b import g\n\ng(torch.zeros(3).cuda())"}, "x")
    assert "passed by the call at a.py:" in value.because


def test_a_parameter_of_a_method_skips_self():
    code = """
        class Meter:
            def update(self, name, value):
                see(name, value)

        meter = Meter()
        meter.update("loss", torch.zeros(3).cuda())
        """
    assert shown(value_of(code, "value")) == ("tensor", DEVICE)
    assert shown(value_of(code, "name")) == ("plain", HOST)


def test_a_tensor_that_not_every_caller_is_known_to_pass_is_only_likely():
    code = {"b.py": "def g(x):\n    see(x)", "a.py": "from b import g\n\ng(torch.zeros(3).cuda())\ng(unheard)"}
    value = value_of(code, "x")
    assert shown(value) == ("tensor", DEVICE)
    assert value.confidence is Confidence.LIKELY


TWO_CALLERS = """
    def error(a, b):
        return (a - b).abs().mean()

    def both(a):
        return a, error(a, a)

    device = torch.device("cuda")
    on_device = error(torch.zeros(3, device=device), torch.ones(3, device=device))
    on_host = error(torch.zeros(3), torch.ones(3))
    by_name = error(b=torch.zeros(3), a=torch.ones(3))
    pair = both(torch.zeros(3))
    see(on_device, on_host, by_name, pair[1])
    """


@pytest.mark.parametrize(
    ("expression", "device"),
    [("on_device", DEVICE), ("on_host", HOST), ("by_name", HOST), ("pair[1]", HOST)],
)
def test_each_call_of_a_helper_has_its_own_device(expression, device):
    check(TWO_CALLERS, expression, "tensor", device)


def test_what_a_helper_makes_itself_does_not_depend_on_the_call():
    code = """
        def made(x):
            return torch.zeros(3).cuda()

        see(made(torch.zeros(3)))
        """
    check(code, "made(torch.zeros(3))", "tensor", DEVICE)


def test_a_device_taken_from_a_parameter_is_the_calls():
    code = """
        def mask(x):
            return torch.arange(3, device=x.device) < 2

        device = torch.device("cuda")
        here = mask(torch.zeros(3))
        there = mask(torch.zeros(3, device=device))
        see(here, there)
        """
    check(code, "here", "tensor", HOST)
    check(code, "there", "tensor", DEVICE)


@pytest.mark.parametrize("returns", ["float", "int", "bool", "str"])
def test_a_function_annotated_to_return_a_number_is_believed(returns):
    code = f"def f(x) -> {returns}:\n    return torch.zeros(3)\n\nsee(f(1))"
    check(code, "f(1)", "plain", HOST)


# -- isinstance ------------------------------------------------------------------------------------

NARROWED = {
    "it holds": ("if isinstance(x, torch.Tensor):\n    see(x)", "x", "tensor"),
    "it does not hold": ("if isinstance(x, torch.Tensor):\n    pass\nelse:\n    see(x)", "x", "unknown"),
    "not": ("if not isinstance(x, torch.Tensor):\n    see(x)", "x", "unknown"),
    "not, else": ("if not isinstance(x, torch.Tensor):\n    pass\nelse:\n    see(x)", "x", "tensor"),
    "a number": ("if isinstance(x, (int, float)):\n    see(x)", "x", "plain"),
    "a number or a text": ("if isinstance(x, (int, str)):\n    see(x)", "x", "unknown"),
    "numbers": ("if isinstance(x, int | bool):\n    see(x)", "x", "plain"),
    "not a number": ("if not isinstance(x, (int, float)):\n    see(x)", "x", "tensor"),
    "and": ("if p and isinstance(x, torch.Tensor):\n    see(x)", "x", "tensor"),
    "a conditional": ("y = see(x) if isinstance(x, torch.Tensor) else 0", "x", "tensor"),
    "the other side of a conditional": ("y = 0 if isinstance(x, torch.Tensor) else see(x)", "x", "unknown"),
    "after the test": ("if isinstance(x, (int, float)):\n    pass\nsee(x)", "x", "tensor"),
    "another name": ("if isinstance(y, (int, float)):\n    see(x)", "x", "tensor"),
}


@pytest.mark.parametrize(("code", "expression", "kind"), NARROWED.values(), ids=NARROWED)
def test_isinstance_narrows(code, expression, kind):
    body = "".join(f"    {line}\n" for line in code.splitlines())
    check(f"def f(x, y, p):\n{body}\nf(torch.zeros(3).cuda(), 1, 2)", expression, kind, None)


def test_isinstance_tells_of_what_nobody_knows():
    value = value_of("def f(x):\n    if isinstance(x, torch.Tensor):\n        see(x)", "x")
    assert shown(value) == ("tensor", ANYWHERE)
    assert value.confidence is Confidence.POSSIBLE
    assert "isinstance(x, torch.Tensor)" in value.because


# -- the lattice -----------------------------------------------------------------------------------

GPU, CPU = tensor(DEVICE, "made"), tensor(HOST, "made")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], "nothing"),
        ([NOTHING], "nothing"),
        ([NOTHING, GPU], "tensor"),
        ([GPU, PLAIN], "tensor"),
        ([GPU, UNKNOWN], "tensor"),
        ([GPU, Value("array", HOST)], "unknown"),
        ([GPU, Value("module")], "unknown"),
        ([GPU, Value("batch", HOST)], "tensor"),
        ([PLAIN, UNKNOWN], "unknown"),
        ([Value("array", HOST), PLAIN], "array"),
    ],
)
def test_join_keeps_what_all_agree_on(values, expected):
    assert join(values).kind == expected
    assert join(reversed(values)).kind == expected


def test_join_of_devices_and_confidence():
    assert join([GPU, CPU]).device == ANYWHERE
    assert join([GPU, tensor(ANYWHERE, "")]).device == DEVICE
    assert join([CPU, tensor(ANYWHERE, "")]).device == ANYWHERE
    assert join([GPU, UNKNOWN]).confidence is Confidence.LIKELY
    assert join([GPU, GPU.weaker(Confidence.POSSIBLE)]).confidence is Confidence.POSSIBLE
    assert join([GPU, PLAIN]).confidence is Confidence.CERTAIN


def test_unpacking_knows_elements_and_stops_at_the_unknown():
    pair = sequence(UNKNOWN, (PLAIN, sequence(GPU, (CPU, GPU))))
    assert unpacked(pair, (0,)) == PLAIN
    assert unpacked(pair, (1, 0)) == CPU
    assert unpacked(pair, (1, 7)) == GPU
    assert unpacked(GPU, (0, 1)) == GPU
    assert unpacked(Value("module"), (0,)) == UNKNOWN


@pytest.mark.parametrize(
    ("targets", "kind"),
    [
        ("x, (h, w)", "unknown"),
        ("x, (frames, h)", "unknown"),
        ("(x, y), (h, w)", "tensor"),
        ("x, (h, areas)", "unknown"),
        ("x, h, w", "tensor"),
    ],
)
def test_sizes_that_are_taken_apart_beside_a_whole_are_no_tensors(targets, kind):
    code = """
    def f(x: torch.Tensor):
        TARGETS = g(x)
        h  # <-

    def g(x: torch.Tensor):
        return torch.relu(x)
    """
    assert value_of(code.replace("TARGETS", targets), "h").kind == kind


FALLS_BACK = """
    def fall_back(user, default):
        return tuple(u if u else d for d, u in zip(default, user))

    def sizes(shape: tuple[int, ...], k: int):
        k = fall_back(k, (1,) * len(shape))
        for size in k:
            size  # <-

    class Net(nn.Module):
        def forward(self, x):
            fall_back(x.mean(dim=1), x)
            return sizes(x.shape, 3)
"""


def test_a_helper_that_others_give_tensors_gives_numbers_to_who_passes_numbers():
    assert shown(value_of(FALLS_BACK, "size")) == ("unknown", ANYWHERE)
    assert shown(value_of(FALLS_BACK.replace("(1,) * len(shape)", "torch.ones(3)"), "size"))[0] == "tensor"


def test_as_called_replaces_only_what_is_borrowed():
    borrowed = GPU._replace(borrowed=True)
    assert as_called(borrowed, [CPU]).device == HOST
    assert as_called(borrowed, [CPU, GPU]).device == DEVICE
    assert as_called(borrowed, [UNKNOWN]).device == ANYWHERE
    assert as_called(GPU, [CPU]).device == DEVICE
    assert [v.device for v in as_called(sequence(borrowed, (borrowed, GPU)), [CPU]).items] == [HOST, DEVICE]


# -- it always ends --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "expression"),
    [
        ("def f(x):\n    return f(x)\n\nsee(f(1))", "f(1)"),
        ("def f(x):\n    return g(x)\n\ndef g(x):\n    return f(x)\n\nsee(f(1))", "f(1)"),
        ("a = b\nb = a\nsee(a)", "a"),
        ("for i in see:\n    a, b = b, a\nsee(a)", "a"),
        ("class A:\n    def __init__(self):\n        self.x = self.y\n        self.y = self.x\n\nsee(A().x)", "A().x"),
        ("def f(x):\n    see(x)\n    f(x)", "x"),
    ],
)
def test_what_is_defined_by_itself_stays_unknown(code, expression):
    assert value_of(code, expression).kind in ("unknown", "nothing")


def test_deep_expressions_do_not_recurse_without_end():
    sums = " + ".join(["x"] * 900)
    assert value_of(f"x = torch.zeros(3).cuda()\ny = {sums}\nsee(y)", "y").kind == "tensor"
    calls = "x" + ".float()" * 60
    assert value_of(f"x = torch.zeros(3).cuda()\ny = {calls}\nsee(y)", "y").kind in ("tensor", "unknown")


def test_an_answer_does_not_depend_on_what_was_asked_before():
    code = TWO_CALLERS
    alone = value_of(code, "on_host")
    value_of(code, "on_device")
    assert value_of(code, "on_host") == alone


# -- torch's pairs, and arguments that are spread --------------------------------------------------


@pytest.mark.parametrize("call", ["x.max(1)", "torch.sort(x, dim=1)", "x.topk(3)", "torch.max(x, 0)"])
@pytest.mark.parametrize("half", ["values", "indices"])
def test_the_halves_of_a_pair_have_names(call, half):
    check(f"def f(x: torch.Tensor):\n    best = {call}\n    return best.{half}", f"best.{half}", "tensor", ANYWHERE)


def test_other_sequences_have_no_halves():
    check("def f(x: torch.Tensor):\n    parts = x.split(3)\n    return parts.values", "parts.values", "unknown", None)


def test_what_is_spread_over_parameters():
    code = """
        def flat(scores: torch.Tensor, size: int):
            return scores.view(-1), size
        def loss(scores, size):
            return scores.sum() * size
        def f(scores: torch.Tensor):
            return loss(*flat(scores, 3))
    """
    check(code, "scores.sum()", "tensor", ANYWHERE)
    check(code, "size", "plain", None)


def test_columns_of_tensors():
    code = """
        def f(a: torch.Tensor, b: torch.Tensor):
            for row in zip(*[a, b]):
                for one in row:
                    return one
    """
    check(code, "one", "tensor", ANYWHERE)


def test_pairs_turned_around():
    code = """
        def cut(image: torch.Tensor, size):
            return image[..., :size].cuda(), torch.tensor([0, size])
        def f(image: torch.Tensor, sizes):
            patches, spans = zip(*(cut(image, size) for size in sizes))
            return patches[0], spans[0]
    """
    check(code, "patches[0]", "tensor", DEVICE)
    check(code, "spans[0]", "tensor", HOST)


# -- what annotations of results and fields promise ------------------------------------------------


@pytest.mark.parametrize(
    ("hint", "expression", "kind"),
    [
        ("torch.Tensor", "made", "tensor"),
        ("Optional[torch.Tensor]", "made", "tensor"),
        ("tuple[torch.Tensor, int]", "made[0]", "tensor"),
        ("tuple[torch.Tensor, int]", "made[1]", "plain"),
        ("dict[str, torch.Tensor]", "made['loss']", "tensor"),
        ("Net", "made", "unknown"),
    ],
)
def test_what_a_result_is_annotated_as(hint, expression, kind):
    code = f"""
        def make(x) -> {hint}:
            return library.make(x)
        def f(x):
            made = make(x)
            return {expression}
    """
    check(code, expression, kind, None)


def test_an_annotated_result_is_where_the_arguments_are():
    code = """
        def make(x) -> torch.Tensor:
            return library.make(x)
        def f(x):
            made = make(torch.zeros(3))
            return made
    """
    check(code, "made", "tensor", HOST)


@pytest.mark.parametrize(
    ("expression", "kind"),
    [("b.x", "tensor"), ("b.y", "tensor"), ("b.z[0]", "tensor"), ("b.n", "unknown"), ("b.set", "plain")],
)
@pytest.mark.parametrize("base", ["object", "typing.NamedTuple"])
def test_annotated_fields(base, expression, kind):
    code = f"""
        import typing
        class Batch({base}):
            x: torch.Tensor
            y: torch.Tensor | None = None
            z: list[torch.Tensor] = ()
            n: int = 0
            set: torch.Tensor
            def fill(self):
                self.set = 3
        def f(b: Batch):
            return {expression}
    """
    if (base, expression) != ("typing.NamedTuple", "b.n"):
        check(code, expression, kind, None)


@pytest.mark.parametrize(
    ("hint", "kind"),
    [("torch.Tensor", "tensor"), ("tuple[torch.Tensor, torch.Tensor]", "sequence"), ("object", "unknown")],
)
def test_an_annotated_result_is_believed_where_nothing_else_is_known(hint, kind):
    code = f"import other\n\ndef f(x) -> {hint}:\n    return x.made_elsewhere()\n\nsee(f(other.x))"
    check(code, "f(other.x)", kind, ANYWHERE)


@pytest.mark.parametrize("hint", ["list", "tuple", "dict", "dict[str, list]"])
def test_a_bare_container_says_nothing_of_what_is_in_it(hint):
    code = f"def f(x) -> {hint}:\n    return [[torch.zeros(3).cuda()]]\n\nsee(f(1)[0][0])"
    check(code, "f(1)[0][0]", "tensor", DEVICE)


def test_an_annotated_tensor_is_believed_whatever_kind_of_object_made_it():
    code = """
        from typing import Union
        class A:
            def error(self): ...
        class B:
            def error(self): ...
        class Agent:
            def __init__(self, errors: Union[A, B]):
                self.errors = errors
            def loss(self) -> torch.Tensor:
                return self.errors.error()
            def learn(self):
                see(self.loss())
        """
    check(code, "self.loss()", "tensor", ANYWHERE)


ANNOTATED_ATTRIBUTES = [
    ("class Batch:\n    masks: torch.Tensor\n    size: int", "masks", "tensor"),
    ("class Batch:\n    masks: torch.Tensor\n    size: int", "size", "unknown"),
    ("class Batch:\n    def __init__(self):\n        self.x: dict[str, torch.Tensor] = None", "x", "sequence"),
    ("class Batch:\n    def __init__(self):\n        self.x = None", "x", "unknown"),
    ("class Batch:\n    x: torch.Tensor\n    def __init__(self):\n        self.x = 3", "x", "plain"),
]


@pytest.mark.parametrize(("cls", "name", "kind"), ANNOTATED_ATTRIBUTES)
def test_an_annotated_attribute_that_nobody_fills_in_sight_is_believed(cls, name, kind):
    check(f"{cls}\n\ndef f(batch: Batch):\n    see(batch.{name})", f"batch.{name}", kind, None)


def test_a_device_that_falls_back_to_the_host_is_wherever_the_module_is():
    code = """
class Pipe:
    @property
    def device(self):
        for part in self.parts:
            return part.device
        return torch.device("cpu")

    def run(self, x):
        y = x.unsqueeze(0).to(self.device)
        return y
"""
    found = value_of(code, "y")
    assert (found.kind, found.device) == ("tensor", DEVICE)


FORWARD = """
class Net(nn.Module):
    def {name}(self, target, mask=None):
        {use}
        return {read}
"""


@pytest.mark.parametrize(
    ("name", "use", "kind"),
    [
        ("forward", "pass", "unknown"),
        ("forward", "n = target.max()", "tensor"),
        ("forward", "n = target[:, 0]", "tensor"),
        ("forward", "n = target[0, 1, 2]", "tensor"),
        ("forward", "n = (target > 0).any()", "tensor"),
        ("forward", "n = target[0]", "unknown"),
        ("forward", "n = target['a', 1]", "unknown"),
        ("forward", "n = ('%s' % target).upper()", "unknown"),
        ("forward", "n = target.size", "unknown"),
        ("forward", "n = target.size(0)", "tensor"),
        ("forward", "n = F.relu(target)", "tensor"),
        ("forward", "n = torch.any(target)", "tensor"),
        ("forward", "n = torch.tensor(target)", "unknown"),
        ("forward", "n = torch.full(mask, target)", "unknown"),
        ("forward", "n = torch.stack(target)", "unknown"),
        ("my_loss", "n = target.max()", "tensor"),
        ("describe", "n = target.max()", "unknown"),
        ("describe", "n = torch.any(target)", "tensor"),
    ],
)
def test_what_a_module_is_given_is_a_tensor_where_it_is_used_as_one(name, use, kind):
    found = value_of(FORWARD.format(name=name, use=use, read="(target,)"), "target")
    assert found.kind == kind
    assert kind == "unknown" or found.confidence is Confidence.LIKELY


def test_what_stands_in_for_a_parameter_on_the_host_says_where_that_is():
    use = "mask = torch.zeros(3) if mask is None else mask"
    assert value_of(FORWARD.format(name="forward", use=use + "; n = mask.sum()", read="mask"), "mask").kind == "tensor"
    code = """
class Net(nn.Module):
    def forward(self, x, lengths=None):
        if lengths is None:
            lengths = torch.full((3,), 4)
        n = lengths.max()
        return lengths.sum()
"""
    assert value_of(code, "lengths").device == HOST


def test_what_a_backward_pass_gets_back_are_tensors():
    code = """
class Clamp(torch.autograd.Function):
    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * x
"""
    assert value_of(code, "x").kind == "tensor"


SAVED = """
class Step(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, width):
        ctx.save_for_backward({saved})
        return x

    @staticmethod
    def backward(ctx, grad):
        x, width = ctx.saved_tensors
        return grad * width
"""


@pytest.mark.parametrize(
    ("saved", "device"),
    [
        ("x, torch.tensor(width)", HOST),
        ("x, torch.tensor(width, device=x.device)", ANYWHERE),
        ("x, width", ANYWHERE),
        ("*kept", ANYWHERE),
    ],
)
def test_what_forward_saved_on_the_host_is_there_in_the_backward_pass(saved, device):
    found = value_of(SAVED.format(saved=saved), "width")
    assert (found.kind, found.device) == ("tensor", device)


def test_what_forward_hands_on_within_its_module_is_a_tensor_as_well():
    code = """
class Head({base}):
    def forward(self, scores):
        return self.kept(scores)

    def kept(self, found):
        return found[found.shape[0] - 1:]
"""
    assert value_of(code.format(base="nn.Module"), "found").kind == "tensor"
    assert value_of(code.format(base="object"), "found").kind == "unknown"


OR_ELSE = """
def default(value, other):
    {body}

def sample(image, wanted, count: int):
    made = default(image, lambda: torch.zeros(3).cuda())
    turns = default(wanted, count)
    return made, turns
"""


@pytest.mark.parametrize(
    "body",
    [
        "return value if value is not None else other",
        "if value is not None:\n        return value\n    return other() if callable(other) else other",
    ],
)
def test_what_stands_in_for_a_missing_argument_is_told_of_this_call(body):
    assert value_of(OR_ELSE.format(body=body), "made").kind == "tensor"
    assert value_of(OR_ELSE.format(body=body), "turns").kind == "plain"


def test_what_is_brought_to_the_host_lies_there_whatever_it_was():
    assert value_of("def f(found):\n    best = found.top().cpu()\n    return best\n", "best").device == HOST


def test_a_gradient_is_a_tensor_whoever_has_it():
    assert value_of("def f(things):\n    for p in things:\n        p.grad.data", "p.grad.data").kind == "tensor"
    assert value_of("def f(things):\n    return torch.autograd.grad", "torch.autograd.grad").kind != "tensor"


@pytest.mark.parametrize(("given", "device"), [("loss.cpu()", HOST), ("loss", ANYWHERE)])
def test_a_lambda_computes_where_its_arguments_are(given, device):
    code = f"psnr = lambda x: -10.0 * torch.log(x)\ndef f(loss: torch.Tensor):\n    out = psnr({given})\n    return out"
    assert value_of(code, "out").device == device


@pytest.mark.parametrize("expression", ["packed.batch_sizes", "batch_sizes", "size"])
def test_a_packed_sequence_keeps_its_batch_sizes_on_the_host(expression):
    code = """
        class Cell(nn.Module):
            def forward(self, packed: torch.Tensor, hidden):
                print(packed.batch_sizes)
                packed, batch_sizes, order, back = packed
                for size in batch_sizes:
                    hidden = self.cell(packed[:size], hidden)
    """
    check(code, expression, "tensor", HOST)


@pytest.mark.parametrize(("expression", "device"), [("padded", ANYWHERE), ("lengths", HOST), ("length", HOST)])
def test_lengths_that_are_unpacked_are_on_the_host(expression, device):
    code = """
        from torch.nn.utils.rnn import pad_packed_sequence

        class Encoder(nn.Module):
            def forward(self, packed):
                padded, lengths = pad_packed_sequence(self.rnn(packed)[0], batch_first=True)
                print(padded, lengths)
                return [length // 2 for length in lengths]
    """
    check(code, expression, "tensor", device)


@pytest.mark.parametrize(
    ("begun", "device"), [("torch.zeros(3)", HOST), ("0", DEVICE), ("torch.zeros(3, device='cuda')", DEVICE)]
)
def test_what_is_added_to_in_place_stays_where_it_was(begun, device):
    code = f"""
        def count(model, loader):
            counts = {begun}
            for x in loader:
                counts += model(x.cuda()).cuda().sum(0)
            return counts
    """
    check(code, "counts", "tensor", device)


def test_a_list_that_may_be_its_own_first_element_holds_what_is_put_into_it():
    value = value_of(
        """
        def schedule(n, one):
            masks, spans = [], []
            for i in range(n):
                masks.append(torch.zeros(n) > i)
            if one:
                masks = masks[0]
            steps = torch.stack(masks)
            return steps  # <-
        """,
        "steps",
    )
    assert (value.kind, value.device) == ("tensor", HOST)


@pytest.mark.parametrize(
    ("line", "device"), [("pass", HOST), ("n = n.cpu()", HOST), ("n = n.cuda()", DEVICE), ("k = n.cpu()", HOST)]
)
def test_lengths_that_are_packed_are_on_the_host(line, device):
    value = value_of(
        f"""
        class Net(nn.Module):
            def forward(self, x: torch.Tensor, n: torch.Tensor):
                {line}
                packed = nn.utils.rnn.pack_padded_sequence(x, n, batch_first=True)
                return n.max()  # <-
        """,
        "n",
    )
    assert (value.kind, value.device) == ("tensor", device)


@pytest.mark.parametrize(
    "made", ["p.sum(1).max(-1)[0].int()", "p.argmax(dim=1).long()", "p.sum(-1).bool()", "p.max(1)[0].double()"]
)
def test_what_converts_a_reduction_is_a_tensor(made):
    check(f"def f(p):\n    n = {made}\n    return n", "n", "tensor", ANYWHERE)


@pytest.mark.parametrize("made", ["args.bits.int()", "reader.next().long()", "p.sum(1).astype(int)"])
def test_what_else_is_converted_is_not_known(made):
    value = value_of(f"def f(p, args, reader):\n    n = {made}\n    return n", "n")
    assert value.kind != "tensor"


def test_what_takes_a_number_of_any_kind_gets_what_its_callers_pass():
    code = """
        from typing import SupportsFloat
        def add(value: SupportsFloat):
            return float(value)
        def step(model, x):
            add(torch.mean(model(x)))
        """
    check(code, "value", "tensor", None)


def test_a_comprehension_over_several_lines_of_a_loop_asks_its_own_list():
    lines = "\n".join(f"            or x[i] > {number}" for number in range(3))
    code = f"""
        def f(x: torch.Tensor, n):
            stop = [False] * n
            for step in range(n):
                stop = [
                    stop[i]
        {lines}
                    for i in range(n)
                ]
                if all(stop):
                    break
            return stop
    """
    assert value_of(code, "stop").kind in ("sequence", "unknown")


def test_what_an_autograd_function_gives_lies_where_its_tensors_do():
    code = """
        class Margin(torch.autograd.Function):
            @staticmethod
            def forward(ctx, logits, labels):
                return ctx.helper(logits, labels)

        def f(labels):
            logits = torch.zeros(3, device="cuda")
            loss = Margin.apply(logits, labels)
            return loss
    """
    check(code, "loss", "tensor", DEVICE)


def test_a_device_in_keywords_that_a_class_keeps():
    """`**self.like` holds what a constructor put there, and a device with a default is one that others give."""
    trainer = """
        class Trainer:
            def __init__(self, policy, device=torch.device("cpu")):
                self.like = dict(dtype=torch.float32, device=device)

            def step(self, array):
                x = torch.from_numpy(array).to(**self.like)
                return x
    """
    check(trainer, "x", "tensor", DEVICE)


def test_arithmetic_with_a_number_of_numpys_is_still_a_tensor():
    helper = """
        def entropy(logvar):
            const = 0.5 * float(logvar.size(1)) * (1.0 + np.log(np.pi * 2))
            found = 0.5 * logvar.sum(dim=1) + const
            return found
    """
    check(helper, "found", "tensor", ANYWHERE)


@pytest.mark.parametrize(
    ("asked", "kind"),
    [('f"{name}_indices"', "tensor"), ('f"indices_{name}"', "unknown"), ('f"{name}"', "unknown"), ("name", "unknown")],
)
def test_buffers_whose_names_are_put_together_are_known_by_what_is_written_of_them(asked, kind):
    norm = f"""
        class Norm(nn.Module):
            def __init__(self, sizes):
                super().__init__()
                for name in sizes:
                    self.register_buffer(f"{{name}}_indices", torch.LongTensor(sizes[name]))

            def forward(self, x, name):
                found = getattr(self, {asked})
                return found
    """
    check(norm, "found", kind, ANYWHERE)


@pytest.mark.parametrize("name", ['f"{space}_{key}"', 'f"n_{key}"'])
def test_an_attribute_that_is_set_by_its_name_is_no_buffer_whose_name_is_put_together(name):
    model = f"""
        class Model(nn.Module):
            def __init__(self, config):
                super().__init__()
                self.n_tokens = config.frames // 2

            def register_scale(self, mean, std, space="data"):
                for key, value in (("mean", mean), ("std", std)):
                    self.register_buffer({name}, value)

            def forward(self, x):
                first = max(0, x.shape[1] - self.n_tokens)
                return first
    """
    check(model, "first", "unknown", ANYWHERE)


def test_numpys_indices_of_a_shape_are_numbers():
    helper = """
        def mark(masks):
            for row, column in np.ndindex(*masks.shape[:2]):
                masks[row, column] += 1
    """
    check(helper, "row", "plain", HOST)


def test_a_call_of_something_else_by_a_name_does_not_outweigh_an_annotation():
    detector = """
        class Report:
            pass

        def on_batch(loss: torch.Tensor):
            return loss * 2

        def show():
            return on_batch(Report())
    """
    check(detector, "loss * 2", "tensor", ANYWHERE)


def test_what_is_asserted_to_be_a_tensor_is_likely_one():
    helper = """
        def taken(rows):
            assert isinstance(rows, torch.Tensor)
            return rows
    """
    value = value_of(helper, "rows")
    assert (value.kind, value.confidence) == ("tensor", Confidence.LIKELY)


def test_what_tests_pass_says_nothing_of_where_a_parameter_is():
    files = {
        "sampler.py": "def sample(logits):\n    found = logits.softmax(1)\n    return found\n",
        "tests/test_sampler.py": "from sampler import sample\nsample(torch.randn(3, 3))\n",
    }
    project = dict(files)
    assert shown(value_of({"tests/test_sampler.py": files["tests/test_sampler.py"], **project}, "found")) == (
        "tensor",
        ANYWHERE,
    )
    moved = {"tool.py": files["tests/test_sampler.py"], "sampler.py": files["sampler.py"]}
    assert shown(value_of(moved, "found")) == ("tensor", HOST)


def test_a_batch_that_tests_write_out_is_none_of_a_step():
    loss = "class T(other.Trainer):\n    def compute_loss(self, model, inputs):\n        found = {}\n"
    test = "import torch\nfrom loss import T\nT().compute_loss(None, {'labels': torch.ones(3)})\n"
    used = "import other\n" + loss.format(
        "(inputs['labels'] != -100).sum()\n        inputs['labels'].numel()\n        print(found)"
    )
    assert shown(value_of({"loss.py": used, "tests/test_loss.py": test}, "found")) == ("tensor", ANYWHERE)
    assert shown(value_of({"loss.py": used, "tool.py": test}, "found")) == ("tensor", HOST)


def test_an_empty_list_beside_modules_says_nothing_of_what_an_attribute_holds():
    net = """
        class Net(nn.Module):
            def __init__(self, n):
                super().__init__()
                if n > 0:
                    self.layers = nn.ModuleList([nn.Linear(n, n) for _ in range(n)])
                else:
                    self.layers = {}

            def forward(self, x):
                for layer in self.layers:
                    found = layer(x)
                    print(found)
    """
    assert value_of(net.format("[]"), "found").kind == "tensor"
    assert value_of(net.format("[print]"), "found").kind == "unknown"


@pytest.mark.parametrize("test", ["type(out) == list", "type(out) is list", "type(out) in [list, tuple]"])
def test_a_name_whose_class_is_compared_is_a_list(test):
    value = value_of(f"out = torch.zeros(3).cuda()\nif {test}:\n    print(out)\n", "out")
    assert value.kind == "sequence"
    assert shown(value.item) == ("tensor", DEVICE)


def test_a_class_that_is_ruled_out():
    check("out = torch.zeros(3).cuda()\nif type(out) != list:\n    print(out)\n", "out", "tensor", DEVICE)
    check("out = torch.zeros(3).cuda()\nif type(out) == dict:\n    print(out)\n", "out", "unknown", None)


def test_each_of_many_that_are_walked_side_by_side_is_its_own():
    code = """
        def walk(x, names):
            for a, b, c, d, name in zip(x.cuda(), x.cuda(), x.cuda(), x.cuda(), [n.title for n in names]):
                use(name, d)
        """
    assert value_of(code, "name").kind == "unknown"
    assert value_of(code, "d").on_device


def test_a_comprehension_in_a_loop_hides_the_parameter_of_its_name():
    code = """
    def told(x: torch.Tensor):
        for row in range(3):
            see([str(x) for x in rows(row).tolist()])
    """
    assert value_of(code, "x").kind == "unknown"
    assert value_of(code.replace("str(x) for x in", "str(x) for y in"), "x").kind == "tensor"


@pytest.mark.parametrize(
    ("call", "device"),
    [
        ("torch.normal(x, 0.1)", DEVICE),
        ("torch.normal(0.0, x.exp())", DEVICE),
        ("torch.normal(mean=x, std=x.exp())", DEVICE),
        ("torch.normal(torch.zeros(3), torch.ones(3))", HOST),
        ("torch.normal(0.0, scale)", ANYWHERE),
        ("torch.normal(0.0, 1.0, size=(3,))", HOST),
        ("torch.normal(0.0, 1.0, (3,), device='cuda')", DEVICE),
    ],
)
def test_normal_draws_where_its_tensors_are(call, device):
    check(f"def f(scale):\n    x = torch.zeros(3, device='cuda')\n    y = {call}\n    return y", "y", "tensor", device)


@pytest.mark.parametrize("moves", ["return x.cuda() if use else x", "return x if not use else x.to('cuda')"])
def test_a_helper_that_moves_its_argument_now_and_then(moves):
    code = f"""
        def put(x, use):
            {moves}

        def f(use):
            ones = put(torch.ones(3), use)
            return ones
    """
    value = value_of(code, "ones")
    assert value.kind == "tensor"
    assert value.device != HOST


@pytest.mark.parametrize(
    "put",
    [
        "def put(x, use=True):\n    return x.cuda() if use else x",
        "def put(x, use):\n    if not use:\n        return x\n    return x.cuda()",
        "def put(x, use):\n    if use:\n        x = x.float()\n        return x.cuda()\n    else:\n        return x",
    ],
)
@pytest.mark.parametrize(("given", "device"), [("False", HOST), ("use=False", HOST), ("True", DEVICE), ("f", ANYWHERE)])
def test_a_call_that_says_whether_its_argument_is_moved(put, given, device):
    value = value_of(f"{put}\n\ndef f():\n    ones = put(torch.ones(3), {given})\n    return ones", "ones")
    assert (value.kind, value.device) == ("tensor", device)


@pytest.mark.parametrize(
    ("moves", "device"),
    [
        ("return x.cuda() if use else x", HOST),
        ("return x.to('cuda') if use is not None else x", HOST),
        ("use = torch.cuda.is_available()\n            return x.cuda() if use else x", ANYWHERE),
        ("return x.cuda() if use or x.is_leaf else x", ANYWHERE),
    ],
)
def test_an_option_that_is_off_by_default_and_left_so(moves, device):
    code = f"""
        def put(x, use=None):
            {moves}

        def f():
            ones = put(torch.ones(3))
            return ones
    """
    assert value_of(code, "ones").device == device


@pytest.mark.parametrize(
    ("classes", "kind"),
    [
        ("dict", "batch"),
        ("(list, tuple)", "batch"),
        ("collections.abc.Mapping", "batch"),
        ("list | tuple", "batch"),
        ("str", "unknown"),
        ("(str, list)", "unknown"),
    ],
)
def test_batches_that_are_asked_whether_they_are_containers(classes, kind):
    code = f"""
        import collections

        def train(model, data, optimizer):
            for batch in DataLoader(data):
                if isinstance(batch, {classes}):
                    print(batch)
    """
    assert value_of(code, "batch").kind == kind


ENTRIES = """
class Readout({base}):
    def {name}(self, x):
        x = self.module(x)
        batch = x[{key}]
        return [batch == group for group in batch.{use}()]
"""


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({}, "tensor"),
        ({"use": "tolist"}, "tensor"),
        ({"use": "items"}, "unknown"),
        ({"key": "0"}, "unknown"),
        ({"base": "object", "name": "groups"}, "unknown"),
    ],
)
def test_an_entry_of_what_a_module_is_given_is_a_tensor_where_it_is_used_as_one(change, kind):
    code = ENTRIES.format(**{"base": "nn.Module", "name": "forward", "key": "'batch'", "use": "unique", **change})
    assert value_of(code, "batch").kind == kind


def test_what_is_left_of_the_parts_is_a_sequence_of_them():
    parts = sequence(UNKNOWN, (PLAIN, tensor(HOST, "a"), tensor(HOST, "b")))
    left = left_over(parts, (1,))
    assert (left.kind, left.item and left.item.kind, left.item and left.item.device) == ("sequence", "tensor", HOST)
    assert left_over(UNKNOWN, (0,)) == UNKNOWN


@pytest.mark.parametrize(
    "loop",
    [
        "for first, *rest in DataLoader(data):\n    for x in rest:",
        "for i, (_, *rest) in enumerate(DataLoader(data)):\n    for x in rest:",
        "for batch in DataLoader(data):\n    first, *rest = batch\n    for x in rest:",
    ],
)
def test_what_a_starred_name_takes_of_a_batch_are_parts_of_the_batch(loop):
    check(f"from torch.utils.data import DataLoader\n\n{loop}\n        use(x)\n", "x", "batch", HOST)


def test_batches_of_one_loader_are_compared_on_the_host():
    code = """
        def measure(data):
            for x, y in DataLoader(data, batch_size=8):
                mask = x >= y
                print(mask)
        """
    assert shown(value_of(code, "mask")) == ("batch", HOST)
