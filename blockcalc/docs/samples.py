"""The sample files that come with the package."""

from __future__ import annotations

from pathlib import Path

from blockcalc.errors import Fault, UsageError

MARK = "@"  # before the name of a sample, in place of a file
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


def by_name() -> dict[str, Path]:
    """Give all sample files by their names, in the order of ``files``."""
    return {path.stem: path for path in files()}


def names() -> list[str]:
    """Give the names of all samples, each with its mark, in the order of ``files``."""
    return [MARK + name for name in by_name()]


def file_of(word: str) -> str:
    """Give the file that a word names: ``@tiny`` is a sample, any other word is the file itself.

    A file whose own name begins with the mark is ``./@name``.

    Raises
    ------
    UsageError
        There is no sample of this name.
    """
    if not word.startswith(MARK):
        return word
    known = by_name()
    name = word.removeprefix(MARK).removesuffix(".yaml")
    if name in known:
        return str(known[name])
    from blockcalc.messages import say
    from blockcalc.messages.words import did_you_mean, listed

    hint = did_you_mean(name, known) or say("sample.list", names=listed(known))
    raise UsageError(Fault(say("sample.unknown", name=name), hint=hint))
