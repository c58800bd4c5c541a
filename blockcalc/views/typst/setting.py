"""Set a Typst document as PDF: with fonts that have its characters, and without anything else.

Typst sees a folder with the document alone, no packages and no inputs, so that a document has
only what it says itself.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from blockcalc.errors import Fault, InternalError, Place, UsageError
from blockcalc.messages import say
from blockcalc.views.typst.definitions import FONTS
from blockcalc.views.typst.text import asian, quoted

if TYPE_CHECKING:
    import typst

CHINESE = (
    "Noto Serif CJK SC", "Noto Serif SC", "Source Han Serif SC", "Source Han Serif CN", "Songti SC", "STSong", "SimSun",
    "FandolSong", "Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "Source Han Sans CN", "PingFang SC", "Microsoft YaHei",
    "SimHei", "WenQuanYi Micro Hei", "WenQuanYi Zen Hei", "AR PL SungtiL GB", "Droid Sans Fallback",
)  # fmt: skip
BREAK = "\u200b"  # where a line may break
RARE = "\U00020000"  # from here on few fonts have them
NAMED = 3  # fonts that a refusal names
Source = Callable[[Sequence[str]], str]  # a document with these fonts for what Typst's lack


def set_pages(source: Source) -> bytes:
    """Set a document.

    Raises
    ------
    UsageError
        Typst is not installed, or there is no font for Chinese text.
    """
    try:
        import typst
    except ImportError:
        fault = Fault(say("pdf.missing"), Place("--pdf"), say("pdf.missing.hint"))
        raise UsageError(fault) from None
    text = source(())
    setter = Setter(typst.Fonts(include_system_fonts=False))
    rare = sorted({c for c in text if not c.isascii()})
    missing = setter.lacking(rare)
    if missing:
        setter = Setter(typst.Fonts())
        families = setter.chinese([c for c in missing if asian(c)])
        missing = setter.lacking(missing, families)
        text = source(families)
    points = {ord(c): f"U+{ord(c):04X}{BREAK}" for c in missing}
    try:
        return setter.set(text.translate(points))
    except typst.TypstError as error:
        raise InternalError(Fault(say("pdf.failed", problem=str(error)))) from None


class Setter:
    """Sets documents with some fonts."""

    def __init__(self, fonts: typst.Fonts) -> None:
        self.fonts = fonts

    def set(self, text: str) -> bytes:
        """Set a document; its date is fixed, so that it is the same every time."""
        import typst

        with TemporaryDirectory(prefix="blockcalc-") as name:
            folder = Path(name)
            source, packages = folder / "block" / "block.typ", folder / "packages"
            for own in (source.parent, packages):
                own.mkdir()
            source.write_text(text, encoding="utf-8")
            return typst.compile(
                source, root=source.parent, font_paths=self.fonts, format="pdf", sys_inputs={},
                pdf_standards=["ua-1"], package_path=packages, package_cache_path=packages, timestamp=0,
            )  # fmt: skip

    def lacking(self, characters: Sequence[str], families: Sequence[str] = ()) -> list[str]:
        """Give the characters that no font has."""
        if not characters or self.shows(characters, families):
            return []
        if len(characters) == 1:
            return list(characters)
        half = len(characters) // 2
        parts = characters[:half], characters[half:]
        return [c for part in parts for c in self.lacking(part, families)]

    def shows(self, characters: Iterable[str], families: Sequence[str]) -> bool:
        """Tell whether all characters can be shown."""
        import typst

        fonts = ", ".join(map(quoted, (*FONTS, *families)))
        texts = "\n".join(f"#par({quoted(_based(c))})" for c in characters)
        try:
            self.set(f'#set document(title: "x", date: none)\n#set text(font: ({fonts}))\n{texts}')
        except typst.TypstError:
            return False
        return True

    def chinese(self, characters: Sequence[str]) -> tuple[str, ...]:
        """Choose the font for Chinese characters, if there are any.

        Raises
        ------
        UsageError
            No font has any of the common ones.
        """
        if not characters:
            return ()
        there = set(self.fonts.families())
        found = tuple(name for name in CHINESE if name in there)[:1]
        lacking = self.lacking(characters, found)
        common = [c for c in characters if c < RARE]
        if common and set(common) <= set(lacking):
            names = ", ".join(CHINESE[i] for i in range(0, len(CHINESE), len(CHINESE) // NAMED))
            fault = Fault(
                say("pdf.font", text="".join(lacking[:8])), hint=say("pdf.font.hint", names=names)
            )
            raise UsageError(fault)
        return found


def _based(c: str) -> str:
    """Put a letter before an accent."""
    return f"o{c}" if unicodedata.combining(c) else c
