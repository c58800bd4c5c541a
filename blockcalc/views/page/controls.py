"""The switches of the live page, and the strip with the flow of the data."""

from __future__ import annotations

from blockcalc.messages import say
from blockcalc.views.html.text import safe
from blockcalc.views.page.forms import Live


def _said(key: str) -> str:
    return safe(say(f"page.{key}"))


def settings_html(live: Live) -> str:
    """Write the switches; a backward pass has those for which its gradients travel with it."""
    lists = ("order", "mask") if live.backward else ("order", "mask", "activation")
    fields = () if live.backward else ("eps", "scale")
    parts = [
        *(f'<label>{_said(key)}<select id="set-{key}"></select></label>' for key in lists),
        *(
            f'<label>{_said(key)}<input id="set-{key}" inputmode="decimal" autocomplete="off" '
            f'placeholder="{_said("file")}"></label>'
            for key in fields
        ),
        f'<label class="box"><input type="checkbox" id="heat">{_said("heat")}</label>',
        f'<label class="box"><input type="checkbox" id="hide">{_said("guess")}</label>',
        f'<button type="button" id="undo">{_said("undo")}</button>',
        f'<button type="button" id="reset">{_said("reset")}</button>',
        f'<button type="button" id="link">{_said("copy.link")}</button>',
    ]
    return (
        f'<div class="settings" role="group" aria-label="{_said("settings")}" hidden>\n'
        + "\n".join(parts)
        + '\n</div>\n<p id="status" role="status" hidden></p>\n'
    )


def strip_html() -> str:
    """Write the strip: the flow of the data, and the step at the top of the window."""
    before, after, steps = _said("before"), _said("after"), _said("steps")
    return (
        f'<nav id="strip" aria-label="{steps}" hidden><ol id="flow"></ol><div class="move">'
        f'<button type="button" id="before" aria-label="{before}" title="{before}">←</button>'
        f'<input type="range" id="slider" min="1" value="1" aria-label="{steps}">'
        f'<button type="button" id="after" aria-label="{after}" title="{after}">→</button>'
        '<span id="where"></span></div></nav>\n'
    )
