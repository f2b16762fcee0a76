"""What an inference function hands back is copied to the host once, for its caller."""

from __future__ import annotations

import pytest
from calls_in import site_of

from torchperf_lint.facts.copies.handed_back import (
    is_an_array_result,
    is_handed_back,
    is_sent_away,
    is_stored_by_module,
)

CODE = """
    class Net(nn.Module):
        {0}
        def forward(self, x):
            {1}
"""


@pytest.mark.parametrize(
    ("decorator", "body", "handed_back"),
    [
        ("@torch.no_grad()", "return self.net(x).cpu()", True),
        ("@torch.no_grad()", "return {'out': self.net(x).cpu().numpy()}", True),
        ("@torch.no_grad()", "return Output(wav=self.net(x).cpu())", True),
        ("@torch.no_grad()", "y = self.net(x).cpu().numpy()\n            return y, x", True),
        ("", "return self.net(x).cpu()", False),
        ("@torch.no_grad()", "y = self.net(x).cpu()\n            return solve(y)", False),
        ("@torch.no_grad()", "return solve(self.net(x).cpu())", False),
        ("@torch.no_grad()", "return pd.concat([self.net(x).cpu(), y])", True),
        ("@torch.no_grad()", "return torch.concat([self.net(x).cpu(), y])", False),
        ("@torch.no_grad()", "return torch.cat([self.net(x).cpu(), y])", False),
        ("@torch.no_grad()", "y = self.net(x).cpu()\n            self.kept = y", False),
        ("@torch.no_grad()", "return [self.net(part).cpu() for part in x]", False),
    ],
)
def test_what_is_handed_back(decorator, body, handed_back):
    call = "self.net(part).cpu()" if "part" in body else "self.net(x).cpu()"
    assert is_handed_back(site_of(CODE.format(decorator, body), call)) is handed_back


BANK = """
    class Bank(nn.Module):
        def {0}(self, x, y=None):
            features = self.net(x)
            loss = {2}
            {1}
            return features
"""


@pytest.mark.parametrize(
    ("name", "body", "judged", "stored"),
    [
        ("forward", "self.bank.append(features.cpu())", False, True),
        ("training_step", "self.bank.append(features.cpu())", False, True),
        ("forward", "self.bank[0].append(features.flatten(1).cpu())", False, True),
        ("forward", "for i in range(3): self.bank[i].append(features.cpu())", False, True),
        ("forward", "self.losses.append(loss.cpu())", False, False),
        ("forward", "self.norms.append(features.norm().cpu())", False, False),
        ("training_step", "self.bank.append(features.cpu())", True, False),
        ("forward", "seen.append(features.cpu())", False, False),
        ("forward", "self.bank.append(shrink(features.cpu()))", False, False),
        ("helper", "self.bank.append(features.cpu())", False, False),
    ],
)
def test_a_module_stores_features(name, body, judged, stored):
    code = BANK.format(name, body, "F.mse_loss(features, y)" if judged else "self.kept")
    calls = ("features.flatten(1).cpu()", "features.norm().cpu()", "loss.cpu()", "features.cpu()")
    call = next(part for part in calls if part in body)
    assert is_stored_by_module(site_of(code, call)) is stored


SHARD = """
    {0}
    class Shard(nn.Module):
        def forward(self, x):
            {1}
"""
RPC = "import torch.distributed.rpc as rpc"


@pytest.mark.parametrize(
    ("imports", "body", "sent"),
    [
        (RPC, "return self.net(x).cpu()", True),
        (RPC, "out = self.net(x).cpu()\n            return out", True),
        (RPC, "rpc.rpc_sync('ps', take, args=(self.net(x).cpu(),))", True),
        (RPC, "np.save('x', self.net(x).cpu())", False),
        ("", "return self.net(x).cpu()", False),
    ],
)
def test_what_is_sent_to_another_process(imports, body, sent):
    assert is_sent_away(site_of(SHARD.format(imports, body), "self.net(x).cpu()")) is sent


@pytest.mark.parametrize(
    ("goes_back", "array"),
    [("l.backward()", False), ("self.scaler.scale(l).backward()", False), ("out.backward()", True)],
)
def test_one_number_that_a_step_goes_backward_from_is_no_array_that_it_promises(goes_back, array):
    code = f"""
        class Trainer:
            def run(self, loader):
                for batch in loader:
                    self.train_step(batch)

            def train_step(self, batch):
                out = self.network(batch)
                l = self.compare(out)
                {goes_back}
                self.optimizer.step()
                return {{"l": l.detach().cpu().numpy()}}
    """
    assert is_an_array_result(site_of(code, "l.detach().cpu()")) is array


@pytest.mark.parametrize(
    ("body", "array"),
    [
        ("maps = {}\nmaps['last'] = x.cpu().numpy()\nif not maps:\n    raise ValueError\nreturn maps", True),
        ("out = x.cpu().numpy()\nmaps = {'last': out}\nreturn maps", True),
        ("out = x.cpu().numpy()\nmaps = {}\nmaps['last'] = out\nreturn maps, 1", False),
        ("out = x.cpu().numpy()\nmaps = {'last': out}\nx = self.layer(maps['last'])\nreturn maps", False),
        ("self.maps['last'] = x.cpu().numpy()\nreturn x", False),
        ("out = x.cpu().numpy() if y else None\nreturn out", True),
        ("if y:\n    out = x.cpu().numpy()\n    return out\nelse:\n    out = y\n    self.show(out)\nreturn 1", True),
    ],
)
def test_an_entry_of_a_dict_that_is_handed_back(body, array):
    lines = body.replace("\n", "\n                ")
    code = f"""
        class Maps(nn.Module):
            def forward(self, x, y):
                {lines}
    """
    assert is_an_array_result(site_of(code, "x.cpu()")) is array


