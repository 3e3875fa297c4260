"""`takt bench` against imitations of other servers, over plain connections and TLS."""
import json
import subprocess

import pytest
from imitation_server import ImitationServer
from takt_process import run


@pytest.fixture
def imitate():
    servers = []

    def start_imitation(*arguments, **options):
        servers.append(ImitationServer(*arguments, **options))
        return servers[-1]

    yield start_imitation
    for one in servers:
        one.close()


def bench(url, *arguments):
    return run("bench", url, "--quiet", "--json", "-", "--rate", "100", "--requests", "12", "--warm-up", "0", "--prompt", "uniform:20-60",
               "--output", "uniform:3-9", "--timeout", "20", *arguments)


@pytest.mark.parametrize("style", ["llama.cpp", "vllm"])
@pytest.mark.parametrize("form", [{}, {"line_end": "\r\n", "comments": True}], ids=["plain", "crlf-comments"])
def test_streams_as_others_write_them_are_counted_exactly(imitate, style, form):
    result = bench(imitate(style, **form).url)
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    everything = report["verdict"]["all"]
    assert everything["offered"] == 12 and everything["failures"] == {}
    assert everything["ttft_seconds"]["samples"] == 12 and everything["itl_seconds"]["samples"] > 0
    # Usage comes in a chunk of its own behind the last token, and rules what was counted.
    assert everything["answers_with_counts"] == everything["prompts_of_asked_length"] == everything["outputs_of_asked_length"] == 12
    assert {fact["value"] for fact in report["server"] if fact["name"] == "longest request"} == {"4096 tokens"}


@pytest.mark.parametrize("style", ["llama.cpp", "vllm"])
def test_an_error_object_in_a_stream_is_a_failure_of_its_kind(imitate, style):
    report = json.loads(bench(imitate(style, error_after=2).url).stdout)
    assert report["verdict"]["all"]["failures"] == {"error_event": 12}
    assert report["verdict"]["all"]["attainment"] == 0


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    """(certificate, key) for 127.0.0.1 and for another host, each signed by itself."""
    folder = tmp_path_factory.mktemp("tls")

    def make(name, subject):
        made = (folder / f"{name}.pem", folder / f"{name}.key")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", f"/CN={name}",
                        "-addext", f"subjectAltName={subject}", "-out", made[0], "-keyout", made[1]], check=True, capture_output=True)
        return tuple(map(str, made))

    return {"here": make("here", "IP:127.0.0.1"), "elsewhere": make("elsewhere", "DNS:elsewhere.example")}


def test_https_is_measured_where_the_certificate_is_trusted(imitate, certificates):
    server = imitate("vllm", tls=certificates["here"])
    for trust in (("--ca-file", certificates["here"][0]), ("--insecure",)):
        result = bench(server.url, *trust)
        assert result.returncode == 0, result.stderr
        everything = json.loads(result.stdout)["verdict"]["all"]
        assert everything["offered"] == 12 and everything["failures"] == {} and everything["outputs_of_asked_length"] == 12


def test_https_without_trust_or_of_another_host_is_not_measured(imitate, certificates):
    for certificate, trusted in (("here", ()), ("here", ("--ca-file", certificates["elsewhere"][0])),
                                 ("elsewhere", ("--ca-file", certificates["elsewhere"][0]))):
        refused = bench(imitate("vllm", tls=certificates[certificate]).url, *trusted)
        assert refused.returncode == 4 and "tls" in refused.stderr and "certificate" in refused.stderr, refused.stderr


def test_a_file_of_trusted_certificates_that_is_none_is_named(tmp_path):
    (tmp_path / "none.pem").write_text("no certificate")
    refused = run("bench", "https://127.0.0.1:9", "--ca-file", str(tmp_path / "none.pem"))
    assert refused.returncode == 2 and "certificates" in refused.stderr


def test_plain_http_on_a_port_of_tls_is_one_clear_line(imitate, certificates):
    server = imitate("vllm", tls=certificates["here"])
    plain = bench(server.url.replace("https", "http"))
    assert plain.returncode == 4 and plain.stderr.count("\n") == 1, plain.stderr
