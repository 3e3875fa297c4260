"""Preempted requests whose memory goes to disk and comes back."""
import json

from scrape import scrape
from takt_process import run, wait_until

# Blocks for one long prompt and little more; a fake model is quick, so swap is asked for by name.
SMALL = "fake:length=300,step_ms=3,blocks=40,context=640"
SWAP = ["--swap-bytes", "1048576", "--set", "scheduler.preemption=swap", "--set", "kv.prefix_cache=false"]


def batch_answer(client, prompt):
    return client.completions.create(model="fake", prompt=prompt, max_tokens=200, seed=1, temperature=1, stream=True,
                                     extra_headers={"x-takt-class": "background"})


def text_of(stream):
    return "".join(chunk.choices[0].text for chunk in stream if chunk.choices)


# H1, B10
def test_a_preempted_request_comes_back_from_disk_with_the_same_answer(start, connect, tmp_path):
    server = start("--swap-path", str(tmp_path), *SWAP, model=SMALL)
    client = connect(server)
    assert any("swap arena: " in line for line in server.lines)
    assert list(tmp_path.iterdir()) == [], "the file has no name"
    alone = text_of(batch_answer(client, "a" * 300))
    assert scrape(server).total("takt_swap_bytes_total") == 0
    victim = batch_answer(client, "a" * 300)
    first = next(victim).choices[0].text
    client.completions.create(model="fake", prompt="b" * 400, max_tokens=3)
    assert first + text_of(victim) == alone
    metrics = scrape(server)
    assert metrics.total("takt_preemptions_total", kind="swap") >= 1
    assert metrics.total("takt_swap_bytes_total", direction="out") == metrics.total("takt_swap_bytes_total", direction="in") > 0
    assert metrics.total("takt_swap_failures_total") == 0
    wait_until(lambda: scrape(server).total("takt_swap_used_bytes") == 0, "the arena to be empty")
    assert 0 < metrics.total("takt_swap_arena_bytes") <= 1048576
    told = json.loads(run("explain", "--slowest", "5", "--url", server.url, "--json").stdout)
    swapped = next(r for r in told["requests"] if any(s["state"] == "swapped" for s in r["spans"]))
    assert swapped["seconds_by_state"]["swapped"] > 0
    assert "kept in the swap arena" in run("explain", swapped["id"], "--url", server.url).stdout


def test_two_servers_share_a_directory_and_a_kill_leaves_nothing(start, connect, tmp_path):
    servers = [start("--swap-path", str(tmp_path), *SWAP, model=SMALL) for _ in range(2)]
    for server in servers:
        victim = batch_answer(connect(server), "a" * 300)
        next(victim)
        connect(server).completions.create(model="fake", prompt="b" * 400, max_tokens=3)
        assert len(text_of(victim)) > 0
    servers[0].process.kill()
    servers[0].wait()
    assert list(tmp_path.iterdir()) == []
    again = start("--swap-path", str(tmp_path), *SWAP, model=SMALL)
    assert again.get("/ready")[0] == 200


def test_what_the_arena_cannot_be_is_said_at_the_start(tmp_path):
    for arguments, word in ((["--swap-path", str(tmp_path / "nowhere")], "kv.swap_path"),
                            (["--swap-path", str(tmp_path), "--swap-bytes", str(2**40)], "kv.swap_path"),
                            (["--swap-bytes", str(2**40)], "kv.swap_bytes"),
                            (["--set", "scheduler.preemption=swap"], "kv.swap_path")):
        ended = run("serve", "--port", "0", "--model", SMALL, *arguments)
        assert ended.returncode != 0
        assert word in ended.stderr + ended.stdout, ended.stderr
