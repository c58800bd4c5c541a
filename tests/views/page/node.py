"""Run the script of the page in Node."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import blockcalc

MODULES = Path(blockcalc.__file__).parent / "views" / "page"


def node(body: str, given: Any) -> Any:
    """Run a module with a function ``result``; ``PAGE/`` stands for the folder of the script.

    What it is given and gives back is JSON.
    """
    program = shutil.which("node")
    if program is None:
        pytest.skip("needs node")
    code = (
        body.replace("PAGE/", f"{MODULES.as_uri()}/")
        + "\nimport { readFileSync } from 'node:fs';\n"
        + "console.log(JSON.stringify(result(JSON.parse(readFileSync(0, 'utf8')))));\n"
    )
    done = subprocess.run(
        [program, "--input-type=module", "-e", code],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
