"""/metrics by the official parser (F15) and its identities (F16)."""
import threading

import openai
from prometheus_client.openmetrics import parser as openmetrics
from scrape import scrape
from takt_process import wait_until

NAMES = """
takt_build_info takt_requests_started_total takt_requests_ended_total takt_requests_running takt_requests_waiting
takt_requests_cancelled_total takt_queue_requests takt_queue_tokens takt_time_to_first_token_seconds_bucket
takt_inter_token_latency_seconds_bucket takt_time_per_output_token_seconds_bucket takt_request_duration_seconds_bucket
takt_queue_wait_seconds_bucket takt_worst_token_gap_seconds takt_prompt_tokens_total takt_cached_prompt_tokens_total
takt_generated_tokens_total takt_steps_total takt_step_tokens_total takt_step_duration_seconds_bucket takt_step_time_ratio_bucket
takt_beat_overruns_total takt_busy_seconds_total takt_busy_ratio takt_idle_while_work_waits_seconds_total takt_kv_blocks
takt_kv_blocks_capacity takt_preemptions_total
""".split()


def test_a_busy_server_is_read_by_a_strict_parser(start, connect):
    server = start()
    client = connect(server)
    for seed in range(3):
        client.chat.completions.create(model="fake", messages=[{"role": "user", "content": "Say hello."}], seed=seed)
    metrics = wait_until(lambda: found if (found := scrape(server)).total("takt_requests_ended_total") == 3 else None, "three to end")
    missing = [name for name in NAMES if not metrics.has(name)]
    assert not missing
    assert metrics.total("takt_requests_ended_total", outcome="finished") == 3
    assert metrics.total("takt_cached_prompt_tokens_total") > 0


def test_openmetrics_names_a_request_that_can_be_looked_up(start, connect):
    server = start("--metrics-compat", "vllm")
    answer = connect(server).chat.completions.with_raw_response.create(model="fake", messages=[{"role": "user", "content": "Say hello."}])
    request = answer.headers["x-request-id"]

    def ended():
        status, text = server.get("/metrics", {"Accept": "application/openmetrics-text; version=1.0.0, text/plain; q=0.5"})
        assert status == 200
        families = {family.name: family for family in openmetrics.text_string_to_metric_families(text)}  # strict: raises
        return families if any(sample.value for sample in families["takt_request_duration_seconds"].samples) else None

    families = wait_until(ended, "the request to be over")
    for name in ("takt_time_to_first_token_seconds", "takt_request_duration_seconds"):
        exemplars = [sample.exemplar for sample in families[name].samples if sample.exemplar]
        assert [exemplar.labels for exemplar in exemplars] == [{"request_id": request}]
    assert server.get(f"/admin/requests/{request}")[0] == 200
    assert "openmetrics" not in server.get("/metrics")[1] and " # {" not in server.get("/metrics")[1]


def test_a_batch_windows_cost_and_gain_are_counted(start, connect):
    server = start("--set", "scheduler.window_max_wait_ms=5000", "--set", "scheduler.window_min_batch=4",
                   "--set", "scheduler.window_adaptive=false", model="fake:length=8,step_ms=1")
    client = connect(server)
    threads = [threading.Thread(target=client.completions.create, kwargs=dict(model="fake", prompt=f"n {i}", seed=i)) for i in range(4)]
    for thread in threads[:3]:
        thread.start()
    wait_until(lambda: scrape(server).total("takt_requests_waiting") == 3, "three to be held")
    threads[3].start()  # opens the window
    for thread in threads:
        thread.join()

    def ended():
        metrics = scrape(server)
        return metrics if metrics.total("takt_requests_ended_total") == 4 else None

    metrics = wait_until(ended, "all of them to end")
    held = metrics.total("takt_window_held_sequences_total")
    assert held in (3, 4)
    assert metrics.total("takt_window_added_rows_total") == held - 1
    assert 0 < metrics.total("takt_window_held_seconds_total") <= 4 * 5


def test_an_idle_server_is_read_by_a_strict_parser(start):
    server = start()
    scrape(server).check_identities()


def test_identities_hold_while_requests_come_and_go(start, connect):
    # Whom the test leaves has no end of its own, however long the scrapes take.
    server = start(model="fake:length=150000,step_ms=5,context=200000,blocks=65536")
    client = connect(server)
    streams = [client.completions.create(model="fake", prompt=f"Number {i} " * 10, stream=True, max_tokens=300 if i % 3 else None)
               for i in range(12)]
    for stream in streams:
        scrape(server).check_identities()
        next(stream)
    for stream in streams[::3]:
        stream.close()
        scrape(server).check_identities()
    for i, stream in enumerate(streams):
        if i % 3:
            list(stream)
            scrape(server).check_identities()
    for bad in (dict(prompt="x" * 200_000), dict(prompt="x", temperature=-1)):
        try:
            client.completions.create(model="fake", **bad)
        except openai.BadRequestError:
            pass
        scrape(server).check_identities()

    def settled():
        # A page's requests and its memory are two looks, one shortly after the other.
        metrics = scrape(server)
        alive = metrics.total("takt_requests_running") + metrics.total("takt_requests_waiting")
        return metrics if alive == 0 and metrics.total("takt_kv_blocks", state="owned") == 0 else None

    metrics = wait_until(settled, "all requests to end")
    metrics.check_identities()
    assert metrics.total("takt_requests_ended_total", outcome="finished") == 8
    assert metrics.total("takt_requests_ended_total", outcome="cancelled") == 4


# F18: neither prompts nor answers are in metrics, nor (F19) in logs at the most talkative level.
def test_prompts_are_neither_in_metrics_nor_in_logs(start, connect):
    server = start("--log-level", "trace", model="fake:text=canary-of-answers")
    answer = connect(server).chat.completions.create(model="fake", messages=[{"role": "user", "content": "canary-of-prompts"}],
                                                     user="canary-of-users")
    assert answer.choices[0].message.content == "canary-of-answers"
    assert "canary" not in server.get("/metrics")[1]
    server.signal()
    server.wait()
    assert not [line for line in server.lines if "canary-of-prompts" in line or "canary-of-users" in line]
