"""The page in a browser: cells, edits, settings, answers, the address, keys and hostile names."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import blockcalc
from blockcalc.docs.samples import folder
from tests.helpers import cli

selenium = pytest.importorskip("selenium.webdriver")
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--window-size=1200,900",
)  # fmt: skip
SPEC = {
    "title": "</script><img src=x onerror=alert(1)> & \u202e",
    "tokens": ["<b>", "a`|b", "词", "zero\u200bwidth", "</script><script>alert(1)</script>"],
    "x": [[1, 0], [0, 1], [1, 1], [2, 1], [1, 2]],
    "attn": {"w_q": [[1, 0], [0, 1]], "w_k": [[1, 1], [0, 1]], "w_v": [[1, 0], [1, 1]]},
}


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    chromium = shutil.which("chromium")
    chromedriver = shutil.which("chromedriver")
    if not (chromium and chromedriver):
        pytest.skip("needs chromium and chromedriver")
    options = selenium.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    found = selenium.Chrome(options=options, service=selenium.ChromeService(chromedriver))
    yield found
    found.quit()


Opened = Callable[..., "Screen"]


class Screen:
    """A page that is open, and what a person does with it."""

    def __init__(self, driver: Any, path: Path) -> None:
        self.driver, self.path = driver, path

    def go(self, address: str = "") -> Screen:
        self.driver.get("about:blank")
        self.driver.get_log("performance")
        self.driver.get(self.path.as_uri() + address)
        return self

    def run(self, script: str, *args: Any) -> Any:
        return self.driver.execute_script(script, *args)

    def cell(self, name: str, at: int) -> Any:
        found = self.driver.find_element(
            "css selector", f'td.cell[data-name="{name}"][data-at="{at}"]'
        )
        self.run("arguments[0].scrollIntoView({block: 'center'})", found)
        return found

    def settled(self) -> None:
        """Wait until the page has computed and shown everything, and written its address."""
        WebDriverWait(self.driver, 20).until(
            lambda d: not d.execute_script("return document.body.classList.contains('working')")
        )
        time.sleep(0.3)

    def click(self, name: str, at: int) -> Screen:
        self.cell(name, at).click()
        return self

    def keys(self, text: str) -> Screen:
        self.driver.switch_to.active_element.send_keys(text)
        return self

    def type(self, text: str) -> Screen:
        field = self.driver.find_element("id", "typed")
        field.clear()
        field.send_keys(text + "\ue007")
        return self

    def text(self, name: str) -> str:
        self.settled()
        return str(self.driver.find_element("id", name).text)

    def count(self, selector: str) -> int:
        return len(self.driver.find_elements("css selector", selector))

    def set(self, name: str, value: str) -> Screen:
        self.run(
            "const f = document.getElementById(arguments[0]); f.value = arguments[1];"
            "f.dispatchEvent(new Event('change', {bubbles: true}))",
            name, value,
        )  # fmt: skip
        return self

    def press(self, name: str) -> Screen:
        self.run("document.getElementById(arguments[0]).click()", name)
        return self

    def at(self, width: int, dark: bool) -> Screen:
        """Give the window a width, and the person a liking for dark or light."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        return self

    def back(self) -> None:
        self.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})

    def fits_and_serves(self, axe: str) -> None:
        """Hold a page to its window, and to what assistive technology needs."""
        wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert self.run(wide) <= 0
        self.run(axe)
        found = self.driver.execute_async_script(
            "const done = arguments[0];"
            "axe.run(document, {resultTypes: ['violations']}).then((r) => done(r.violations))"
        )
        assert [(v["id"], [n["html"] for n in v["nodes"]]) for v in found] == []

    @property
    def address(self) -> str:
        self.settled()
        return str(self.driver.current_url).partition("#")[2]


