"""The sample files that come with the package."""

from __future__ import annotations

from pathlib import Path

DEFAULT = "tiny.yaml"


def folder() -> Path:
    """Find the samples: inside an installed package, or next to it in a checkout."""
    here = Path(__file__).resolve().parents[1]
    inside = here / "samples"
    return inside if inside.is_dir() else here.parent / "samples"


def files() -> list[Path]:
    """Give all sample files, the default first."""
    found = sorted(folder().glob("*.yaml"))
    return sorted(found, key=lambda p: p.name != DEFAULT)


def default() -> Path:
    """Give the sample that is shown without a file."""
    return folder() / DEFAULT
