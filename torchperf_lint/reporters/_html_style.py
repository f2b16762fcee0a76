"""How the page looks: light, dark, narrow, printed. Constants alone."""

from __future__ import annotations

from torchperf_lint.bounds import AFTER, BACKWARD, BETWEEN, COMPILING, DATA, FORWARD, OPTIMIZER, OTHER, ROLLOUT, WAITING
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
    "p7": "#9c2a6b",
    "p8": "#5b6b00",
    "p9": "#4a1a00",
}
"""Colours by what they are for; `ink` is text on the parts of a bar, p0 to p9."""
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
    "p7": "#f5a3cf",
    "p8": "#b8e000",
    "p9": "#f07030",
}
PHASES = {
    DATA: "p0",
    FORWARD: "p1",
    BACKWARD: "p2",
    OPTIMIZER: "p3",
    COMPILING: "p7",
    WAITING: "p4",
    AFTER: "p5",
    OTHER: "p6",
    ROLLOUT: "p8",
    BETWEEN: "p9",
}
"""The colour of each phase of a step."""
LINES = ("p2", "p5", "p1", "p0")
"""Colours of the lines of a chart, in their order; they differ by their dashes, too."""

_RULES = """
*{box-sizing:border-box}
html{color-scheme:light dark;-webkit-text-size-adjust:100%}
body{margin:0 auto;padding:1.2rem 1rem 4rem;max-width:66rem;background:var(--page);color:var(--text);
font:1rem/1.5 system-ui,-apple-system,"Segoe UI",sans-serif;overflow-wrap:anywhere}
h1{font-size:1.7rem;line-height:1.2;margin:0 0 .3rem}
header p{margin:0}
h2{font-size:1.25rem;line-height:1.3;margin:2.6rem 0 .7rem;padding-top:.8rem;border-top:1px solid var(--rim)}
h3{font-size:1rem;line-height:1.4;margin:0 0 .3rem}
p,ul,ol,dl,pre{margin:.4rem 0}
figure{margin:.4rem 0 1.4rem}
ol,ul{padding-left:1.4rem}
ol>li{margin-bottom:1rem}
ul.short{list-style:none;padding:0;display:flex;flex-wrap:wrap;gap:.1rem 1.4rem}
nav{margin-top:.8rem;font-size:.9rem}
code,pre{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.875em}
pre{padding:.5rem .7rem;overflow-x:auto;background:var(--page);border:1px solid var(--rim);border-radius:.3rem;
overflow-wrap:normal;line-height:1.45}
a{color:inherit}
:focus-visible{outline:2px solid var(--text);outline-offset:2px}
dl.facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(15rem,100%),1fr));gap:.6rem 1.2rem}
dl.facts dd,dl.why dd{margin:0;min-width:0}
dt,.dim,caption,figcaption{color:var(--dim)}
dl.why{display:grid;grid-template-columns:6.5rem minmax(0,1fr);gap:.2rem .6rem}
.card{background:var(--card);border:1px solid var(--rim);border-radius:.4rem;padding:.8rem 1rem;margin:.7rem 0}
.card:target,.card:has(:target){border-color:var(--text)}
.lead{border-left:.35rem solid var(--dim)}
.lead.act{border-left-color:var(--bad)}
.lead h3{font-size:1.25rem;line-height:1.35;margin-bottom:.5rem}
.tag{display:inline-block;font-size:.8rem;font-weight:normal;line-height:1.5;padding:0 .45rem;
border:1px solid currentColor;border-radius:.8rem;white-space:nowrap;vertical-align:.1em}
.tag.bad{font-weight:bold}
summary{cursor:pointer}
summary h3{display:inline}
details[open]>summary{margin-bottom:.5rem}
.good{color:var(--good)}.bad{color:var(--bad)}.note{color:var(--note)}
.mark{color:var(--bad);font-weight:bold}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;margin:.4rem 0}
caption{text-align:left;padding:.2rem 0;max-width:calc(100vw - 2rem)}
.whole{white-space:nowrap}
th,td{text-align:left;vertical-align:top;padding:.3rem .8rem .3rem 0;border-bottom:1px solid var(--rim);
font-weight:normal}
thead th{color:var(--dim);white-space:nowrap}
.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
th.n:last-child,td.n:last-child{padding-right:0}
td:not(.n){min-width:8rem}tbody th{min-width:7rem}
.places tbody th{min-width:12rem}
svg{display:block;width:100%;overflow:visible}
svg text{font:12px system-ui,sans-serif;fill:var(--dim);stroke:var(--page);stroke-width:3px;paint-order:stroke}
svg .ink{fill:var(--ink);stroke:none;pointer-events:none}
svg .mid{text-anchor:middle}
svg .rim{stroke:var(--rim);stroke-width:1}
svg .event{stroke:var(--text);stroke-width:1.5}
svg .pass{stroke:var(--dim);stroke-width:1;stroke-dasharray:2 3}
svg polyline{fill:none;stroke-width:1.5;stroke-linejoin:round;stroke-linecap:round;vector-effect:non-scaling-stroke}
svg .d1{stroke-dasharray:7 3}svg .d2{stroke-dasharray:2 3}svg .d3{stroke-dasharray:8 2 2 2}
figcaption{font-size:.9rem;margin-top:.3rem}
figcaption span{display:inline-block;margin-right:1.4rem}
.swatch{display:inline-block;width:.8em;height:.8em;margin-right:.5em;vertical-align:-.05em}
.dash{display:inline-block;width:1.8rem;height:.7rem;margin-right:.5em;vertical-align:baseline}
@media (max-width:40rem){body{padding:.8rem .8rem 3rem}h1{font-size:1.4rem}dl.why{grid-template-columns:minmax(0,1fr);
gap:0}dl.why dd{margin-bottom:.4rem}.card{padding:.7rem}svg .roomy{display:none}ol{padding-left:1.2rem}}
@media print{body{max-width:none;padding:0;font-size:10pt}nav{display:none}
.card,figure,tr,pre{break-inside:avoid}h2,h3,summary,caption{break-after:avoid}pre{white-space:pre-wrap;font-size:7pt}
pre.frame{white-space:pre}
.wide{overflow:visible}details::details-content{content-visibility:visible;display:block;height:auto}
*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
"""


def style() -> Markup:
    """The content of the page's one style element."""
    colours = [f".f-{name}{{fill:var(--{name})}}.s-{name}{{stroke:var(--{name})}}" for name in sorted(LIGHT)]
    dark = f"@media screen and (prefers-color-scheme:dark){{{_variables(DARK)}}}"
    return Markup("\n".join([_variables(LIGHT), dark, *colours, _RULES.strip()]))


def _variables(colours: dict[str, str]) -> str:
    return ":root{" + ";".join(f"--{name}:{colour}" for name, colour in colours.items()) + "}"
