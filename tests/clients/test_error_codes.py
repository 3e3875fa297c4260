"""Every error code that the sources can send stands in the table of docs/api.md, and nothing else does."""
import re

from takt_process import ROOT

TYPES = "invalid_request_error|authentication_error|permission_error|rate_limit_error|overloaded_error|server_error"


def sources(*folders):
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.cpp")):
            yield path.name, path.read_text()


def codes_sent():
    """Codes of API errors as they are made, and of the engine's and quotas' errors whose field is the code."""
    codes = set()
    for _, text in sources("src/api", "src/serve", "apps/takt"):
        codes |= set(re.findall(rf'"(?:{TYPES})",\s*(?:[^;{{}}"]*\?\s*)?"([a-z_]+)"', text))
        codes |= set(re.findall(rf'"(?:{TYPES})",\s*[^;{{}}"]*\? "[a-z_]+" : "([a-z_]+)"', text))
        codes |= set(re.findall(r'(?:\.code = |bad_request\(error, |code_of\(error, )(?:[^;"]*\? )?"([a-z_]+)"', text))
        codes |= set(re.findall(r'\.code = [^;"]*\? "[a-z_]+" : "([a-z_]+)"', text))
    for _, text in sources("src/engine", "src/route", "src/serve"):
        codes |= set(re.findall(r'ErrorCode::k(?:Unavailable|ResourceExhausted),[^;]*?"([a-z_]+)"\s*\}', text))
        codes |= set(re.findall(r'\brefusal\("([a-z_]+)"', text))
    for pair in re.findall(r'\? "([a-z_]+)" : "([a-z_]+)"', (ROOT / "src/api/api_error.cpp").read_text()):
        codes |= set(pair)
    codes |= set(re.findall(r'kSuperseded = "([a-z_]+)"', (ROOT / "src/api/api_error.h").read_text()))
    return codes


def codes_in_the_table():
    section = (ROOT / "docs/api.md").read_text().split("\n## Errors\n")[1].split("\n`Retry-After` of")[0]
    rows = [line.split("|") for line in section.splitlines() if re.match(r"\| \d", line)]
    return {code for row in rows for code in re.findall(r"`([a-z_]+)`", row[2])}


def test_the_table_of_error_codes_is_whole():
    sent, told = codes_sent(), codes_in_the_table()
    assert len(sent) > 25
    assert sent - told == set(), "sent, and not in docs/api.md"
    assert told - sent == set(), "in docs/api.md, and never sent"


# The words of takt_requests_refused_total{reason}.
def test_the_reasons_of_refusals_are_those_of_the_docs():
    words = set(re.findall(r'return "([a-z_]+)";', (ROOT / "src/base/result.cpp").read_text()))
    row = next(line for line in (ROOT / "docs/metrics.md").read_text().splitlines() if "`takt_requests_refused_total`" in line)
    assert words == set(re.findall(r"`([a-z_]+)`", row.split("|")[3]))
