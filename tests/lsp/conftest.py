import pathlib

import pytest


def pytest_addoption(parser):
    parser.addoption("--opwright", required=True, help="the program under test")
    parser.addoption("--rounds", type=int, default=60, help="how many random edits")


@pytest.fixture
def opwright(request):
    return str(pathlib.Path(request.config.getoption("--opwright")).resolve())


@pytest.fixture(autouse=True)
def rounds(request):
    import test_session

    test_session.ROUNDS = request.config.getoption("--rounds")
