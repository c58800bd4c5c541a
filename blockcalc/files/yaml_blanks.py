"""The blanks of a YAML text: a lone ``?`` where a number could stand is a number not judged.

To YAML it would begin a key. The text is walked once, along its quotes, brackets and comments, and
only what YAML would take for a value of its own is written as null; a question in a text stays one.
"""

from __future__ import annotations

import re

# what YAML 1.1 takes for the end of a line, and YAML 1.2 and editors do not
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
_LONGEST = 1500  # a key of YAML has no more than 1024 signs


def prepared(text: str) -> str:
    """Write lone blanks as YAML's null, and old line ends as spaces: each as long as before."""
    text = text if text.isascii() else text.translate(_ENDS)
    if "?" not in text:
        return text
    signs = list(text)
    for at in _blanks(text):
        signs[at] = "~"
    return "".join(signs)


def _blanks(text: str) -> list[int]:
    """Find the question marks that stand where a value would."""
    found: list[int] = []
    at = depth = line = 0  # line is where the present one begins
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
    """Give the end of the line."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _begins(text: str, line: int, at: int, depth: int) -> bool:
    """Tell whether a value may begin here: within brackets after a sign, else after a key or a dash."""
    if depth:
        return _INSIDE.search(text[max(line, at - 80) : at]) is not None
    return at - line < _LONGEST and _OUTSIDE.fullmatch(text[line:at]) is not None


def _after_block(text: str, line: int, at: int) -> int:
    """Pass the lines of a text by indentation: those that stand further in than the one it begins in."""
    inset = _inset(text, line)
    while at < len(text):
        start = at + 1
        end = _end(text, start)
        if text[start:end].strip() and _inset(text, start) <= inset:
            break
        at = end
    return at


def _inset(text: str, line: int) -> int:
    """Count the spaces before a line's first sign; those of dashes count with them."""
    end = _end(text, line)
    return len(text[line:end]) - len(text[line:end].lstrip(" "))
