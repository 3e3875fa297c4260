"""Reads /metrics strictly and checks what must hold at every scrape."""
import math

from prometheus_client.parser import text_string_to_metric_families


def scrape(server):
    status, text = server.get("/metrics")
    assert status == 200, text
    return Metrics(text)


class Metrics:
    def __init__(self, text):
        assert text.endswith("\n")
        self.samples = {}
        names = set()
        for family in text_string_to_metric_families(text):
            assert family.name not in names, f"{family.name} appears twice"
            names.add(family.name)
            assert family.documentation, f"{family.name} has no help"
            assert family.type in ("counter", "gauge", "histogram"), f"{family.name} is {family.type}"
            assert family.name.startswith("takt_")
            for sample in family.samples:
                key = (sample.name, tuple(sorted(sample.labels.items())))
                assert key not in self.samples, f"{key} appears twice"
                assert not math.isnan(sample.value)
                assert family.type != "counter" or sample.value >= 0
                self.samples[key] = sample.value

    def total(self, name, **labels):
        """Sum over all samples of this name that have these labels."""
        wanted = set(labels.items())
        return sum(value for (sample, pairs), value in self.samples.items() if sample == name and wanted <= set(pairs))

    def has(self, name):
        return any(sample == name for sample, _ in self.samples)

    def check_identities(self):
        started = self.total("takt_requests_started_total")
        ended = {outcome: self.total("takt_requests_ended_total", outcome=outcome)
                 for outcome in ("finished", "failed", "cancelled", "refused")}
        alive = self.total("takt_requests_running") + self.total("takt_requests_waiting")
        assert started == sum(ended.values()) + alive, (started, ended, alive)
        assert self.total("takt_time_to_first_token_seconds_count") == self.total("takt_requests_first_token_total")
        assert self.total("takt_requests_cancelled_total") == ended["cancelled"]
        assert self.total("takt_requests_refused_total") == ended["refused"]
        blocks = sum(self.total("takt_kv_blocks", state=state) for state in ("owned", "cached", "free"))
        assert blocks == self.total("takt_kv_blocks_capacity")
        assert self.total("takt_kv_owner_blocks") == self.total("takt_kv_blocks_capacity")
        in_use = sum(self.total("takt_kv_owner_blocks", owner=owner) for owner in ("running", "reserve"))
        assert in_use == self.total("takt_kv_blocks", state="owned")
