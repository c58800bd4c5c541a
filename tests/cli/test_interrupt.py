"""Ctrl-C at any moment: exit 130, and nothing printed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.helpers import SAMPLES

pytestmark = pytest.mark.slow

COMMANDS = {
    "module": [sys.executable, "-m", "blockcalc"],
    "script": [sys.executable, "-c", "import sys; from blockcalc.__main__ import main; sys.exit(main())"],
}  # fmt: skip
READY = """
import os, sys
class Told:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            os.write(2, b"ready")
            import time; time.sleep(5)
sys.meta_path.insert(0, Told())
sys.argv = ["blockcalc", *sys.argv[1:]]
from blockcalc.__main__ import main
main()
"""


@pytest.mark.parametrize("name", ["blockcalc.cli.app", "typer", "numpy", "yaml", "rich.console"])
def test_an_interrupted_import_is_quiet(name: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", READY.format(name=name), "run", str(SAMPLES[0])],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stderr is not None
    assert process.stderr.read(5) == b"ready"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (130, b"", b"")


REACHED = """
import os, sys
class Told:
    def find_spec(self, name, path=None, target=None):
        if name == "blockcalc.cli.app":
            os.write(2, b"ready")
sys.meta_path.insert(0, Told())
"""


@pytest.mark.parametrize("how", COMMANDS)
def test_any_moment_will_do(how: str, tmp_path: Path) -> None:
    """Before Python reaches the package, 15 ms or so, it ends in its own way."""
    (tmp_path / "sitecustomize.py").write_text(REACHED)
    for delay in (0, 20, 40, 80, 120, 160, 220, 300):
        process = subprocess.Popen(
            [*COMMANDS[how], "grad", str(SAMPLES[0])], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
        )  # fmt: skip
        assert process.stderr is not None
        assert process.stderr.read(5) == b"ready"
        time.sleep(delay / 1000)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
        assert process.returncode in (0, 130), err
        assert err == b""


def test_a_file_that_is_being_written_is_taken_back(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys; from blockcalc.cli import output; import blockcalc.__main__\n"
        "os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGINT)\n"
        "try:\n    output.write_file('a.txt', b'text')\nexcept KeyboardInterrupt:\n    sys.exit(130)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (130, b"")
    assert os.listdir(tmp_path) == []
