"""The script and the style of the page, as they stand in it, and the policy that admits them."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files

MODULES = (  # each after those that it imports from
    "compute/functions", "compute/patterns", "compute/evaluate", "compute/digits", "compute/trees",
    "compute/lines", "compute/feeds", "compute/noise", "marks/answers", "compute/model",
    "marks/marking", "screen/tables", "screen/address", "screen/keys", "screen/slices",
    "screen/sections", "screen/panel", "screen/strip", "screen/settings", "screen/status",
    "screen/main",
)  # fmt: skip
_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\.{1,2}/(?:\w+/)?(\w+)\.mjs";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:function\*?|const|class) (\w+))", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*(?:/\*\*(?:(?!\*/)[\s\S])*\*/\n|// [^\n]*\n)", re.MULTILINE)

_INDENT = re.compile(r"^[ \t]+", re.MULTILINE)
_TYPE = re.compile(r"/\*\*(?:(?!\*/)[\s\S])*\*/ ?")


@cache
def script() -> str:
    """Join the modules of the script, without their comments and indentation."""
    parts = []
    for module in MODULES:
        text = _read(f"{module}.mjs")
        given = ", ".join(_EXPORT.findall(text))
        bare = _INDENT.sub("", _TYPE.sub("", _COMMENT.sub("", text)))
        bare = _EXPORT.sub("", _IMPORT.sub(r"const \1 = $\2;", bare))
        name = module.partition("/")[2]
        parts.append(f"const ${name} = (() => {{\n{bare}return {{ {given} }};\n}})();\n")
    return '"use strict";\n(() => {\n' + "\n".join(parts) + "})();\n"


@cache
def style() -> str:
    """Read the style of the page."""
    return _read("screen/page.css")


def policy(scripted: bool = True) -> str:
    """Write the content security policy: this script, if any, this style and nothing else."""
    scripts = f"script-src {_hash(script())}; " if scripted else ""
    return (
        f"default-src 'none'; {scripts}style-src {_hash(style())}; "
        "base-uri 'none'; form-action 'none'"
    )


def _read(name: str) -> str:
    return files("blockcalc.views.page").joinpath(*name.split("/")).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
