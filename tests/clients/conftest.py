import pathlib
import sys

import openai
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from hostile_server import HostileServer  # noqa: E402
from pseudo_terminal import Terminal  # noqa: E402
from takt_process import ROOT, TaktServer  # noqa: E402


@pytest.fixture
def start():
    """Starts servers that are gone after the test."""
    servers = []

    def start_server(*arguments, **options):
        servers.append(TaktServer(*arguments, **options))
        return servers[-1]

    yield start_server
    for server in servers:
        server.close()


@pytest.fixture
def terminal():
    """Opens programs in terminals, which are gone after the test."""
    terminals = []

    def open_terminal(*arguments):
        terminals.append(Terminal(*arguments))
        return terminals[-1]

    yield open_terminal
    for one in terminals:
        one.close()


@pytest.fixture(scope="module")
def server():
    """One server for the tests of a file that do not mind each other."""
    with TaktServer() as shared:
        yield shared


@pytest.fixture(scope="module")
def client(server):
    with openai.OpenAI(base_url=server.url + "/v1", api_key="unused", max_retries=0) as shared:
        yield shared


@pytest.fixture
def connect():
    """An SDK client for a server."""
    clients = []

    def connect_to(server, **options):
        options = {"api_key": "unused", "max_retries": 0, **options}
        clients.append(openai.OpenAI(base_url=server.url + "/v1", **options))
        return clients[-1]

    yield connect_to
    for one in clients:
        one.close()


@pytest.fixture(scope="session")
def tiny_model():
    path = ROOT / "tests" / "data" / "tiny.gguf"
    if not path.exists():
        pytest.skip("missing: tests/data/tiny.gguf")
    return str(path)


@pytest.fixture
def hostile():
    """Starts servers that answer any bytes."""
    servers = []

    def start_hostile(*arguments, **options):
        servers.append(HostileServer(*arguments, **options))
        return servers[-1]

    yield start_hostile
    for one in servers:
        one.close()
