"""Loaders that accelerate sets up, and what their steps compute with."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.loaders.prepared_loaders import prepared_images

TRAIN = """
from accelerate import Accelerator

def train(net: nn.Module, dataset, opt):
    accelerator = Accelerator({config})
    loader = DataLoader(dataset, num_workers=4)
    net, opt, loader = {prepared}
    for step, batch in enumerate(loader):
        {uses}
        loss = net(x).mean()
        accelerator.backward(loss)
        opt.step()
"""
PREPARED = "accelerator.prepare(net, opt, loader)"
IMAGES = 'x = batch["pixel_values"].to(dtype=torch.float16)'


@pytest.mark.parametrize(
    ("prepared", "uses", "config", "entry"),
    [
        (PREPARED, IMAGES, "", 'batch["pixel_values"]'),
        (PREPARED, 'x = batch["conditioning_images"].half()', "", 'batch["conditioning_images"]'),
        (PREPARED, 'x = batch["input_ids"].to(torch.long)', "", None),
        (PREPARED, 'x = batch["image_sizes"].float()', "", None),
        (PREPARED, 'x = batch["images"]', "", None),
        (PREPARED, 'x = net.kept["images"].float()', "", None),
        (PREPARED, IMAGES, "dataloader_config=DataLoaderConfiguration(non_blocking=True)", None),
        ("(net, opt, loader)", IMAGES, "", None),
    ],
)
def test_a_step_over_images_that_accelerate_has_copied(prepared, uses, config, entry):
    files = texts(TRAIN.format(prepared=prepared, uses=uses, config=config))
    project = Project.of_texts(files)
    made = next(call for call in project.index.outlines["a.py"].calls if call.callee == "DataLoader")
    found = prepared_images(project, ("a.py", made.line, made.column))
    assert (found and found.entry) == entry
