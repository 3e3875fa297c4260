"""deploy/prometheus by Prometheus' own tools, and scraped by a real Prometheus."""
import json
import pathlib
import shutil
import socket
import subprocess
import urllib.parse
import urllib.request

import pytest
from takt_process import wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy" / "prometheus"


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """prometheus and promtool: the machine's own, or unpacked from Debian's package without installing (and starting) it."""
    if shutil.which("prometheus") and shutil.which("promtool"):
        return {"prometheus": "prometheus", "promtool": "promtool"}
    folder = tmp_path_factory.mktemp("prometheus")
    subprocess.run(["apt-get", "download", "-qq", "prometheus"], cwd=folder, check=True, capture_output=True)
    subprocess.run(["dpkg-deb", "-x", next(folder.glob("prometheus_*.deb")), folder], check=True)
    return {name: str(folder / "usr/bin" / name) for name in ("prometheus", "promtool")}


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def promtool(programs, *arguments):
    done = subprocess.run([programs["promtool"], *arguments], cwd=DEPLOY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_configuration_and_rules_are_valid(programs):
    promtool(programs, "check", "config", "prometheus.yml")


def test_alerts_fire_when_they_should_and_only_then(programs):
    promtool(programs, "test", "rules", "takt.tests.yml")


def test_metrics_pass_promtools_lint(programs, start, connect):
    server = start("--metrics-compat", "vllm")
    connect(server).chat.completions.create(model="fake", messages=[{"role": "user", "content": "Say hello."}])
    status, text = server.get("/metrics")
    assert status == 200
    done = subprocess.run([programs["promtool"], "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    # The lint dislikes the names that another server chose.
    complaints = [line for line in (done.stdout + done.stderr).splitlines() if line.strip() and not line.startswith("vllm:")]
    assert not complaints


@pytest.fixture
def prometheus(programs, start, tmp_path):
    """A server and the address of a Prometheus that scrapes it every second by our configuration."""
    server = start()
    config = (DEPLOY / "prometheus.yml").read_text()
    for old, new in (("127.0.0.1:8080", f"127.0.0.1:{server.port}"), ("scrape_interval: 5s", "scrape_interval: 1s"),
                     ("evaluation_interval: 15s", "evaluation_interval: 1s")):
        assert old in config
        config = config.replace(old, new)
    for name in ("takt.rules.yml", "takt.alerts.yml"):
        shutil.copy(DEPLOY / name, tmp_path / name)
    (tmp_path / "prometheus.yml").write_text(config)
    address = f"127.0.0.1:{free_port()}"
    process = subprocess.Popen([programs["prometheus"], f"--config.file={tmp_path}/prometheus.yml", f"--storage.tsdb.path={tmp_path}/data",
                                f"--web.listen-address={address}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    yield server, address
    process.terminate()
    process.wait()


def ask(address, path, **query):
    try:
        with urllib.request.urlopen(f"http://{address}/api/v1/{path}?{urllib.parse.urlencode(query)}", timeout=10) as reply:
            return json.load(reply)["data"]
    except OSError:
        return None


def test_a_real_prometheus_scrapes_the_server_and_evaluates_the_rules(prometheus, connect):
    server, address = prometheus
    connect(server).chat.completions.create(model="fake", messages=[{"role": "user", "content": "Say hello."}])

    def value(expression):
        data = ask(address, "query", query=expression)
        return float(data["result"][0]["value"][1]) if data and data["result"] else None

    wait_until(lambda: value('up{job="takt"}') == 1, "the target to be up", 60)
    wait_until(lambda: value("sum(takt_requests_ended_total)") == 1, "the request to be scraped", 60)

    def evaluated():
        data = ask(address, "rules")
        rules = [rule for group in data["groups"] for rule in group["rules"]] if data else []
        return rules if rules and all(rule["health"] == "ok" for rule in rules) else None

    rules = wait_until(evaluated, "every rule to be evaluated without an error", 60)
    assert not [rule["name"] for rule in rules if rule.get("state") == "firing"]
