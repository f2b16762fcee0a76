"""Batches that are mappings, moved by a helper for batches of any kind."""

import pytest
from calls_in import site_of

from torchperf_lint.facts.loaders.loaders import batch_copy

CODE = """
    class Trainer:
        def __init__(self, net: nn.Module, device):
            self.net = net
            self.device = torch.device(device)

        def moved(self, x):
            if isinstance(x, dict):
                for key, item in x.items():
                    x[key] = item.to(self.device)
            elif isinstance(x, list):
                for part in x:
                    part.cuda()
            else:
                x = x.to(self.device)
            return x

        def feed_data(self, batch):
            self.data = self.moved(batch)

        def optimize_parameters(self, optimizer):
            loss = {used}
            loss.backward()
            optimizer.step()

    def train(trainer: Trainer, train_loader, optimizer):
        for batch in train_loader:
            trainer.feed_data(batch)
            trainer.optimize_parameters(optimizer)
"""
BY_NAME = 'self.net(self.data["image"]).mean()'


def copied(call, used=BY_NAME):
    site = site_of(CODE.replace("{used}", used), call)
    return batch_copy(site.file.project.values, site.call, site.frame)


def test_the_values_of_a_mapping():
    found = copied("item.to(self.device)")
    assert found is not None
    assert "passed by the call at" in found.because


def test_a_loader_that_is_known():
    code = CODE.replace("in train_loader", "in DataLoader(train_loader, 8)").replace("{used}", BY_NAME)
    for call, told in (("item.to(self.device)", True), ("x.to(self.device)", False)):
        site = site_of(code, call)
        assert (batch_copy(site.file.project.values, site.call, site.frame) is not None) is told


def test_the_branch_for_what_is_no_mapping_is_not_taken():
    assert copied("x.to(self.device)") is None


@pytest.mark.parametrize("used", ["self.net(self.data).mean()", "self.net(self.data[0]).mean()"])
def test_a_batch_that_nothing_shows_to_be_a_mapping(used):
    assert copied("x.to(self.device)", used) is not None


def test_a_mapping_that_the_loop_asks_by_name():
    code = CODE.replace("trainer.feed_data(batch)", 'y = batch["label"]\n            trainer.moved(batch)')
    site = site_of(code.replace("{used}", "self.net(self.data).mean()"), "item.to(self.device)")
    assert batch_copy(site.file.project.values, site.call, site.frame) is not None
