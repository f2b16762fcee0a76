"""Tensors on the host that an object keeps, which a loop moves whole or in pieces."""

import pytest
from calls_in import site_of

from torchperf_lint.facts.copies.moves import repeated_move
from torchperf_lint.facts.loaders.cut_on_host import cut_on_host
from torchperf_lint.model import Confidence

SCENE = """\
class Scene:
    def __init__(self, path, n):
        self.images = torch.from_numpy(np.load(path))
        self.n = n
{methods}

def train(scene: Scene, model: nn.Module, optimizer, device):
    order = np.arange(scene.n)
    np.random.shuffle(order)
    for i in order:
{turn}        loss = model({move}).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def at(move, methods="", turn=""):
    inside = "".join(f"    {line}\n" for line in methods.splitlines())
    turns = "".join(f"        {line}\n" for line in turn.splitlines())
    return site_of(SCENE.format(move=move, methods=inside, turn=turns), move)


@pytest.mark.parametrize("move", ["scene.images[i].to(device)", "scene.images[i, :3].cuda()"])
def test_a_piece_in_each_turn(move):
    found = cut_on_host(at(move))
    assert found is not None
    assert (found.array, found.rows) == (False, True)
    assert "from_numpy" in found.value.because


def test_all_of_it_in_each_turn():
    found = repeated_move(at("scene.images.to(device)"))
    assert found is not None
    assert found.kind == "tensor"


@pytest.mark.parametrize(
    ("methods", "turn"),
    [
        ("def put(self, i, image):\n    self.images[i] = image", ""),
        ("def load(self, path):\n    self.images = torch.load(path)", ""),
        ("def to(self, device):\n    self.images = self.images.to(device)\n    return self", ""),
        ("", "scene = Scene(i, 3)"),  # another in each turn
        ("", "scene.images = model(scene)"),
        ("", "scene.images[0] = 0"),
        ("", "scene.images.mul_(0.9)"),
    ],
)
@pytest.mark.parametrize("move", ["scene.images[i].to(device)", "scene.images.to(device)"])
def test_what_may_be_another_tensor(methods, turn, move):
    site = at(move, methods, turn)
    assert cut_on_host(site) is None
    assert repeated_move(site) is None


FILL = """\
def fill(scene, frames, out=None):
    {written}

"""


@pytest.mark.parametrize("move", ["scene.images[i].to(device)", "scene.images.to(device)"])
@pytest.mark.parametrize(
    "written",
    [
        "scene.images.copy_(frames)",
        "scene.images[:] = frames",
        "scene.images[0, :].fill_(1)",
        "scene.images += frames",
        "scene.images.data[0] = frames",
        "torch.stack(frames, out=scene.images)",
        "np.copyto(scene.images.numpy(), frames)",
        "images = scene.images; images[:] = frames",
        "images, n = scene.images, 3; images.copy_(frames)",
        "view = scene.images.view(-1); part = view[:3]; part.add_(1)",
        "[image.copy_(frame) for image, frame in [(scene.images, 1)]]; put(scene.images, frames)",
        "for image in scene.images: image.zero_()",
        "out.buffer = scene.images",
        "return scene.images",
    ],
)
def test_a_buffer_that_is_refilled_is_another_in_each_turn(written, move):
    put = "def put(target, frames):\n    target[:] = frames\n\n"
    text = SCENE.format(move=move, methods="", turn="        fill(scene, model(i))\n")
    site = site_of(text + put + FILL.format(written=written), move)
    assert cut_on_host(site) is None
    assert repeated_move(site) is None


def test_code_of_the_module_refills_too_and_a_constructor_fills_what_it_makes():
    text = SCENE.format(move="scene.images.to(device)", methods="", turn="")
    assert repeated_move(site_of(text + "\nscene.images[0] = 1\n", "scene.images.to(device)")) is None
    filled = text.replace("        self.n = n", "        self.n = n\n        self.images[0] = 1")
    assert repeated_move(site_of(filled, "scene.images.to(device)")) is not None


@pytest.mark.parametrize("move", ["scene.images[i].to(device)", "scene.images.to(device)"])
@pytest.mark.parametrize(
    "written",
    [
        "print(scene.images.shape)",
        "images = scene.images; images = images * 2; return images.mean()",
        "mean = scene.images.mean(); mean.add_(1); return mean",
        "show(scene.images[0])",
        "return scene.images[0]",
        "frames[:] = scene.images",
        "for image in scene.images: print(image)",
    ],
)
def test_what_is_only_read_stays(written, move):
    show = "def show(image):\n    print(image)\n\n"
    text = SCENE.format(move=move, methods="", turn="        fill(scene, model(i))\n")
    site = site_of(text + show + FILL.format(written=written), move)
    found = cut_on_host(site) if "[i]" in move else repeated_move(site)
    assert found is not None
    assert found.value.confidence is Confidence.LIKELY
