"""Types of tensors that settings name as text."""

from __future__ import annotations

import pytest
from calls_in import site_of

from torchperf_lint.facts.loaders.loaders import batch_copy
from torchperf_lint.facts.values.value import DEVICE, HOST
from torchperf_lint.facts.values.values import Values

CODE = """
    import argparse
    parser = argparse.ArgumentParser()
    {option}
    args = parser.parse_args()
    {above}

    def train(loader: DataLoader, model, opt, kind="torch.cuda.FloatTensor", other="torch.FloatTensor", text=None):
        for x in loader:
            y = x.type({named})
            loss = model(y).mean()
            loss.backward()
            opt.step()
    """
OPTION = 'parser.add_argument("--type", "-t", default="torch.cuda.FloatTensor", help="of all tensors")'


def moved(named, option=OPTION, above=""):
    call = f"x.type({named})"
    site = site_of(CODE.format(named=named, option=option, above=above), call)
    values: Values = site.file.project.values
    copied = batch_copy(values, site.call, site.frame) is not None
    device = values.of(site.call, site.frame).device
    assert copied == (device == DEVICE)
    return device


@pytest.mark.parametrize("named", ["kind", "args.type", "'torch.cuda.FloatTensor'", "KIND"])
def test_a_default_that_is_a_type_of_cuda(named):
    assert moved(named, above='KIND = "torch.cuda.HalfTensor"') == DEVICE


def test_a_type_of_the_host():
    assert moved("other") == HOST
    assert moved("args.type", OPTION.replace(".cuda", "")) == HOST


@pytest.mark.parametrize("named", ["text", "args.kind", "self.type", "KIND"])
def test_what_is_not_known(named):
    assert moved(named, above='KIND = str(args.kind)') != DEVICE


def test_a_tensor_of_the_device_that_a_setting_brings_to_the_host_may_have_to_be_waited_for():
    code = CODE.replace("loss.backward()", "loss.backward(); z = loss.detach().type({named})")
    for named in ("other", "args.type"):
        text = code.format(named=named, option=OPTION.replace(".cuda", ""), above="")
        site = site_of(text, f"loss.detach().type({named})")
        assert site.file.project.values.of(site.call, site.frame).device != HOST


def test_a_setting_that_the_file_sets_itself():
    assert moved("args.type", above="args.type = chosen()") != DEVICE


def test_an_option_without_a_default():
    assert moved("args.type", 'parser.add_argument("--type", choices=["torch.cuda.FloatTensor"])') != DEVICE
