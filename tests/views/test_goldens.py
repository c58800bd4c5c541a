"""Goldens a person can read: each sample in each format at a fixed width.

``pytest tests/views/test_goldens.py --write-goldens`` writes them anew; read the difference before
committing it.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from tests.helpers import HERE, SAMPLES, cli, text

FORMS = {
    "txt": ("run", "--norm", "{order}"),
    "cells.txt": ("run", "--detail", "cells", "--no-prose", "--steps", "*residual1,norm1*,ffn.*"),
    "tex": ("export", "--latex"),
    "json": ("export", "--json"),
}

FEW = {
    "md": ("export", "--markdown"),
    "csv": ("export", "--csv"),
}  # for the shortest sample, and for one in Chinese
FORMS |= FEW
CASES = [(path, form) for path, form in itertools.product(SAMPLES, FORMS)
         if form not in FEW or path.stem in ("tiny", "sentence_zh")]  # fmt: skip


@pytest.mark.parametrize(("path", "form"), CASES, ids=lambda v: getattr(v, "stem", v))
def test_golden(path: Path, form: str, write_goldens: bool) -> None:
    order = "post" if path.stem != "pencil_pre" else "pre"
    args = [part.format(order=order) for part in FORMS[form]]
    got = text(cli(args[0], str(path), *args[1:], COLUMNS="90"))
    golden = HERE / "golden" / f"{path.stem}.{form}"
    if write_goldens:
        golden.write_bytes(got.encode())
    assert got == golden.read_bytes().decode()
