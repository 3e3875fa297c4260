"""Realtime requests never wait for batch work to end; batch work goes on with what they leave."""
import pytest

from scrape import scrape
from takt_process import wait_until

HELLO = [{"role": "user", "content": "Hello"}]
BATCH = {"x-takt-class": "background"}


def stream(client, headers=None, **options):
    return client.chat.completions.create(model="fake", messages=HELLO, stream=True, extra_headers=headers or {}, **options)


def test_a_chat_takes_the_seat_of_running_batch_work_and_gives_it_back(start, connect):
    server = start("--max-sequences", "2", model="fake:length=400,step_ms=5")
    client = connect(server)
    night = [stream(client, BATCH), stream(client, service_tier="flex")]
    for job in night:
        next(job)
    # The batch streams go on for two seconds; a chat of a few tokens ends long before.
    answer = client.chat.completions.create(model="fake", messages=HELLO, max_tokens=3)
    assert answer.usage.completion_tokens == 3
    metrics = scrape(server)
    assert metrics.total("takt_requests_running", tier="batch") + metrics.total("takt_requests_waiting", tier="batch") == 2
    assert metrics.total("takt_preemptions_total") == 1
    texts = ["".join(chunk.choices[0].delta.content or "" for chunk in job if chunk.choices) for job in night]
    alone = "".join(chunk.choices[0].delta.content or "" for chunk in stream(client) if chunk.choices)
    assert len(texts[0]) == len(alone) - 1 and len(texts[1]) == len(alone) - 1, "the first token of each was read before"


def test_classes_are_labels_of_the_metrics(start, connect):
    server = start()
    client = connect(server)
    list(stream(client, {"x-takt-class": "voice"}))
    list(stream(client, {"x-takt-tier": "batch"}))
    wait_until(lambda: scrape(server).total("takt_requests_ended_total", service_class="voice", tier="realtime", outcome="finished") == 1, "voice")
    wait_until(lambda: scrape(server).total("takt_requests_ended_total", service_class="background", tier="batch", outcome="finished") == 1, "batch")
    scrape(server).check_identities()


@pytest.mark.parametrize("headers,param", [({"x-takt-class": "chatt"}, "x-takt-class"), ({"x-takt-tier": "gold"}, "x-takt-tier"),
                                           ({"x-takt-class": "chat", "x-takt-tier": "batch"}, "x-takt-tier")])
def test_a_wrong_class_is_a_400_that_names_the_header(server, headers, param):
    status, answer = server.post("/v1/chat/completions", {"messages": HELLO}, headers)
    assert status == 400 and answer["error"]["param"] == param, answer


def test_a_key_of_the_batch_tier_stays_there(start, tmp_path):
    keys = tmp_path / "keys.txt"
    keys.write_text("sk-night-12 tier=batch\n")
    server = start("--api-key-file", str(keys))
    key = {"Authorization": "Bearer sk-night-12"}
    assert server.post("/v1/chat/completions", {"messages": HELLO}, key)[0] == 200
    status, answer = server.post("/v1/chat/completions", {"messages": HELLO}, {**key, "x-takt-class": "chat"})
    assert status == 400 and answer["error"]["param"] == "x-takt-class"