@pytest.fixture
def opened(driver: Any, tmp_path: Path) -> Iterator[Opened]:
    def made(source: str, *options: str) -> Screen:
        path = tmp_path / "page.html"
        command = () if "compare" in options else ("export",)
        done = cli(*command, *options, source, "--html", "-o", str(path), "--force")
        assert done.returncode == 0, done.stderr.decode()
        return Screen(driver, path).go()

    yield made
    assert driver.get_log("browser") == []
    for entry in driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            told = message["params"]
            if told["documentURL"].startswith("file:"):  # not what the browser asks for itself
                assert (
                    told["request"]["url"].partition("#")[0]
                    == told["documentURL"].partition("#")[0]
                )


def _sample(name: str) -> str:
    return str(folder() / f"{name}.yaml")


def test_a_cell_shows_its_arithmetic_and_lights_what_it_reads_and_feeds(opened: Opened) -> None:
    page = opened(_sample("tiny")).click("attn.weights", 2)
    assert "P[1,3] ≈ 2.028 / 5.056 ≈ 0.4011" in page.text("cell")
    lit = page.run(
        "return [...document.querySelectorAll('td.from')].map(c => c.dataset.name + c.dataset.at)"
    )
    assert lit == ["attn.weights.exp2", "attn.weights.sum0"]
    fed = page.run(
        "return [...document.querySelectorAll('td.feeds')].map(c => c.dataset.name + c.dataset.at)"
    )
    assert fed == ["attn.z0", "attn.z1"]
    assert page.address == "cell=attn.weights%3A2"


def test_an_edit_changes_what_follows_and_can_be_taken_back(opened: Opened) -> None:
    page = opened(_sample("tiny")).click("attn.w_q", 0).type("2")
    assert page.cell("attn.q", 0).text == "2"
    assert page.text("status").startswith("changed: W_Q[1,1] = 2 · cells that follow: ")
    changed = page.count("td.changed")
    assert changed > 10
    page.click("attn.w_q", 0).type("half")
    assert "is expected" in page.text("cell")
    assert page.count("td.changed") == changed
    page.click("x", 3).type("1/3")
    assert page.cell("x", 3).text == "0.3333"
    page.press("undo")
    assert page.cell("x", 3).text == "1"
    page.press("reset")
    page.settled()
    assert page.count("td.changed") == 0
    assert page.address == ""
    page.press("undo")
    page.settled()
    assert page.count("td.changed") == changed


def test_a_change_is_taken_back_where_it_was_made_and_nothing_scrolls(opened: Opened) -> None:
    page = opened(_sample("tiny")).click("attn.w_q", 0).type("2")
    assert "in the file: 1" in page.text("cell")
    changed = page.cell("attn.weights", 0).text
    place = "return document.getElementById('step-attn.weights').getBoundingClientRect().top"
    page.settled()
    before = page.run(place)
    page.press("take-back")
    page.settled()
    assert abs(page.run(place) - before) < 2
    assert page.count("td.changed") == 0
    assert page.count("#take-back") == 0
    assert page.cell("attn.weights", 0).text != changed


def test_a_given_number_is_changed_from_the_keyboard(opened: Opened) -> None:
    page = opened(_sample("tiny"))
    page.run("arguments[0].focus()", page.cell("x", 0))
    page.keys("7").keys("5\ue007")
    assert page.cell("x", 0).text == "75"
    assert page.run("return document.activeElement.dataset.name") == "x"
    page.keys("\ue007").keys("\ue00c")  # Enter opens the field, Escape leaves it
    assert page.run("return document.activeElement.dataset.at") == "0"
    page.keys("\ue00c")
    assert "Choose a cell" in page.text("cell")
    actions = selenium.ActionChains(page.driver)
    actions.double_click(page.cell("attn.w_k", 1)).perform()
    assert page.run("return document.activeElement.id") == "typed"


def test_settings_change_the_block(opened: Opened) -> None:
    page = opened(_sample("tiny")).set("set-order", "pre")
    page.settled()
    first = "return document.querySelectorAll('section.step')[0].dataset.step"
    assert page.run(first) == "norm1.mean"
    assert "pre-norm" in page.text("head")
    page.set("set-mask", "causal")
    page.settled()
    assert page.cell("attn.masked", 1).text == "-∞"
    page.set("set-activation", "gelu").set("set-eps", "0.5").set("set-scale", "2")
    assert set(page.address.split("&")) == {
        "order=pre", "mask=causal", "eps=0.5", "scale=2", "activation=gelu",
    }  # fmt: skip
    formula = "return document.querySelector('#step-ffn\\\\.act .formula math').ariaLabel"
    assert page.run(formula).startswith("A = GELU(")
    shown = page.cell("residual2", 0).text
    assert page.go(f"#{page.address}").cell("residual2", 0).text == shown
    page.set("set-eps", "-1")
    assert "eps=0.5" in page.address


