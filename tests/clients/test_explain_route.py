"""`takt explain --route`: where a request would go, and why, without a server."""
import pytest
from takt_process import run

CONFIG = """
[class.night]
tier = "batch"
[[class.chat.hours]]
from = "22:00"
to = "06:00"
days = ["fri"]
max_queue_wait_ms = 90000
[[route]]
class = "night"
application = "tickets*"
overrides_request = true
[[route]]
class = "voice"
header = "x-takt-task=speak*"
[[route]]
class = "index"
model = "tiny"
min_prompt_tokens = 5000
"""
KEYS = "sk-front-12 name=front tenant=office delegate\nsk-night-12 name=nightly tier=batch class=index\n"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "takt.toml").write_text(CONFIG)
    (tmp_path / "keys").write_text(KEYS)
    return ["--config", str(tmp_path / "takt.toml"), "--api-key-file", str(tmp_path / "keys")]


def explain(*arguments):
    ended = run("explain", "--route", *arguments)
    assert ended.returncode == 0, ended.stderr
    return dict(line.split(maxsplit=1) if line.split()[0] in ("class", "tier", "tenant", "application", "user", "seats") else
                (line[:16].strip(), line[16:].strip()) for line in ended.stdout.splitlines())


def test_the_way_of_a_request_is_told_with_its_reason(files):
    front = [*files, "--key", "front"]
    plain = explain(*front)
    assert plain["class"] == "chat" and plain["because of"] == "default" and plain["tenant"] == "office"
    assert explain(*front, "--header", "x-takt-task: speak up")["because of"] == "rule 2"
    assert explain(*front, "--header", "X-Takt-Class: voice", "--header", "x-takt-app: tickets-3")["class"] == "night"
    assert explain(*front, "--model", "tiny", "--prompt-tokens", "5000")["class"] == "index"
    assert explain(*front, "--model", "tiny", "--prompt-tokens", "4999")["class"] == "chat"
    assert explain(*front, "--service-tier", "flex")["because of"] == "service_tier"
    assert explain(*front, "--header", "x-takt-tenant: family")["tenant"] == "family"
    assert explain(*files, "--key", "nightly", "--header", "x-takt-task: speak")["because of"] == "the key's class"


def test_the_hours_of_a_class_count(files):
    front = [*files, "--key", "front"]
    assert explain(*front, "--at", "fri 21:59")["longest wait"] == "30000 ms"
    assert explain(*front, "--at", "sat 05:59")["longest wait"] == "90000 ms"


@pytest.mark.parametrize("arguments, said", [
    (["--header", "x-takt-class: chatt"], "there are voice"),
    (["--header", "x-takt-deadline-ms: -3"], "x-takt-deadline-ms"),
    (["--at", "someday"], "--at"),
    (["--header", "nonsense"], "--header"),
    (["--key", "nobody"], "nobody"),
])
def test_what_the_server_would_refuse_is_refused_with_the_same_words(files, arguments, said):
    key = [] if "--key" in arguments else ["--key", "front"]
    ended = run("explain", "--route", *files, *key, *arguments)
    assert ended.returncode == 2 and said in ended.stderr, ended


def test_without_a_configuration_everybody_is_a_chat():
    assert explain()["class"] == "chat"
