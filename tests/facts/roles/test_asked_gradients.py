"""Functions that nothing in the project calls and that ask autograd for gradients."""

from __future__ import annotations

import pytest
from snippets import hot_at

HOT = {
    "an attack": """
        import torch
        class Attack:
            def attack_single_run(self, x, y):
                t = torch.rand(x.shape).to(self.device)  # <-
                x_adv = (x + t).requires_grad_()
                grad = torch.autograd.grad(self.loss(x_adv, y), [x_adv])[0]
                return x + grad.sign()
        """,
    "a function, by an attribute and backward": """
        import torch
        def pgd(model, images, labels, eps):
            delta = torch.zeros(3).cuda()  # <-
            delta.requires_grad = True
            model(images + delta).sum().backward()
            return images + eps * delta.grad
        """,
    "what an attack calls": """
        import torch
        class Attack:
            def perturb(self, x, y):
                x.requires_grad_()
                return self.noise(x) + torch.autograd.grad(self.model(x).sum(), x)[0]
            def noise(self, x):
                return torch.rand(3).cuda()  # <-
        """,
    "a weighting": """
        import torch
        class Weighting:
            def backward(self, losses, **kwargs):
                return self.gradients(losses)
            def gradients(self, losses):
                return torch.zeros(3).cuda()  # <-
        """,
    "surgery": """
        import torch
        def pc_backward(objectives):
            return torch.zeros(3).cuda()  # <-
        """,
}

COLD = {
    "a search that an optimizer does": """
        import torch
        def craft(model, x, y):
            noise = torch.zeros(3).cuda()  # <-
            noise.requires_grad_()
            optimizer = torch.optim.Adam([noise])
            for _ in range(100):
                model(x + noise).sum().backward()
                optimizer.step()
        """,
    "no labels": """
        import torch
        def invert(model, latent):
            noise = torch.zeros(3).cuda()  # <-
            noise.requires_grad_()
            return torch.autograd.grad(model(latent + noise).sum(), noise)
        """,
    "gradients of parameters": """
        import torch
        def fisher(model, x, y):
            total = torch.zeros(3).cuda()  # <-
            return total + torch.autograd.grad(model(x).sum(), model.weight)[0]
        """,
    "a demonstration": """
        import torch
        if __name__ == "__main__":
            def guide(classifier, x, y):
                x_in = x.detach().requires_grad_()
                noise = torch.zeros(3).cuda()  # <-
                return torch.autograd.grad(classifier(x_in + noise).sum(), x_in)[0]
        """,
    "what is drawn": """
        import torch
        def plot_backward(losses):
            return torch.zeros(3).cuda()  # <-
        """,
}


@pytest.mark.parametrize("code", HOT.values(), ids=HOT)
def test_who_asks_for_gradients_is_hot(code):
    assert hot_at(code) is not None


@pytest.mark.parametrize("code", COLD.values(), ids=COLD)
def test_other_functions_are_not(code):
    hot = hot_at(code)
    assert hot is None or "nothing in the project calls" not in hot.because


WHICH_COUNT = """
import torch
def {name}(wrapper, rows, device):
    model = wrapper.module()
    inputs = torch.tensor(rows, requires_grad=True).to(device)
    found = model.encoder(inputs)
    found.sum().backward()
    return inputs.grad.abs().mean(0).cpu().numpy()  # <-
"""


@pytest.mark.parametrize(
    ("name", "steps"), [("gradient_importance", False), ("feature_importances", False), ("move", True)]
)
def test_who_asks_which_inputs_count_trains_nothing(name, steps):
    assert (hot_at(WHICH_COUNT.format(name=name)) is not None) is steps