def test_answers_are_marked(opened: Opened) -> None:
    page = opened(_sample("tiny")).press("hide")
    page.settled()
    assert page.cell("attn.scores", 8).text == "?"
    page.click("attn.scores", 8).type("4")
    assert "not right" in page.text("cell")
    assert "right: 0 of 1" in page.text("cell")
    page.click("attn.scaled", 8).type("2.83")
    assert "right from your own numbers before it" in page.text("cell")
    page.click("attn.q", 0).type("1")
    assert "right: 2 of 3" in page.text("cell")
    assert page.text("status") == "right: 2 of 3"
    page.click("attn.z", 0).type("?")
    assert page.cell("attn.z", 0).text == "1.401"
    page.press("hide")
    page.settled()
    assert page.cell("attn.scores", 8).text == "3"


def test_round_off_that_is_shown_as_0_has_no_shade(opened: Opened) -> None:
    page = opened(_sample("tiny"), "--grad").go("#heat=1")
    page.settled()
    shaded = page.run("return [...document.querySelectorAll('td.shade')].map(c => c.textContent)")
    assert shaded
    assert "0" not in shaded
    aligned = page.run(
        "return [...document.querySelectorAll('#closing tbody td:first-child')]"
        ".map(c => getComputedStyle(c).textAlign)"
    )
    assert set(aligned) == {"left"}


def test_one_step_can_be_hidden(opened: Opened) -> None:
    page = opened(_sample("tiny"))
    page.run("document.querySelector('[data-hide=\"attn.scores\"]').click()")
    assert page.cell("attn.scores", 0).text == "?"
    assert page.cell("attn.scaled", 0).text == "0.7071"
    assert page.address == "hide=attn.scores"
    page.go("#hide=attn.scores&hide=attn.q").settled()
    assert page.cell("attn.q", 0).text == "?"
    page.run("document.querySelector('[data-hide=\"attn.q\"]').click()")
    assert page.cell("attn.q", 0).text == "1"


def test_keys_move_between_cells_and_steps(opened: Opened) -> None:
    page = opened(_sample("two_heads")).click("attn.weights", 0)
    active = "return document.activeElement.dataset.at"
    moves = (("\ue014", "1"), ("\ue015", "4"), ("\ue012", "3"), ("\ue010", "5"), ("\ue011", "3"))
    for key, at in moves:
        page.keys(key)
        assert page.run(active) == at
    page.run("document.activeElement.blur()")
    page.driver.find_element("tag name", "body").send_keys("\ue014")
    assert page.text("where").split("/")[0] != "1"
    page.run(
        "const s = document.getElementById('slider'); s.value = 20;"
        "s.dispatchEvent(new Event('input'))"
    )
    assert page.text("where").startswith("20/")
    address = page.address
    assert "step=" in address
    assert page.go(f"#{address}").text("where").startswith("20/")
    page.run("document.querySelector('#flow button').click()")
    assert page.text("where").startswith("1/")


def test_a_cell_can_be_copied_in_three_ways(opened: Opened) -> None:
    page = opened(_sample("tiny")).click("attn.scaled", 8)
    copies = page.run(
        "return [...document.querySelectorAll('[data-copy]')].map(b => b.dataset.copy)"
    )
    assert copies == [
        "S_scaled[3,3] = 3 / √2 ≈ 2.1213",
        r"S_{\mathrm{scaled}}[3,3] = \frac{3}{\sqrt{2}} \approx 2.1213",
        'trace["attn.scaled"][2, 2]',
    ]
    assert float(eval(copies[2], {"trace": blockcalc.run(blockcalc.sample("tiny"))})) > 2.12


