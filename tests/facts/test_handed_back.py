"""What an inference function hands back is copied to the host once, for its caller."""

from __future__ import annotations

import pytest
from calls_in import site_of

from torchperf_lint.facts.handed_back import is_handed_back

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
        ("@torch.no_grad()", "y = self.net(x).cpu()\n            self.kept = y", False),
        ("@torch.no_grad()", "return [self.net(part).cpu() for part in x]", False),
    ],
)
def test_what_is_handed_back(decorator, body, handed_back):
    call = "self.net(part).cpu()" if "part" in body else "self.net(x).cpu()"
    assert is_handed_back(site_of(CODE.format(decorator, body), call)) is handed_back
