"""What data sets of Hugging Face run for each item as they are read."""

from __future__ import annotations

import ast

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.loaders.lazy_transforms import transform_of

FUNCTIONS = """
from functools import partial
from datasets import load_dataset
def images(batch):
    return [image.convert("RGB") for image in batch]
def plain(batch):
    return {key: len(value) for key, value in batch.items()}
def main(other):
    data = load_dataset("beans")
"""


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("use(data.with_transform(images))", "`images` calls `image.convert` for each item"),
        ("data = data['a'].with_transform(transform=images)\n    use(data)", "images"),
        ("data.set_transform(images)\n    use(data)", "images"),
        ("data.set_transform(partial(images, n=1))\n    use(data)", "images"),
        ("data.set_transform(images)\n    use(data['a'])", "images"),
        ("data['a'].set_transform(images)\n    use(data['a'])", "images"),
        ("data['b'].set_transform(images)\n    use(data['a'])", None),
        ("other.set_transform(images)\n    use(data)", None),
        ("data.set_transform(plain)\n    use(data)", None),
        ("data.set_transform(unknown)\n    use(data)", None),
        ("data.set_transform()\n    use(data)", None),
        ("use(data.map(images))", None),
        ("use(data)", None),
    ],
)
def test_transforms(lines, expected):
    files = texts(FUNCTIONS + "    " + lines)
    project = Project.of_texts(files)
    file = SourceFile(project, "a.py", files["a.py"])
    record = next(c for c in file.outline.calls if c.callee == "use")
    (site,) = file.calls_among([record])
    assert isinstance(site.call, ast.Call)
    found = transform_of(project.values, site.call.args[0], site.frame)
    assert (found is None) if expected is None else (found is not None and expected in found)