def test_a_large_matrix_is_cut_and_shown_whole_on_request(opened: Opened, tmp_path: Path) -> None:
    path = tmp_path / "wide.json"
    spec = {"x": {"random": [40, 3], "seed": 1}, "attn": {"w_q": 3, "w_k": 3, "w_v": 3}}
    spec["attn"] = {f"w_{k}": {"random": [3, 3], "seed": i} for i, k in enumerate("qkv")}
    path.write_text(json.dumps({**spec, "stop": "attn.scores"}), encoding="utf-8")
    page = opened(str(path))
    shown = 'td.cell[data-name="attn.scores"]'
    assert page.count(shown) == 16 * 16
    page.run("document.querySelector('button.whole[data-name=\"attn.scores\"]').click()")
    page.settled()
    assert page.count(shown) == 40 * 40
    assert page.run(f"return [...document.querySelectorAll('{shown}')].every(c => c.textContent)")


def test_names_are_shown_as_typed_and_nothing_runs(opened: Opened, tmp_path: Path) -> None:
    path = tmp_path / "hostile.json"
    path.write_text(json.dumps(SPEC), encoding="utf-8")
    page = opened(str(path))
    assert page.driver.title.startswith("</script><img src=x onerror=alert(1)> & ")
    heads = page.run("return [...document.querySelectorAll('#steps th')].map(t => t.textContent)")
    assert {"<b>", "a`|b", "词"} <= set(heads)
    assert "zero\\u200bwidth" in heads
    assert page.count("img") == 0
    page.click("x", 0)
    assert page.text("cell")


def test_a_wide_given_matrix_scrolls_in_its_own_box(opened: Opened) -> None:
    page = opened(_sample("causal")).at(360, dark=False)
    try:
        page.go().settled()
        wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.run(wide) <= 0
    finally:
        page.back()


def test_paper_has_the_arithmetic_of_a_cell_of_each_step(opened: Opened, tmp_path: Path) -> None:
    page = opened(_sample("tiny")).go("#cell=attn.scores:8&hide=attn.q&set=x:0:2")
    page.settled()
    made = page.driver.execute_cdp_cmd("Page.printToPDF", {})
    lines = page.run(
        "return [...document.querySelectorAll('section.step')].map("
        "s => [s.dataset.step, s.querySelector('.line').textContent])"
    )
    found = dict(lines)
    assert found["attn.scores"] == "S[3,3] = 1×1 + 1×2 = 3"  # of the chosen cell
    assert found["attn.k"].startswith("K[1,1] = 2×")  # with the changed number
    assert found["attn.q"] == ""  # its results are hidden
    assert page.run("return getComputedStyle(document.querySelector('.line')).display") == "none"
    if shutil.which("pdftotext"):
        path = tmp_path / "paper.pdf"
        path.write_bytes(base64.b64decode(made["data"]))
        done = subprocess.run(["pdftotext", path, "-"], capture_output=True, check=True)
        assert "S[3,3] = 1×1 + 1×2 = 3" in done.stdout.decode()


