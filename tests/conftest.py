import gc
import os
import tracemalloc
from collections.abc import Callable, Iterator

import pytest
from hypothesis import HealthCheck, settings

from blockcalc.messages import en, set_language

settings.register_profile(
    "steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")

# workers of pytest-xdist set the width of their terminal, which is the width of what is printed
os.environ.pop("COLUMNS", None)
# texts are in English, whatever the locale; a test that wants others says so
os.environ["BLOCKCALC_LANG"] = "en"


def pytest_collection_finish() -> None:
    """Leave the tests themselves out of every later garbage collection."""
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write-goldens", action="store_true", help="write the golden files anew")


@pytest.fixture
def write_goldens(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--write-goldens"))


@pytest.fixture
def more_texts(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[dict[str, str]], None]]:
    """Give a function that adds English texts, or replaces some, for one test."""

    def add(texts: dict[str, str]) -> None:
        monkeypatch.setattr(en, "TEXTS", en.TEXTS | texts)
        set_language("en")  # reads the table again

    yield add
    monkeypatch.undo()
    set_language("en")


@pytest.fixture
def little_memory() -> Iterator[None]:
    """Hold every test to a few MiB: nothing is allocated because a header says so."""
    tracemalloc.start()
    yield
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 40 * 2**20
