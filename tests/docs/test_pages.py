"""The pages that come with the program."""

from __future__ import annotations

from pathlib import Path

import blockcalc.docs
from blockcalc.messages import say


def test_the_help_of_docs_names_every_page() -> None:
    (folder,) = map(Path, blockcalc.docs.__path__)
    pages = {path.stem for path in folder.glob("*.md") if path.stem.isalpha()}
    named = say("help.docs").partition(":")[2].partition(";")[0]
    assert {word.strip() for word in named.split(",")} == pages
