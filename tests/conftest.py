import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write-goldens", action="store_true", help="write the golden files anew")


@pytest.fixture
def write_goldens(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--write-goldens"))
