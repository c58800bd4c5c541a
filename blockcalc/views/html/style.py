"""The style of HTML: the colours of the notebook itself, shaded in part, on light and on dark."""

from __future__ import annotations

HEAT = "66,133,244"  # the colour of shading, as red, green, blue
MOST_HEAT = 0.62  # at most so opaque: the numbers stay readable on light and on dark ground

STYLE = """
.blockcalc{color:inherit;background:transparent;font-size:13px;line-height:1.5;text-align:left}
.blockcalc .bc-title{font-size:1.15em;font-weight:600;margin:.2em 0}
.blockcalc .bc-quiet{opacity:.72;font-weight:400}
.blockcalc .bc-name{font-family:monospace;opacity:.85}
.blockcalc .bc-note{font-style:italic;margin:.2em 0}
.blockcalc .bc-math{font-family:monospace;white-space:pre-wrap}
.blockcalc .bc-line{font-family:monospace;white-space:pre-wrap;padding-left:1.5em;text-indent:-.8em}
.blockcalc details{margin:.1em 0 .1em 0;padding:0 0 0 .9em;border-left:2px solid rgba(128,128,128,.35)}
.blockcalc summary{cursor:pointer;margin-left:-.5em}
.blockcalc .bc-section>summary{font-weight:600;margin-top:.35em}
.blockcalc .bc-row{display:flex;flex-wrap:wrap;gap:.4em 1.8em;align-items:flex-start;margin:.3em 0;overflow-x:auto}
.blockcalc table{border-collapse:collapse;margin:.2em 0 .5em 0;border:none;width:auto;table-layout:auto;font-size:1em;color:inherit}
.blockcalc sub,.blockcalc sup{line-height:0}
.blockcalc tr,.blockcalc tbody tr:nth-child(odd),.blockcalc tbody tr:nth-child(even){background:transparent;border:none}
.blockcalc th,.blockcalc td{padding:.1em .55em;border:none;color:inherit;white-space:pre;text-align:left;vertical-align:baseline}
.blockcalc thead th{border-bottom:1px solid rgba(128,128,128,.6);font-weight:500}
.blockcalc tbody th{font-weight:500}
.blockcalc .bc-n{text-align:right;font-family:monospace}
.blockcalc .bc-wrap{white-space:normal;max-width:44em}
.blockcalc .bc-total td{border-top:1px solid rgba(128,128,128,.6);font-weight:600}
.blockcalc .bc-wrong{font-weight:600;text-decoration:underline wavy rgba(219,68,55,.9)}
.blockcalc .bc-right{font-weight:600}
.blockcalc .bc-bar{display:inline-block;height:.7em;background:rgba(66,133,244,.6);margin-left:.6em}
.blockcalc .bc-facts th{padding-left:0}
""".strip()
