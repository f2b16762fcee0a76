"""Copies that are only drawn."""

from __future__ import annotations

import pytest
from calls_in import site_of

from torchperf_lint.facts.copies.plotted import is_plotted

CODE = """
    import matplotlib.pyplot as plt
    import librosa

    def forward(x, panel, shown):
        {statements}
"""
COPY = "x.detach().cpu()"


@pytest.mark.parametrize(
    ("statements", "plotted"),
    [
        (("plt.imshow(x.detach().cpu().numpy()[0], origin='lower')",), True),
        (("fig, ax = plt.subplots()", "ax.plot(x.detach().cpu().numpy().T)"), True),
        (("fig, axes = plt.subplots(2)", "axes[0].imshow(X=-x.detach().cpu()[0])"), True),
        (("wave = x.detach().cpu().numpy()", "plt.plot(wave[0])", "plt.plot(librosa.to_mono(wave))"), True),
        (("wave = x.detach().cpu().numpy()", "plt.plot(wave[0])", "return wave.mean()"), False),
        (("return panel(x.detach().cpu())",), False),
        (("return shown[x.detach().cpu()]",), False),
        (("panel.plot(x.detach().cpu())",), False),
        (("shown.append(x.detach().cpu())", "plt.plot(shown)"), False),
    ],
)
def test_what_is_handed_straight_to_a_plot(statements, plotted):
    site = site_of(CODE.format(statements="\n        ".join(statements)), COPY)
    assert is_plotted(site.file, site) is plotted
