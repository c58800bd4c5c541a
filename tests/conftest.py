import gc
import os
import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")

# workers of pytest-xdist set the width of their terminal, which is the width of what is printed
os.environ.pop("COLUMNS", None)


def pytest_collection_finish() -> None:
    """Leave the tests themselves out of every later garbage collection."""
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write-goldens", action="store_true", help="write the golden files anew")


@pytest.fixture
def write_goldens(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--write-goldens"))


@pytest.fixture
def little_memory() -> Iterator[None]:
    """Hold every test to a few MiB: nothing is allocated because a header says so."""
    tracemalloc.start()
    yield
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 40 * 2**20
