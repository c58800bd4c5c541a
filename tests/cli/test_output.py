"""What is written where: links, devices, full disks, closed streams, names that are none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from blockcalc.cli.output import write_file
from tests.helpers import HERE, TINY, process, text

pytestmark = pytest.mark.slow


def _shell(command: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["bash", "-c", command], capture_output=True, check=False, timeout=60)


def test_force_writes_through_links_keeps_modes_and_spares_devices(tmp_path: Path) -> None:
    target, link, pipe = tmp_path / "a.json", tmp_path / "link.json", tmp_path / "pipe"
    target.write_text("old")
    target.chmod(0o600)
    link.symlink_to(target)
    text(process("export", TINY, "--json", "-o", str(link), "--force"))
    assert link.is_symlink()
    assert json.loads(target.read_text())["format"] == "blockcalc"
    assert target.stat().st_mode & 0o777 == 0o600
    os.mkfifo(pipe)
    done = process("export", TINY, "--json", "-o", str(pipe), "--force")
    assert done.returncode == 3
    assert pipe.is_fifo()
    done = process("export", TINY, "--json", "-o", str(tmp_path / ("a" * 300)))
    assert done.returncode == 3
    assert len(done.stderr.decode().splitlines()) == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="/dev/full is not there")
@pytest.mark.parametrize(
    "command", [f"run {TINY}", f"export {TINY} --json", f"export {TINY} --npz", "samples", "format"]
)
def test_a_full_disk_is_one_line(command: str) -> None:
    done = _shell(f"{sys.executable} -m blockcalc {command} > /dev/full")
    assert done.returncode == 3
    assert len(done.stderr.decode().splitlines()) == 1


def test_closed_streams() -> None:
    me = f"{sys.executable} -m blockcalc"
    assert _shell(f"{me} run {TINY} >&-").returncode in (0, 3)
    done = _shell(f"{me} run - <&-")
    assert done.returncode == 2
    assert b"standard input is closed" in done.stderr
    assert _shell(f"{me} run nofile 2>&-").returncode == 2
    assert _shell(f"(sleep 0.3; {me} --help; echo $? >&2) | true").stderr.strip() == b"0"


def test_outputs_without_a_name(tmp_path: Path) -> None:
    tiny = str(HERE.parent / "samples" / "tiny.yaml")
    for args in (("export", tiny, "--json", "-o", "no/file.json"), ("samples", "--copy", "")):
        done = process(*args, cwd=tmp_path)
        assert done.returncode == 3
        assert len(done.stderr.decode().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
    done = process("export", tiny, "--json", "-o", "a\x1b[31m.json", cwd=tmp_path)
    assert b"\x1b" not in done.stderr
    for command in ("samples", "schema", "format"):
        assert process(command, "--error-format", "json").returncode == 0
    done = process("samples", "--copy", tiny, "--error-format", "json")
    assert json.loads(done.stderr)["exit_code"] == 3


def test_nothing_is_left_if_the_content_fails_in_the_middle(tmp_path: Path) -> None:
    def parts() -> Iterator[bytes]:
        yield b"a" * 100_000
        raise KeyboardInterrupt

    (tmp_path / "old").write_bytes(b"old")
    for name, force in (("new", False), ("old", True)):
        with pytest.raises(KeyboardInterrupt):
            write_file(str(tmp_path / name), parts(), force)
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    assert (tmp_path / "old").read_bytes() == b"old"
