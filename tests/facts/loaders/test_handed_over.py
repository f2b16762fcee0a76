"""Batches that iterators of the project move to the device before they hand them over."""

import pytest
from calls_in import site_of
from snippets import hot_at

from torchperf_lint.facts.loaders.handed_over import handed_over

TRAINED = """
def train(model: nn.Module, optimizer, x, device):
    for part in {over}:
        model(part).sum().backward()
        optimizer.step()
"""
MOVE = "part.to(self.device)"


def generator(move=MOVE, taken="x[order[start : start + 8]]", given="part", before="pass", over="batches.of(x)"):
    """What is found in a generator method."""
    text = f"""
class Batches:
    def __init__(self, device):
        self.device = device

    def of(self, x, order, path):
        for start in range(0, len(x), 8):
            {before}
            part = {taken}
            part = {move}
            yield {given}

batches = Batches("cuda")
"""
    return handed_over(site_of(text + TRAINED.format(over=over), move))


def iterator(made="torch.LongTensor([row[0] for row in rows])", given="part", over="batches", takes="rows"):
    """What is found in a method that `__next__` asks."""
    text = f"""
class Batches:
    def __init__(self, rows, device):
        self.rows, self.device, self.at = rows, device, 0

    def _tensor(self, rows):
        part = {made}.to(self.device)
        return {given}

    def __next__(self):
        if self.at >= len(self.rows):
            raise StopIteration
        rows = self.rows[self.at : self.at + 8]
        self.at += 8
        found = self._tensor({takes})
        return found

    def __iter__(self):
        return self

def use(rows):
    batches = Batches(rows, "cuda")
    model, optimizer = nn.Linear(2, 2), 3
    for part in {over}:
        model(part).sum().backward()
        optimizer.step()
"""
    return handed_over(site_of(text, f"{made}.to(self.device)"))


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"given": "Variable(part), 3"},
        {"given": '{"x": part.float()}'},
        {"move": "part.cuda()"},
        {"taken": "self.x[start : start + 8]"},
        {"taken": "torch.from_numpy(x[start : start + 8])"},
        {"taken": "torch.tensor([row.ids for row in x[start : start + 8]])"},
    ],
)
def test_a_generator_that_moves_what_it_yields(parts):
    found = generator(**parts)
    assert found is not None
    assert found.device == "host"


@pytest.mark.parametrize(
    "parts",
    [
        {"over": "other(x)"},  # nobody trains on it
        {"given": "start"},  # kept to itself
        {"given": "model(part)"},  # something else
        {"move": 'part.to("cpu")'},
        {"move": "part.to(torch.float16)"},
        {"taken": "torch.zeros(8, 4)"},  # TPL251's
        {"taken": "torch.tensor([0.5, 0.25])"},  # TPL252's
        {"taken": "torch.tensor(start)"},  # one number: TPL252's
        {"taken": "self.part"},  # the same one each time: TPL202's
        {"taken": "x"},
        {"taken": 'x["ids"]'},  # some part of who knows what
        {"taken": "path.encode(x)"},  # an object with a `to` of its own
        {"taken": "x[start : start + 8].cuda()"},
        {"taken": "torch.randn(8, device='cuda')[start:]"},
    ],
)
def test_other_moves_of_generators(parts):
    assert generator(**parts) is None


CUT = """
class Batches:
    def __init__(self, data, device):
        self.data, self.device, self.at = data, device, 0

    def __iter__(self):
        return self

    def __next__(self):
        part = self.data{of}[self.at : self.at + 8]
        self.at += 8
        return part.to(self.device)

class Data:
    def __init__(self, path):
        self.images = {images}

def train(model: nn.Module, optimizer, some):
    data = {data}
    for part in Batches(data, "cuda"):
        model(part).sum().backward()
        optimizer.step()
"""
MAPPED = 'torch.load("a.pt", map_location="cuda")'


def cut(data, of="", images="3"):
    return handed_over(site_of(CUT.format(data=data, of=of, images=images), "part.to(self.device)"))


@pytest.mark.parametrize(
    ("parts", "confidence"),
    [
        ({"data": "torch.randn(64, 8)"}, "likely"),
        ({"data": 'torch.from_numpy(np.load("a.npy"))'}, "likely"),
        ({"data": "some"}, "possible"),
        ({"data": 'torch.load("a.pt")'}, "possible"),
        ({"data": 'torch.load("a.pt", map_location="cpu")'}, "possible"),
        ({"data": "Data(some)", "of": ".images", "images": "path[3]"}, "possible"),
    ],
)
def test_how_sure_it_is_that_what_is_cut_lies_on_the_host(parts, confidence):
    found = cut(**parts)
    assert found is not None
    assert found.confidence.value == confidence


@pytest.mark.parametrize(
    "parts",
    [
        {"data": MAPPED},
        {"data": MAPPED.replace('"cuda"', 'torch.device("cuda")')},
        {"data": "torch.randn(64, 8).cuda()"},
        {"data": "Data(some)", "of": ".images", "images": MAPPED},
    ],
)
def test_what_is_cut_lies_on_the_device(parts):
    assert cut(**parts) is None


def test_one_that_is_cut_before_the_loop():
    text = """
def batches(x, n):
    part = x[n:]
    for start in range(0, len(x), 8):
        moved = part.to("cuda")
        yield moved
"""
    assert handed_over(site_of(text + TRAINED.format(over="batches(x, 3)"), 'part.to("cuda")')) is None


@pytest.mark.parametrize("parts", [{}, {"given": "(part, 3), 4"}, {"made": "torch.from_numpy(np.stack(rows))"}])
def test_a_method_that_next_asks(parts):
    assert iterator(**parts) is not None


@pytest.mark.parametrize(
    "parts",
    [
        {"over": "range(9)"},
        {"given": "len(part)"},
        {"made": "torch.LongTensor([1, 2])"},
        {"made": "rows"},  # whatever that is
    ],
)
def test_other_methods(parts):
    assert iterator(**parts) is None


GONE_THROUGH = """
class Batches:
    def __next__(self):
        x = 3  # <-
        return x

    def __iter__(self):
        return {gives}

def train(model, optimizer):
    batches = Batches()
    for part in {over}:
        model(part).backward()
"""


def test_next_of_what_a_loop_goes_through_runs_every_step():
    for over in ("batches", "enumerate(batches)"):
        found = hot_at(GONE_THROUGH.format(gives="self", over=over))
        assert found is not None
        assert (found.kind, found.depth) == ("step", 1)


@pytest.mark.parametrize(("gives", "over"), [("iter(self.loader)", "batches"), ("self", "range(3)")])
def test_next_of_other_objects(gives, over):
    assert hot_at(GONE_THROUGH.format(gives=gives, over=over)) is None