@pytest.mark.parametrize(
    ("given", "handed_back"),
    [
        ("text: str", True),
        ("texts: list[str]", True),
        ("image: Image.Image", True),
        ("images: List[np.ndarray]", True),
        ("x: torch.Tensor", False),
        ("x: str | torch.Tensor", False),
        ("x, mode: str = 'a'", False),
        ("x", False),
    ],
)
def test_a_pass_that_is_given_text_or_pictures_answers_who_asks(given, handed_back):
    code = f"""
        class Speaker(nn.Module):
            def forward(self, {given}):
                kept = self.encode(text) if self.full else None
                audio = self.net(self.ids()).cpu()
                return Output(audio) if self.full else audio
    """
    assert is_handed_back(site_of(code, "self.net(self.ids()).cpu()")) is handed_back


@pytest.mark.parametrize(
    ("use", "handed_back"),
    [
        ("ids = [self.vocab[c] for c in text]", True),
        ("ids = self.encode([text.lower() + '.'])", True),
        ("first = text[0]", True),
        ("words = text.split()", True),
        ("for c in text: self.add(c)", True),
        ("self.heads[text](x)", False),
        ("self.heads.get(text)", False),
        ("if text == 'a': x = x + 1", False),
        ("if text not in self.heads: raise ValueError(text)", False),
        ("print(text)", False),
        ("pass", False),
    ],
)
def test_a_string_that_only_names_a_mode_is_no_text(use, handed_back):
    code = f"""
        class Heads(nn.Module):
            def forward(self, text: str, x: torch.Tensor):
                {use}
                y = self.net(x).cpu()
                return y
    """
    assert is_handed_back(site_of(code, "self.net(x).cpu()")) is handed_back


@pytest.mark.parametrize(
    ("returned", "whole"), [("y if flag else x", True), ("x if y else None", False), ("x if flag else y", True)]
)
def test_one_of_two_things_that_are_handed_back(returned, whole):
    code = f"""
        class Net(nn.Module):
            @torch.no_grad()
            def forward(self, x, flag):
                y = self.net(x).cpu()
                return {returned}
    """
    assert is_handed_back(site_of(code, "self.net(x).cpu()")) is whole


@pytest.mark.parametrize(
    ("decorator", "name", "array"),
    [
        ("@torch.no_grad()", "features", True),
        ("@torch.inference_mode()", "features", True),
        ("", "features", False),
        ("@torch.no_grad()", "_features", False),
    ],
)
def test_an_array_of_a_helper_that_runs_without_gradients(decorator, name, array):
    code = f"""
        {decorator}
        def {name}(net, x):
            out = net(x).cpu().numpy()
            return out, len(x)

        class Detector(nn.Module):
            def forward(self, x: torch.Tensor):
                return self.head({name}(self.net, x)[0])
    """
    assert is_an_array_result(site_of(code, "net(x).cpu()")) is array


@pytest.mark.parametrize(
    ("returned", "array"),
    [
        ("Scores(au=x.cpu().numpy(), n=1)", True),
        ("Scores(au=x.cpu().numpy() if x is not None else None)", True),
        ("Scores(x.cpu().numpy())", False),
        ("cv2.Blur(src=x.cpu().numpy())", False),
        ("Scores(x.cpu())", False),
        ("scores(x.cpu().numpy())", False),
        ("1 if x.cpu().numpy() else 2", False),
    ],
)
def test_an_array_in_a_record(returned, array):
    code = f"""
        class Net(nn.Module):
            def forward(self, x: torch.Tensor):
                return {returned}
    """
    assert is_an_array_result(site_of(code, "x.cpu()")) is array


@pytest.mark.parametrize(
    ("rest", "array"),
    [
        ("out = self._undo(x, out)\n                assert out.shape == x.shape\n                return out", True),
        ("out = self._undo(x, out)\n                return out", True),
        ("other = self._undo(x, out)\n                return other", False),
        ("out = torch.from_numpy(out)\n                return out", False),
    ],
)
def test_an_array_that_goes_on_under_its_name(rest, array):
    code = f"""
        class Net(nn.Module):
            def forward(self, x: torch.Tensor):
                out = self.net(x).cpu().numpy()
                {rest}
    """
    assert is_an_array_result(site_of(code, "self.net(x).cpu()")) is array


@pytest.mark.parametrize(("name", "array"), [("__call__", True), ("_run", False)])
def test_an_array_of_an_object_that_is_called(name, array):
    code = f"""
        class Gaze:
            def {name}(self, x):
                return self.net(x).cpu().numpy()

        class Detector(nn.Module):
            def __init__(self):
                super().__init__()
                self.gaze = Gaze()

            def forward(self, x: torch.Tensor):
                return self.head(self.gaze{"" if name == "__call__" else "._run"}(x))
    """
    assert is_an_array_result(site_of(code, "self.net(x).cpu()")) is array
