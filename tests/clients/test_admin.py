"""Who may use /admin/*, and what it shows."""
import json

KEYS = "sk-plain-12\nsk-admin-12 admin\n"


def test_admin_paths_need_an_admin_key_where_there_are_keys(start, tmp_path):
    keys = tmp_path / "keys.txt"
    keys.write_text(KEYS)
    server = start("--api-key-file", str(keys), "--admin-key", "sk-flag-admin")
    for headers, status in [({}, 401), ({"x-api-key": "sk-wrong-12"}, 401), ({"x-api-key": "sk-plain-12"}, 403),
                            ({"x-api-key": "sk-admin-12"}, 200), ({"authorization": "Bearer sk-flag-admin"}, 200)]:
        assert server.get("/admin/config", headers)[0] == status, headers


def test_the_effective_configuration_shows_values_and_origins_and_no_secret(start):
    server = start("--api-key", "sk-secret-77", "--admin-key", "sk-admin-77", "--max-sequences", "7")
    status, body = server.get("/admin/config", {"x-api-key": "sk-admin-77"})
    options = json.loads(body)["options"]
    assert status == 200 and options["scheduler.max_sequences"]["value"] == 7
    assert options["auth.api_keys"]["count"] == 1 and "sk-" not in body


def test_a_server_without_keys_on_loopback_lets_its_own_machine_administer(start):
    server = start()
    assert server.get("/admin/config")[0] == 200
    for headers in ({"X-Forwarded-For": "10.1.1.1"}, {"Host": "evil.example"}, {"Origin": "http://evil.example"}):
        status, body = server.get("/admin/config", headers)
        assert status == 403, headers


def test_a_server_that_others_can_reach_lets_nobody_administer_without_a_key(start):
    server = start("--host", "0.0.0.0", "--no-auth", wait=False)
    server.wait_until_ready()
    server.url = f"http://127.0.0.1:{server.port}"
    status, body = server.get("/admin/config")
    assert status == 403 and json.loads(body)["error"]["code"] == "admin_key_needed"
