"""The page about notebooks: its sessions are true, and as a notebook it runs."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import pytest

from blockcalc.docs.samples import folder
from tests.helpers import HERE

PAGE = (HERE.parent / "blockcalc" / "docs" / "notebook.md").read_text(encoding="utf-8")
SESSIONS = re.findall(r"```python\n(>>>.*?)```", PAGE, re.DOTALL)


def test_the_sessions_are_true(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder().parent)
    sessions = [text for text in SESSIONS if "to_frame" not in text]  # pandas takes a second
    assert len(sessions) >= 3
    test = doctest.DocTestParser().get_doctest("\n".join(sessions), {}, "notebook", None, 0)
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the libraries that run notebooks
def test_the_page_runs_as_a_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("nbclient", "ipykernel", "pandas"):
        pytest.importorskip(name, reason=f"{name} is not installed")
    import nbformat
    from nbclient import NotebookClient

    for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    examples = doctest.DocTestParser().get_examples("\n".join(SESSIONS))
    new: Any = nbformat.v4
    cells = [new.new_code_cell(example.source) for example in examples]
    cells.append(new.new_code_cell('get_ipython().complete("trace[\\"attn.sc")'))
    cells.append(new.new_code_cell('trace["nosuch"]'))
    place = {"metadata": {"path": str(folder().parent)}}
    client: Any = NotebookClient
    book = new.new_notebook(cells=cells)
    done = client(book, timeout=120, allow_errors=True, resources=place).execute()
    nbformat.validate(done)
    *ours, completed, wrong = done.cells
    for cell, example in zip(ours, examples, strict=True):
        _check(cell.outputs, example)
    assert "scores" in completed.outputs[0]["data"]["text/plain"]
    assert wrong.outputs[0]["output_type"] == "error"
    assert wrong.outputs[0]["ename"] == "LookupFault"


def _check(outputs: list[Any], example: doctest.Example) -> None:
    """A value has its line and its page; what is printed is printed."""
    assert all(output["output_type"] != "error" for output in outputs)
    if not example.want:
        assert outputs == []
        return
    if outputs[0]["output_type"] == "stream":  # in colour, which notebooks show
        said = re.sub(r"\x1b\[[\d;]*m", "", "".join(output["text"] for output in outputs))
        assert said.split() == example.want.replace("<BLANKLINE>", "").split()
        return
    (output,) = outputs
    assert output["data"]["text/plain"].split() == example.want.split()
    if example.want.startswith("<"):
        assert '<div class="blockcalc">' in output["data"]["text/html"]
