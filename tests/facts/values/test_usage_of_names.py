"""What a name must be by its uses: those of what it stands for at that place, not of what it stood for before."""

from __future__ import annotations

import pytest
from snippets import value_of

CODE = """
from lib import made

def f(env):
    done = made(env)
    done = {rebound}
    return done
"""


@pytest.mark.parametrize(
    ("rebound", "kind"),
    [
        ("done.cpu().numpy()", "array"),
        ("done.cpu().tolist()", "unknown"),
        ("done.unsqueeze(0)", "tensor"),
    ],
)
def test_what_became_an_array_is_no_tensor(rebound, kind):
    assert value_of(CODE.format(rebound=rebound), "done").kind == kind


@pytest.mark.parametrize(
    ("scaler", "kind"),
    [("scaler", "tensor"), ("self.loss_scaler", "tensor"), ("transforms", "unknown"), ("boxes", "unknown")],
)
def test_only_a_scaler_scales_a_loss(scaler, kind):
    code = f"""
    def resize(self, size, images, scaler, transforms, boxes):
        return size, {scaler}.scale(size, images)
    """
    assert value_of(code, "size").kind == kind


@pytest.mark.parametrize(
    ("test", "is_array"), [("isinstance(scores, torch.Tensor)", True), ("self.training", False), ("len(scores)", False)]
)
def test_what_a_branch_for_tensors_makes_an_array_of_is_one_behind_it(test, is_array):
    code = f"""
    def accuracy(self, scores, labels):
        if {test}:
            scores = scores.cpu().numpy()
            labels = labels.cpu().numpy()
        return labels[labels != -100]
    """
    assert (value_of(code, "labels[labels != -100]").kind == "array") is is_array


@pytest.mark.parametrize(
    ("name", "kind"), [("rows", "tensor"), ("batcher", "unknown"), ("row_sampler", "unknown"), ("vector", "tensor")]
)
def test_what_does_some_work_has_methods_of_its_own(name, kind):
    code = f"""
    def cut(self, {name}, start, n):
        part = {name}.narrow(0, start, n)
        return {name}
    """
    assert value_of(code, name).kind == kind


@pytest.mark.parametrize(
    ("taken", "use", "kind"),
    [
        ("x, o = given", "x[:, 0]", "tensor"),
        ("x, *o = given", "x[:, 0]", "tensor"),
        ("o, x = given", "(x > 0).any()", "tensor"),
        ("o, x = given", "len(x)", "unknown"),
        ("o, x = self.sizes", "x[:, 0]", "unknown"),
        ("o, x = read(given)", "x[:, 0]", "unknown"),
    ],
)
def test_a_part_of_what_a_module_is_given(taken, use, kind):
    code = f"""
    class Net(nn.Module):
        def forward(self, given):
            {taken}
            {use}
            return keep(x)
    """
    assert value_of(code, "x").kind == kind


@pytest.mark.parametrize(
    ("use", "kind"),
    [("loss_total_step.backward()", "tensor"), ("print(loss_total_step)", "plain")],
)
def test_what_has_gradients_counts_no_steps(use, kind):
    code = f"def f(losses):\n    loss_total_step = losses.total\n    {use}\n    return loss_total_step\n"
    assert value_of(code, "loss_total_step").kind == kind


@pytest.mark.parametrize(
    ("name", "asked", "kind"), [("loss", "ndim", "tensor"), ("loss", "size", "unknown"), ("volume", "ndim", "unknown")]
)
def test_a_loss_that_is_asked_for_its_dimensions_is_a_tensor(name, asked, kind):
    code = f"""
    def shown(self, *given):
        {name} = self.compute(*given)
        if {name}.{asked} == 0:
            return float({name})
    """
    assert value_of(code, name).kind == kind


@pytest.mark.parametrize(
    ("hint", "kind"),
    [("Any", "tensor"), ("typing.Any", "tensor"), ("object", "unknown"), ("dict[str, Any]", "unknown")],
)
def test_any_says_nothing_of_what_a_parameter_is(hint, kind):
    code = f"""
    def valid(logits: {hint}):
        return logits.sigmoid(), logits
    """
    assert value_of(code, "logits").kind == kind


@pytest.mark.parametrize(
    ("index", "kind"),
    [
        ("lengths, torch.arange(n)", "tensor"),
        ("torch.arange(n), -1, lengths", "tensor"),
        ("lengths, np.arange(n)", "unknown"),
        ("lengths, range(n)", "unknown"),
    ],
)
def test_what_an_index_of_torch_s_picks_from_is_a_tensor(index, kind):
    code = f"""
    def last(self, hidden, lengths, n):
        return hidden[{index}]
    """
    assert value_of(code, "hidden").kind == kind


@pytest.mark.parametrize(
    ("second", "kind"),
    [("size - width", "tensor"), ("axis", "sequence"), ("-1", "sequence"), ("x.dim() - 1", "sequence")],
)
def test_a_dimension_is_not_computed_of_what_nobody_knows(second, kind):
    code = f"""
    def bounded(x: torch.Tensor, size, width, axis):
        found = torch.min(x, {second})
        return found
    """
    assert value_of(code, "found").kind == kind


@pytest.mark.parametrize(
    ("base", "head", "kind"),
    [
        ("torch.autograd.Function", "ctx, grad_output", "tensor"),
        ("torch.autograd.Function", "ctx, first, grad_output", "tensor"),
        ("torch.autograd.Function", "ctx, grad_output=None", "unknown"),
        ("Engine", "ctx, grad_output", "unknown"),
    ],
)
def test_a_backward_pass_is_handed_gradients(base, head, kind):
    code = f"""
    class Sign({base}):
        @staticmethod
        def backward({head}):
            return grad_output
    """
    assert value_of(code, "grad_output").kind == kind
