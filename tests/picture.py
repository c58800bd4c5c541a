"""Draw the picture at the top of README from what the program prints.

``python -m tests.picture`` writes it anew; a test holds that it is what the program prints.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

from rich.console import Console
from rich.text import Text

from blockcalc.docs.samples import default
from tests.helpers import cli

PICTURE = Path(__file__).parents[1] / "blockcalc" / "docs" / "first.svg"
COMMAND = (
    "run",
    str(default()),
    "--steps",
    "attn.scores,attn.weights*,attn.z",
    "--no-prose",
    "--color",
    "always",
)
TITLE = "blockcalc run samples/tiny.yaml --steps 'attn.scores,attn.weights*,attn.z' --no-prose"


def drawn() -> str:
    """Give the picture: the output in a terminal's frame, with no font from elsewhere."""
    out = cli(*COMMAND, COLUMNS="100").stdout.decode()
    console = Console(record=True, width=100, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(out.strip("\n")))
    svg = console.export_svg(title=TITLE, unique_id="blockcalc")
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    return re.sub(r"[ \t]+$", "", svg, flags=re.MULTILINE).replace(
        "Fira Code, monospace", "monospace"
    )


if __name__ == "__main__":
    PICTURE.write_text(drawn(), encoding="utf-8")
