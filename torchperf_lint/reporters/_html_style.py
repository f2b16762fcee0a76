"""How the page looks: light, dark, narrow, printed. Constants alone."""

from __future__ import annotations

from torchperf_lint.bounds import AFTER, BACKWARD, DATA, FORWARD, OPTIMIZER, OTHER, ROLLOUT, WAITING
from torchperf_lint.reporters._html_tags import Markup

LIGHT = {
    "page": "#ffffff",
    "text": "#1c1e21",
    "dim": "#5a6069",
    "card": "#f4f5f7",
    "rim": "#c9ced6",
    "good": "#0b6b3a",
    "bad": "#a4161a",
    "note": "#7a4a00",
    "ink": "#ffffff",
    "p0": "#8a2be2",
    "p1": "#0b6b3a",
    "p2": "#0b57d0",
    "p3": "#00666e",
    "p4": "#a4161a",
    "p5": "#7a4a00",
    "p6": "#5a6069",
    "p7": "#8a1a6b",
}
"""Colours by what they are for; `ink` is text on the parts of a bar, p0 to p7."""
DARK = {
    "page": "#15171a",
    "text": "#e8eaed",
    "dim": "#a9b0ba",
    "card": "#202327",
    "rim": "#434a53",
    "good": "#6fd49b",
    "bad": "#ff9a93",
    "note": "#f2c14e",
    "ink": "#15171a",
    "p0": "#cda2ff",
    "p1": "#6fd49b",
    "p2": "#8ab4ff",
    "p3": "#5fd3dc",
    "p4": "#ff9a93",
    "p5": "#f2c14e",
    "p6": "#a9b0ba",
    "p7": "#ff9ddb",
}
PHASES = {
    DATA: "p0",
    FORWARD: "p1",
    BACKWARD: "p2",
    OPTIMIZER: "p3",
    WAITING: "p4",
    AFTER: "p5",
    OTHER: "p6",
    ROLLOUT: "p7",
}
"""The colour of each phase of a step."""
LINES = ("p2", "p5", "p1", "p0")
"""Colours of the lines of a chart, in their order; they differ by their dashes, too."""

_RULES = """
*{box-sizing:border-box}
html{color-scheme:light dark;-webkit-text-size-adjust:100%}
body{margin:0 auto;padding:1rem;max-width:70rem;background:var(--page);color:var(--text);
font:1rem/1.5 system-ui,-apple-system,"Segoe UI",sans-serif;overflow-wrap:anywhere}
h1{font-size:1.5rem;line-height:1.25;margin:.5rem 0}
h2{font-size:1.2rem;margin:2rem 0 .5rem;padding-top:.5rem;border-top:1px solid var(--rim)}
h3{font-size:1rem;margin:0 0 .3rem}
p,ul,ol,dl,figure,pre{margin:.4rem 0}
ol,ul{padding-left:1.4rem}
code,pre{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.875em}
pre{padding:.5rem;overflow-x:auto;background:var(--page);border:1px solid var(--rim);border-radius:.3rem;
overflow-wrap:normal}
a{color:inherit}
:focus-visible{outline:2px solid var(--text);outline-offset:2px}
dl.facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(15rem,1fr));gap:.4rem 1rem}
dl.facts dd,dl.why dd{margin:0}
dt,.dim,caption,figcaption{color:var(--dim)}
dl.why{display:grid;grid-template-columns:7rem 1fr;gap:.2rem .6rem}
.card{background:var(--card);border:1px solid var(--rim);border-radius:.4rem;padding:.7rem .9rem;margin:.6rem 0}
.good{color:var(--good)}.bad{color:var(--bad)}.note{color:var(--note)}
.mark{color:var(--bad);font-weight:bold}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;margin:.4rem 0}
caption{text-align:left;padding:.2rem 0}
th,td{text-align:left;vertical-align:top;padding:.25rem .6rem .25rem 0;border-bottom:1px solid var(--rim);
font-weight:normal}
thead th{color:var(--dim)}
.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
td:not(.n){min-width:9rem}tbody th{min-width:5rem}
svg{display:block;width:100%;height:auto}
svg text{font:12px system-ui,sans-serif;fill:var(--dim)}
svg .ink{fill:var(--ink)}
svg .rim{stroke:var(--rim);stroke-width:1}
svg .pass{stroke:var(--dim);stroke-width:1;stroke-dasharray:2 3}
svg polyline{fill:none;stroke-width:1.5;stroke-linejoin:round}
svg .d1{stroke-dasharray:7 3}svg .d2{stroke-dasharray:2 2}svg .d3{stroke-dasharray:8 2 2 2}
.swatch{display:inline-block;width:.8em;height:.8em;margin-right:.4em;vertical-align:baseline}
.dash{display:inline-block;width:2rem;height:.8em;margin:0 .4em 0 .6em;vertical-align:baseline}
@media (max-width:40rem){body{padding:.6rem}dl.why{grid-template-columns:1fr}svg text{font-size:20px}
svg .ink{display:none}}
@media print{body{max-width:none;padding:0;font-size:10pt}
.card,figure,tr{break-inside:avoid}h2,h3{break-after:avoid}pre{white-space:pre-wrap}.wide{overflow:visible}}
"""


def style() -> Markup:
    """The content of the page's one style element."""
    colours = [f".f-{name}{{fill:var(--{name})}}.s-{name}{{stroke:var(--{name})}}" for name in sorted(LIGHT)]
    dark = f"@media screen and (prefers-color-scheme:dark){{{_variables(DARK)}}}"
    return Markup("\n".join([_variables(LIGHT), dark, *colours, _RULES.strip()]))


def _variables(colours: dict[str, str]) -> str:
    return ":root{" + ";".join(f"--{name}:{colour}" for name, colour in colours.items()) + "}"
