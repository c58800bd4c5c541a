"""Steps as SVG: every number is in its place, nothing overlaps, and names are shown as typed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from rich.cells import cell_len

import blockcalc
from blockcalc.docs.samples import folder
from blockcalc.explain.depth import Depth
from blockcalc.explain.document import Panel, StepPiece
from blockcalc.explain.steps import explain
from blockcalc.notation.signs import clean
from blockcalc.views.formats.svg import DARK, LIGHT, picture_bytes
from blockcalc.views.picture.svg import CELL, shown
from tests.helpers import FEW_SAMPLES, HERE, THREE, TINY, cli, text
from tests.views.test_markdown import HOSTILE, number

SVG = "{http://www.w3.org/2000/svg}"
CHINESE = str(folder() / "sentence_zh.yaml")


@dataclass(frozen=True)
class Placed:
    """A text or rectangle, with its place on the page."""

    kind: str
    said: str
    x: float
    y: float
    width: float
    height: float


def placed(source: bytes) -> list[Placed]:
    """Give everything that is drawn, in the order of drawing."""
    found: list[Placed] = []

    def walk(element: ET.Element, x: float, y: float) -> None:
        moved = re.fullmatch(r"translate\((\S+),(\S+)\)", element.get("transform", ""))
        if moved:
            x, y = x + float(moved[1]), y + float(moved[2])
        kind = element.get("class", "").removeprefix("bc-")
        if element.tag == f"{SVG}text":
            said = element.text or ""
            width = float(element.get("textLength", CELL))
            assert abs(width - cell_len(said) * CELL) < 0.02 or cell_len(said) < 2
            found.append(Placed(kind, said, x + float(element.get("x", 0)), y + float(element.get("y", 0)) - 11, width, 14))  # fmt: skip
        if element.tag == f"{SVG}rect":
            left, top, width, height = (
                float(element.get(k, 0)) for k in ("x", "y", "width", "height")
            )
            found.append(Placed(kind, "", x + left, y + top, width, height))
        for child in element:
            walk(child, x, y)

    walk(ET.fromstring(source), 0.0, 0.0)
    return found


def inside(a: Placed, b: Placed) -> bool:
    """Tell whether one lies in another."""
    across = b.x - 0.6 <= a.x and a.x + a.width <= b.x + b.width + 0.6
    return across and b.y - 0.6 <= a.y and a.y + a.height <= b.y + b.height + 0.6


def apart(a: Placed, b: Placed) -> bool:
    across = a.x + a.width <= b.x + 0.02 or b.x + b.width <= a.x + 0.02
    return across or a.y + a.height <= b.y + 0.02 or b.y + b.height <= a.y + 0.02


def hold(piece: StepPiece, source: bytes) -> None:
    """Require that a picture shows its panels whole, with no text upon another."""
    found = placed(source)
    page, texts = found[0], [one for one in found if one.said]
    assert page.kind == "ground"
    assert all(inside(one, page) for one in found)
    texts.sort(key=lambda one: (one.y, one.x))
    for i, one in enumerate(texts):
        near = (other for other in texts[i + 1 :] if other.y < one.y + one.height)
        assert all(apart(one, other) for other in near), one
    frames = [one for one in found if one.kind == "frame"]
    assert piece.picture is not None
    parts = (*piece.picture.parts, *piece.picture.others)
    panels = [part for part in parts if isinstance(part, Panel)]
    assert len(frames) == len(panels)
    for frame, panel in zip(frames, panels, strict=True):
        own = [one for one in texts if inside(one, frame)]
        numbers = [one.said for one in own if one.said != "…"]
        assert numbers == [shown(figure) for row in panel.rows for figure in row]
        lit = [one for one in found if one.kind == "lit" and inside(one, frame)]
        assert len(lit) == len(panel.lit)
        cells = [one for one in found if one.kind == "cell" and inside(one, frame)]
        assert len(cells) == (panel.worked is not None)
        if panel.worked:
            (said,) = (one.said for one in own if inside(one, cells[0]))
            assert said == shown(panel.rows[panel.worked[0]][panel.worked[1]])


@pytest.mark.parametrize("path", FEW_SAMPLES, ids=lambda p: p.stem)
def test_every_picture_of_a_sample_is_whole(path: Path) -> None:
    spec = blockcalc.load(path)
    for piece in explain(spec, blockcalc.run(spec), Depth(pictures=True, prose=False)):
        if isinstance(piece, StepPiece):
            hold(piece, picture_bytes(piece))


def test_numbers_are_those_of_the_run() -> None:
    source = cli("export", THREE, "--svg", "--steps", "attn.weights", "--digits", "7").stdout
    found = placed(source)
    last = [one for one in found if one.kind == "frame"][-1]
    read = [number(one.said) for one in sorted(found, key=lambda o: (o.y, o.x))
            if one.said and inside(one, last)]  # fmt: skip
    want = blockcalc.run(blockcalc.load(THREE))["attn.weights"].ravel()
    assert len(read) == want.size
    for (value, half), right in zip(read, want, strict=True):
        assert abs(value - right) <= half


def test_a_heat_map_has_a_ground_for_each_number() -> None:
    causal = str(folder() / "causal.yaml")
    args = ("--svg", "--heat", "--steps", "attn.weights,attn.masked")
    names = set(text(cli("export", causal, "--json")).split('"'))
    assert "attn.masked" in names
    found = placed(cli("export", causal, *args[:2]).stdout)
    shades = [one for one in found if one.kind.startswith("shade")]
    weights = blockcalc.run(blockcalc.load(causal))["attn.weights"]
    assert len(shades) == weights.size
    assert {one.kind for one in shades} >= {"shade0", "shade4"}
    masked = placed(cli("export", causal, "--svg", "--heat", "--steps", "attn.masked").stdout)
    infinite = [one for one in masked if one.said == "-∞"]
    assert infinite
    grounds = [one for one in masked if one.kind.startswith("shade")]
    assert not any(inside(one, ground) for one in infinite for ground in grounds)


def test_chinese_labels_take_two_cells_a_character() -> None:
    found = placed(cli("export", CHINESE, "--svg", "--steps", "attn.weights").stdout)
    widths = {one.said: one.width for one in found if one.kind == "name"}
    assert (widths["远方"], widths["苹果"], widths["有"]) == (4 * CELL, 4 * CELL, 2 * CELL)


def test_hostile_names_are_shown_as_typed() -> None:
    n = len(HOSTILE)
    data = {"tokens": HOSTILE, "x": np.eye(n, 2).tolist(), "stop": "attn.z",
            "attn": {"w_q": np.eye(2).tolist(), "w_k": np.eye(2).tolist(), "w_v": np.eye(2).tolist()}}  # fmt: skip
    args = ("export", "-", "--svg", "--all", "--steps", "attn.scores", "--row", "4")
    done = cli(*args, stdin=json.dumps(data).encode())
    names = [one.said for one in placed(done.stdout) if one.kind == "name"]
    for token in HOSTILE:
        assert clean(token) in names or not token
    assert b"<script>" not in done.stdout


def test_the_picture_says_in_words_what_it_shows() -> None:
    root = ET.fromstring(cli("export", TINY, "--svg", "--steps", "attn.scores").stdout)
    assert root.findtext(f"{SVG}title") == "Scores: each query with each key, attn.scores"
    assert "S[3,3] = 1×1 + 1×2 = 3" in (root.findtext(f"{SVG}desc") or "")
    style = root.findtext(f"{SVG}style") or ""
    light, _, dark = style.partition("@media (prefers-color-scheme:dark)")
    ours = (r"\.bc-\w+\{[^}]*(?:fill|stroke):#", light), (r"\.bc-\w+\{[^}]*(?:fill|stroke):#", dark)
    assert len(re.findall(*ours[0])) == len(re.findall(*ours[1])) > 10
    assert "http" not in style


def contrast(a: str, b: str) -> float:
    """Give the contrast of two colours, as WCAG defines it."""

    def light(colour: str) -> float:
        parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((light(a), light(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_texts_stand_out_from_their_ground_in_light_and_dark() -> None:
    for colours in (LIGHT, DARK):
        pairs = [
            ("ink", "ground"),
            ("quiet", "ground"),
            ("name", "ground"),
            ("ink", "lit"),
            ("ink", "cell"),
        ]
        found = [(str(colours[a]), str(colours[b])) for a, b in pairs]
        found += list(zip(colours["inks"], colours["shades"], strict=True))
        for ink, ground in found:
            assert contrast(ink, ground) >= 4.5, (ink, ground)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((), "one step is drawn in a file; these are 24"),
        (("--steps", "x"), "there is no step to draw"),
    ],
)
def test_several_steps_need_a_folder(args: tuple[str, ...], said: str) -> None:
    done = cli("export", TINY, "--svg", *args)
    assert (done.returncode, done.stdout) == (2, b"")
    hint = "choose a step with --steps, or give a folder, such as -o out/"
    assert done.stderr.decode() == f"{said}\n  {hint}\n"


def test_heat_is_for_pictures() -> None:
    assert (
        cli("export", TINY, "--json", "--heat").stderr
        == b"--heat needs one of --latex, --beamer, --pdf, --typst, --svg\n"
    )


def test_a_folder_takes_every_step_forward_and_backward(tmp_path: Path) -> None:
    text(cli("export", THREE, "--grad", "--svg", "-o", f"{tmp_path}/"))
    data = json.loads(text(cli("export", THREE, "--grad", "--json")))
    assert {path.stem for path in tmp_path.iterdir()} == set(data["steps"])


@pytest.mark.parametrize(
    ("name", "args"),
    [("tiny", (TINY, "--steps", "attn.scores")), ("sentence_zh", (CHINESE, "--heat"))],
)
def test_golden(name: str, args: tuple[str, ...], write_goldens: bool) -> None:
    got = text(cli("export", *args, "--svg"))
    golden = HERE / "golden" / f"{name}.svg"
    if write_goldens:
        golden.write_text(got, encoding="utf-8")
    assert got == golden.read_text(encoding="utf-8")


@pytest.mark.skipif(not shutil.which("rsvg-convert"), reason="rsvg-convert is not installed")
@pytest.mark.slow
@pytest.mark.parametrize("name", ["tiny", "sentence_zh"])
def test_another_program_draws_it(name: str, tmp_path: Path) -> None:
    source, made = HERE / "golden" / f"{name}.svg", tmp_path / "a.png"
    subprocess.run(["rsvg-convert", str(source), "-o", str(made)], check=True)
    assert made.read_bytes().startswith(b"\x89PNG")
    assert made.stat().st_size > 5000
