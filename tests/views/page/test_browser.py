"""The page in a browser: cells, edits, settings, answers, the address, keys and hostile names."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from blockcalc.docs.samples import folder
from tests.helpers import cli

selenium = pytest.importorskip("selenium.webdriver")

FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--window-size=1200,900",
)  # fmt: skip
SPEC = {
    "title": "</script><img src=x onerror=alert(1)> & \u202e",
    "tokens": ["<b>", "a`|b", "词"],
    "x": [[1, 0], [0, 1], [1, 1]],
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

    def click(self, name: str, at: int) -> Screen:
        self.cell(name, at).click()
        return self

    def type(self, text: str) -> Screen:
        field = self.driver.find_element("id", "typed")
        field.clear()
        field.send_keys(text + "\ue007")
        return self

    def text(self, name: str) -> str:
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

    @property
    def address(self) -> str:
        return str(self.driver.current_url).partition("#")[2]


@pytest.fixture
def opened(driver: Any, tmp_path: Path) -> Iterator[Opened]:
    def made(source: str) -> Screen:
        path = tmp_path / "page.html"
        done = cli("export", source, "--html", "-o", str(path), "--force")
        assert done.returncode == 0, done.stderr.decode()
        return Screen(driver, path).go()

    yield made
    assert driver.get_log("browser") == []
    for entry in driver.get_log("performance"):
        if '"Network.requestWillBeSent"' in entry["message"]:
            assert '"url":"file:///' in entry["message"] or '"url":"about:' in entry["message"]


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
    assert page.text("status").startswith("changed cells: ")
    changed = page.count("td.changed")
    assert changed > 10
    page.type("half")
    assert "is expected" in page.text("cell")
    assert page.count("td.changed") == changed
    page.click("x", 3).type("1/3")
    page.press("undo")
    assert page.cell("x", 3).text == "1"
    page.press("reset")
    assert page.count("td.changed") == 0
    assert page.address == ""


def test_settings_change_the_block(opened: Opened) -> None:
    page = opened(_sample("tiny")).set("set-order", "pre")
    assert (
        page.run("return document.querySelectorAll('section.step')[0].dataset.step") == "norm1.mean"
    )
    page.set("set-mask", "causal")
    assert page.cell("attn.masked", 1).text == "-∞"
    page.set("set-activation", "gelu").set("set-eps", "0.5").set("set-scale", "2")
    assert set(page.address.split("&")) == {
        "order=pre",
        "mask=causal",
        "eps=0.5",
        "scale=2",
        "activation=gelu",
    }
    shown = page.cell("residual2", 0).text
    assert page.go(f"#{page.address}").cell("residual2", 0).text == shown
    page.set("set-eps", "-1")
    assert "eps=0.5" in page.address


def test_answers_are_marked(opened: Opened) -> None:
    page = opened(_sample("tiny")).press("hide")
    assert page.cell("attn.scores", 8).text == "?"
    page.click("attn.scores", 8).type("4")
    assert "not right" in page.text("cell")
    assert "right: 0 of 1" in page.text("cell")
    page.click("attn.scaled", 8).type("2.83")
    assert "right from your own numbers before it" in page.text("cell")
    page.click("attn.q", 0).type("1")
    assert "right: 2 of 3" in page.text("cell")
    page.click("attn.z", 0).type("?")
    assert page.cell("attn.z", 0).text == "1.401"


def test_keys_move_between_cells_and_steps(opened: Opened) -> None:
    page = opened(_sample("two_heads")).click("attn.weights", 0)
    active = "return document.activeElement.dataset.at"
    for key, at in (
        ("\ue014", "1"),
        ("\ue015", "4"),
        ("\ue012", "3"),
        ("\ue010", "5"),
        ("\ue011", "3"),
    ):
        page.driver.switch_to.active_element.send_keys(key)
        assert page.run(active) == at
    page.run("document.activeElement.blur()")
    page.driver.find_element("tag name", "body").send_keys("\ue014")
    assert page.text("where").split("/")[0] != "1"
    page.run(
        "document.getElementById('slider').value = 20; document.getElementById('slider').dispatchEvent(new Event('input'))"
    )
    assert page.text("where").startswith("20/")


def test_names_are_shown_as_typed_and_nothing_runs(opened: Opened, tmp_path: Path) -> None:
    path = tmp_path / "hostile.json"
    path.write_text(json.dumps(SPEC), encoding="utf-8")
    page = opened(str(path))
    assert page.driver.title.startswith("</script><img src=x onerror=alert(1)> & ")
    heads = page.run("return [...document.querySelectorAll('#steps th')].map(t => t.textContent)")
    assert {"<b>", "a`|b", "词"} <= set(heads)
    assert page.count("img") == 0


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


@pytest.mark.parametrize("option", [["--grad"], ["--steps", "attn.q"]])
def test_a_page_has_every_step_of_the_forward_pass(option: list[str]) -> None:
    done = cli("export", _sample("tiny"), "--html", *option)
    assert done.returncode == 2
    assert done.stderr.decode().endswith(f"leave out {option[0]}\n")
