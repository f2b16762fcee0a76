"""Lists that a test of one of their elements shows to hold no tensors."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.element_loops.told_no_tensors import told_no_tensors
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["if torch.is_tensor(item):", "    return torch.cat(parts)", "else:", "    return {made}"], True),
        (["if isinstance(parts[0], (torch.Tensor, list)):", "    pass", "else:", "    return {made}"], True),
        (["if not torch.is_tensor(parts[0]):", "    return {made}"], True),
        (["return {made} if not torch.is_tensor(item) else torch.cat(parts)"], True),
        (["if torch.is_tensor(item):", "    return {made}"], False),
        (["if torch.is_tensor(other):", "    pass", "else:", "    return {made}"], False),
        (["if isinstance(item, float):", "    pass", "else:", "    return {made}"], False),
        (["return {made}"], False),
    ],
)
def test_the_other_branch(lines, expected):
    code = "\n    ".join(["def joined(parts, other):", "item = parts[0]", *lines])
    files = texts(code.replace("{made}", "torch.tensor(parts)"))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    (site,) = file.calls_of("torch.tensor")
    assert told_no_tensors(site, site.call.args[0]) is expected
