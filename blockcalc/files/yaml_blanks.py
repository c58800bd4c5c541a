"""Blanks in a YAML text: a lone ``?`` in place of a number is a number left open.

In YAML it would begin a key. The text is scanned once, with its quotes, brackets and comments, and
only a ``?`` in the place of a value is replaced by null; question marks in texts are kept.
"""

from __future__ import annotations

import re

# line ends in YAML 1.1, but not in YAML 1.2 and in editors
_ENDS = str.maketrans(dict.fromkeys("\x85\u2028\u2029", " "))
_SIGN = re.compile(r"[\"'#\[\]{}?|>\n]")
_QUOTED = {
    '"': re.compile(r'(?:[^"\\]++|\\.)*+"', re.DOTALL),
    "'": re.compile(r"(?:[^']++|'')*+'"),
}
_LONE = re.compile(r"\?[ \t]*(?:[,\]}\n]|#|$)")
_BLOCK = re.compile(r"[|>][-+0-9]* *(?:#.*)?\n")
_ANCHOR = r"(?:&[^\s\[\]{},]+ +)?$"
_INSIDE = re.compile(rf"(?:^|[\[{{,:]) *{_ANCHOR}")
_OUTSIDE = re.compile(rf" *+(?:- ++)*+(?:[^:\n]++: +)?{_ANCHOR}")
_LONGEST = 1500  # a YAML key has at most 1024 characters


def prepared(text: str) -> str:
    """Replace blanks by YAML's null and old line ends by spaces, keeping all lengths."""
    text = text if text.isascii() else text.translate(_ENDS)
    if "?" not in text:
        return text
    signs = list(text)
    for at in _blanks(text):
        signs[at] = "~"
    return "".join(signs)


def _blanks(text: str) -> list[int]:
    """Find the question marks in the place of a value."""
    found: list[int] = []
    at = depth = line = 0  # line is the start of the current line
    while sign := _SIGN.search(text, at):
        start, at = sign.start(), sign.end()
        match sign[0]:
            case "\n":
                line = at
            case "#" if start == line or text[start - 1] in " \t":
                at = _end(text, start)
            case "[" | "{" if depth or _begins(text, line, start, depth):
                depth += 1
            case "]" | "}":
                depth = max(depth - 1, 0)
            case "'" | '"' if _begins(text, line, start, depth):
                closed = _QUOTED[sign[0]].match(text, at)
                at = closed.end() if closed else len(text)
                line = text.rfind("\n", line, at) + 1 or line
            case "|" | ">" if not depth and _BLOCK.match(text, start):
                at = _after_block(text, line, _end(text, start))
            case "?" if _LONE.match(text, start) and _begins(text, line, start, depth):
                if depth or text[line:start].strip():
                    found.append(start)
            case _:
                pass
    return found


def _end(text: str, at: int) -> int:
    """Give the index of the end of the line."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _begins(text: str, line: int, at: int, depth: int) -> bool:
    """Tell whether a value may begin here: after punctuation, a key or a dash."""
    if depth:
        return _INSIDE.search(text[max(line, at - 80) : at]) is not None
    return at - line < _LONGEST and _OUTSIDE.fullmatch(text[line:at]) is not None


def _after_block(text: str, line: int, at: int) -> int:
    """Skip a block text: the lines indented deeper than the line in which it begins."""
    inset = _inset(text, line)
    while at < len(text):
        start = at + 1
        end = _end(text, start)
        if text[start:end].strip() and _inset(text, start) <= inset:
            break
        at = end
    return at


def _inset(text: str, line: int) -> int:
    """Count the indentation of a line; dashes count as spaces."""
    end = _end(text, line)
    return len(text[line:end]) - len(text[line:end].lstrip(" "))
