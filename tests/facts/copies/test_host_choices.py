"""What the host chooses of a copy."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.copies.host_choices import chosen_on_host
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile

CODE = """
def run(model, env, loader):
    model.cuda()
    for x in loader:
        out = model(x.cuda())
        {rest}
"""


@pytest.mark.parametrize(
    ("rest", "chosen"),
    [
        ("a = np.argmax(out.cpu().numpy(), axis=1)", True),
        ("a = out.cpu().numpy().argmax(1)", True),
        ("p = out.cpu().numpy()\n        a = np.random.choice(4, p=p[0])", True),
        ("p = out.cpu()\n        a = torch.multinomial(p, 1)", True),
        ("d = Categorical(logits=out.cpu())\n        a = d.sample()", True),
        ("a = torch.tanh(out).cpu().numpy()", False),
        ("a = out.argmax(1).cpu().numpy()", False),
        ("a = out.cpu().numpy()\n        b = np.argmax(other)", False),
        ("b = out.argmax(1)\n        a = b.cpu()\n        env.step(a)", False),
    ],
)
def test_what_the_host_does_with_a_copy(rest, chosen):
    files = texts(CODE.format(rest=rest))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    (site,) = file.hot_calls("cpu")
    assert chosen_on_host(site) is chosen
