"""Loaders of webdataset: what is known of their batches, and of the pipelines inside."""

from __future__ import annotations

import pytest
from calls_in import site_of
from snippets import value_of

from torchperf_lint.facts.values.web_loaders import decoded_images

HEAD = "import webdataset as wds\nfrom accelerate import Accelerator\n\n"
LOADER = "wds.WebLoader(data, batch_size=None, num_workers=4)"
PAIRS = 'wds.WebDataset(shards).shuffle(9).decode("pil").batched(8)'


@pytest.mark.parametrize(
    ("loader", "kind"),
    [
        (LOADER, "batch"),
        (f"{LOADER}.with_epoch(100)", "batch"),
        (f"{LOADER}.unbatched().batched(8)", "unknown"),
    ],
)
def test_its_batches_are_those_of_the_loader_inside_until_they_are_put_together_anew(loader, kind):
    assert value_of(f"{HEAD}for part in {loader}:\n    use(part)\n", "part").kind == kind


def test_accelerate_leaves_its_batches_where_they_are():
    code = f"{HEAD}accelerator = Accelerator()\nloader = accelerator.prepare({LOADER})\nfor x in loader:\n    use(x)\n"
    value = value_of(code, "x")
    assert (value.kind, value.device) == ("batch", "host")


@pytest.mark.parametrize(
    ("name", "pipeline", "then", "told"),
    [
        ("make_loader", PAIRS, "", True),
        ("make_loader", PAIRS, ".with_length(9)", True),
        ("make_loader", PAIRS, ".unbatched()", False),
        ("make_val_loader", PAIRS, "", False),
        ("make_loader", PAIRS.replace(".shuffle(9)", ""), "", False),
        ("make_loader", PAIRS.replace('"pil"', ""), "", False),
    ],
)
def test_a_pipeline_that_shuffles_and_decodes_images_is_told(name, pipeline, then, told):
    code = f"{HEAD}def {name}(shards):\n    data = {pipeline}\n    return {LOADER}{then}\n"
    assert (decoded_images(site_of(code, LOADER)) is not None) is told
