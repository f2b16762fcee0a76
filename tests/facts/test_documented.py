"""Parameters that documentation says to be tensors."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.documented import is_documented_tensor
from torchperf_lint.facts.project import Project

CODE = '''
    class Ends(nn.Module):
        def forward(self, padded, end):
            """Adds the end.

            {says}
            """
            return padded
'''


def shown(says):
    project = Project.of_texts(texts(CODE.format(says=says)))
    functions = project.index.outlines["a.py"].functions
    body = project.body("a.py")
    assert body is not None
    number = next(i for i, f in enumerate(functions) if f.name == "forward")
    return is_documented_tensor(body, number, "padded")


@pytest.mark.parametrize(
    "says",
    [
        ":param torch.Tensor padded: targets (B, L)",
        ":type padded: torch.Tensor",
        "padded (Tensor): targets",
        "padded (torch.LongTensor): targets",
        "padded (Tensor, optional): targets",
        "padded (:obj:`torch.Tensor`): targets",
        "padded (Tensor(N, C)): targets",
        "padded : torch.Tensor",
    ],
)
def test_documentation_names_a_tensor(says):
    assert shown(says)


@pytest.mark.parametrize(
    "says",
    [
        "padded (list[Tensor]): targets",
        "padded (Tensor | np.ndarray): targets",
        "padded (Tensor or list): targets",
        ":param padded: a Tensor or a list",
        ":type padded: list of torch.Tensor",
        "padded : tuple of Tensor",
        "end (Tensor): number",
        "nothing",
    ],
)
def test_documentation_that_says_less(says):
    assert not shown(says)