@pytest.mark.slow
@pytest.mark.parametrize("sample", [path.stem for path in folder().glob("*.yaml")])
def test_every_sample_opens_and_every_step_has_its_line(opened: Opened, sample: str) -> None:
    page = opened(_sample(sample))
    names = page.run(
        "return [...document.querySelectorAll('section.step')].map(s => s.dataset.step)"
    )
    for name in names:
        page.run(f"document.querySelector('td.cell[data-name=\"{name}\"]').click()")
        assert page.count("td.chosen") == 1
        assert page.text("cell")
    wide = page.run(
        "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    assert wide <= 0


def test_the_page_is_small_and_asks_for_nothing(tmp_path: Path) -> None:
    done = cli("export", _sample("tiny"), "--html")
    text = done.stdout.decode()
    assert len(done.stdout) < 200_000
    assert "default-src 'none'" in text
    assert " style=" not in text
    assert "http" not in text.replace("http-equiv", "")


def test_a_page_has_every_step() -> None:
    done = cli("export", _sample("tiny"), "--html", "--steps", "attn.q")
    assert done.returncode == 2
    assert done.stderr.decode().endswith("leave out --steps\n")


def _axe() -> str:
    """Give the script of axe-core, which finds what assistive technology cannot use."""
    folder = os.environ.get("AXE_CORE")
    if not folder:
        pytest.skip("needs axe-core, in the folder that AXE_CORE names")
    return (Path(folder) / "axe.min.js").read_text(encoding="utf-8")


def test_a_backward_pass_follows_a_changed_number(driver: Any, tmp_path: Path) -> None:
    path = tmp_path / "grad.html"
    done = cli(
        "export",
        _sample("tiny"),
        "--grad",
        "--loss",
        "sum",
        "--set",
        "stop=ffn",
        "--html",
        "-o",
        str(path),
    )
    assert done.returncode == 0, done.stderr.decode()
    page = Screen(driver, path).go()
    before = page.cell("grad.ffn.w_1", 0).text
    page.click("x", 1).type("3")
    page.settled()
    spec = blockcalc.load(_sample("tiny"), [("x.0.1", 3.0), ("stop", "ffn")])
    own = blockcalc.grad(spec, "sum")["grad.ffn.w_1"]
    assert page.cell("grad.ffn.w_1", 0).text != before
    assert float(page.cell("grad.ffn.w_1", 0).text) == pytest.approx(float(own[0, 0]), abs=5e-4)
    assert page.count("#set-eps") == 0
    page.press("hide")
    page.settled()
    assert page.cell("grad.attn.w_v", 0).text == "?"
    assert driver.get_log("browser") == []


def test_two_runs_stand_side_by_side(driver: Any, tmp_path: Path) -> None:
    path = tmp_path / "both.html"
    done = cli("compare", _sample("tiny"), _sample("causal"), "--html", "-o", str(path))
    assert done.returncode == 0, done.stderr.decode()
    page = Screen(driver, path).go()
    links = "return [...document.querySelectorAll('.overview a')].map(a => a.hash.slice(1))"
    places = page.run(links)
    assert places
    assert len(set(places)) == len(places)
    assert all(page.run("return Boolean(document.getElementById(arguments[0]))", p) for p in places)
    assert page.count("script") == 0
    assert driver.get_log("browser") == []


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--grad",), ("compare",)], ids=["run", "grad", "compare"])
@pytest.mark.parametrize("sample", [path.stem for path in folder().glob("*.yaml")])
def test_assistive_technology_can_use_every_page(
    opened: Opened, sample: str, options: tuple[str, ...]
) -> None:
    script = _axe()
    lang = ("--lang", "zh") if sample == "sentence_zh" else ()
    page = opened(_sample(sample), *options, *lang)
    try:
        for width, dark in ((1300, True), (360, False)):
            page.at(width, dark).go().settled()
            page.fits_and_serves(script)
    finally:
        page.back()


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1300, 360])
@pytest.mark.parametrize(
    ("sample", "state"),
    [
        ("tiny", "#cell=attn.weights:2&set=x:0:2"),
        ("two_heads", "#heat=1&hide=attn.q&cell=attn.q:1&mask=causal"),
        ("sentence_zh", "#cell=x:0"),
    ],
)
def test_assistive_technology_can_use_every_part(
    opened: Opened, sample: str, state: str, width: int, dark: bool
) -> None:
    script = _axe()
    page = opened(_sample(sample)).at(width, dark)
    try:
        page.go(state).settled()
        page.fits_and_serves(script)
    finally:
        page.back()


def test_a_number_far_beyond_the_others_is_marked_where_shades_end(
    opened: Opened, tmp_path: Path
) -> None:
    path = tmp_path / "far.yaml"
    path.write_text("x: [[1, 2, -1, 90], [0.5, -3, 2, 1]]\nattn: {out: {zeros: [2, 4]}}\n")
    page = opened(str(path))
    page.run("document.getElementById('heat').click()")
    page.settled()
    assert page.run("return [...document.querySelectorAll('td.clipped')].map((c) => c.dataset.name + c.textContent)") == ["x90", "residual190"]  # fmt: skip
