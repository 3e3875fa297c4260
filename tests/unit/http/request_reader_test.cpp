#include "http/request_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace takt::http {
namespace {

using Progress = RequestReader::Progress;
using namespace std::string_literals;

// Feeds `bytes` in pieces of `step`, as a connection would; empty when more is needed.
struct Outcome {
  Progress progress = Progress::kNeedMore;
  Request request;
  Rejection rejection;
  RequestFacts facts;
  std::string rest;
};

Outcome read(const std::string& bytes, std::size_t step = std::string::npos, RequestLimits limits = {}) {
  RequestReader reader(limits);
  Outcome outcome;
  std::string buffer;
  for (std::size_t at = 0; at < bytes.size() && outcome.progress == Progress::kNeedMore;
       at += std::min(step, bytes.size() - at)) {
    buffer += bytes.substr(at, step);
    do {
      std::size_t used = 0;
      outcome.progress = reader.feed(buffer, used);
      buffer.erase(0, used);
      outcome.rest = buffer + bytes.substr(std::min(bytes.size(), at + std::min(step, bytes.size() - at)));
    } while (outcome.progress == Progress::kHeadDone);
  }
  outcome.facts = reader.facts();
  if (outcome.progress == Progress::kComplete) outcome.request = reader.take();
  if (outcome.progress == Progress::kRejected) outcome.rejection = reader.rejection();
  return outcome;
}

int status_of(const std::string& bytes, RequestLimits limits = {}) {
  const int at_once = read(bytes, std::string::npos, limits).rejection.status;
  EXPECT_EQ(read(bytes, 1, limits).rejection.status, at_once) << bytes.substr(0, 200);
  return read(bytes, std::string::npos, limits).progress == Progress::kRejected ? at_once : 0;
}

TEST(RequestReader, ReadsARequestInAnyPieces) {
  const std::string bytes =
      "POST /v1/a%20b?x=%31 HTTP/1.1\r\nHost: here\r\nX-Mixed-Case:  two words \r\nContent-Length: 5\r\n\r\nhelloGET";
  for (std::size_t step : {1u, 2u, 3u, 7u, 64u, 1000u}) {
    const Outcome outcome = read(bytes, step);
    ASSERT_EQ(outcome.progress, Progress::kComplete) << step;
    EXPECT_EQ(outcome.request.method, "POST");
    EXPECT_EQ(outcome.request.path, "/v1/a b");
    EXPECT_EQ(outcome.request.query, "x=%31");
    EXPECT_EQ(outcome.request.header("x-mixed-case"), "two words");
    EXPECT_EQ(outcome.request.body, "hello");
    EXPECT_EQ(outcome.rest, "GET");
    EXPECT_TRUE(outcome.facts.keep_alive);
  }
}

TEST(RequestReader, ReadsChunkedBodiesInAnyPiecesAndLeavesTrailersOut) {
  const std::string bytes =
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5;name=value\r\nhello\r\n0006\r\n world\r\n0\r\nAuthorization: late\r\n\r\nrest";
  for (std::size_t step : {1u, 2u, 5u, 1000u}) {
    const Outcome outcome = read(bytes, step);
    ASSERT_EQ(outcome.progress, Progress::kComplete) << step;
    EXPECT_EQ(outcome.request.body, "hello world");
    EXPECT_EQ(outcome.request.header("authorization"), "");
    EXPECT_EQ(outcome.rest, "rest");
  }
}

TEST(RequestReader, ReadsRequestsOneAfterTheOther) {
  RequestReader reader({});
  std::string buffer = "GET /1 HTTP/1.1\r\nHost: h\r\n\r\n\r\n\r\nGET /2 HTTP/1.0\r\n\r\n";
  for (const char* path : {"/1", "/2"}) {
    std::size_t used = 0;
    ASSERT_EQ(reader.feed(buffer, used), Progress::kHeadDone);
    buffer.erase(0, used);
    ASSERT_EQ(reader.feed(buffer, used), Progress::kComplete);
    EXPECT_EQ(reader.take().path, path);
  }
  EXPECT_FALSE(reader.facts().http11);
  EXPECT_FALSE(reader.facts().keep_alive);
}

TEST(RequestReader, KnowsAbsoluteTargetsAndHttp10KeepAlive) {
  const Outcome outcome = read("GET http://a:8080/p?q HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  ASSERT_EQ(outcome.progress, Progress::kComplete);
  EXPECT_EQ(outcome.request.path, "/p");
  EXPECT_EQ(outcome.request.query, "q");
  EXPECT_TRUE(outcome.facts.keep_alive);
}

// Field report F6: caps on header bytes, header count and body bytes.
TEST(RequestReader, RefusesWhatIsOverALimitAndNamesIt) {
  RequestLimits limits;
  limits.head_bytes = 400;
  limits.target_bytes = 50;
  limits.header_count = 4;
  limits.body_bytes = 10;
  const std::string host = "Host: h\r\n";
  EXPECT_EQ(status_of("GET /" + std::string(60, 'a') + " HTTP/1.1\r\n" + host + "\r\n", limits), 414);
  EXPECT_EQ(status_of("GET /" + std::string(4000, 'a'), limits), 414);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\n" + host + "A: " + std::string(400, 'a'), limits), 431);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\n" + host + "A: 1\r\nB: 1\r\nC: 1\r\nD: 1\r\n\r\n", limits), 431);
  EXPECT_EQ(status_of("POST / HTTP/1.1\r\n" + host + "Content-Length: 11\r\n\r\n", limits), 413);
  EXPECT_EQ(status_of("POST / HTTP/1.1\r\n" + host + "Content-Length: 18446744073709551615\r\n\r\n", limits), 413);
  EXPECT_EQ(status_of("POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n9\r\n123456789\r\n2\r\n12\r\n",
                      limits),
            413);
  EXPECT_EQ(status_of("POST / HTTP/1.1\r\n" + host + "Content-Length: 10\r\n\r\n1234567890", limits), 0);
  EXPECT_NE(
      read("POST / HTTP/1.1\r\n" + host + "Content-Length: 11\r\n\r\n", 100, limits).rejection.reason.find("10 bytes"),
      std::string::npos);
}

TEST(RequestReader, BoundsChunkHeadsAndTrailers) {
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(read(head + "5;" + std::string(20'000, 'x'), 1000).rejection.status, 431);
  EXPECT_EQ(read(head + "0\r\nA: " + std::string(20'000, 'x'), 1000).rejection.status, 431);
}

TEST(RequestReader, RefusesBrokenChunks) {
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const char* body : {"x\r\nhello\r\n", "-1\r\nhello\r\n", "fffffffffffffffff\r\n", "5\r\nhelloX\r\n0\r\n\r\n",
                           " 5\r\nhello\r\n", "\r\nhello\r\n", "0x5\r\nhello\r\n"}) {
    const Outcome outcome = read(head + body + "0\r\n\r\n");
    EXPECT_EQ(outcome.progress, Progress::kRejected) << body;
    EXPECT_TRUE(outcome.rejection.status == 400 || outcome.rejection.status == 413) << body;
  }
}

TEST(RequestReader, RefusesWhatTwoParsersCouldReadInTwoWays) {
  const std::string start = "POST / HTTP/1.1\r\nHost: h\r\n";
  EXPECT_EQ(status_of(start + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
  EXPECT_EQ(status_of(start + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n"), 400);
  EXPECT_EQ(status_of(start + "Content-Length: 5\r\nContent-Length: 5\r\n\r\n"), 400);
  EXPECT_EQ(status_of(start + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n"), 400);
  EXPECT_EQ(status_of(start + "Content-Length: 5, 5\r\n\r\n"), 400);
  EXPECT_EQ(status_of(start + "Content-Length: +5\r\n\r\n"), 400);
  EXPECT_EQ(status_of(start + "Content-Length: -5\r\n\r\n"), 400);
  EXPECT_EQ(status_of(start + "Content-Length: 5 5\r\n\r\n"), 400);
  EXPECT_EQ(status_of(start + "Content-Length: 99999999999999999999999\r\n\r\n"), 400);
  EXPECT_EQ(status_of(start + "Content-Length:\r\n\r\n"), 400);
  EXPECT_EQ(status_of(start + "Content-Length : 5\r\n\r\n"), 400);
  EXPECT_EQ(status_of(start + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
  EXPECT_EQ(status_of(start + "Transfer-Encoding: gzip, chunked\r\n\r\n"), 501);
  EXPECT_EQ(status_of(start + "Transfer-Encoding: chunked, identity\r\n\r\n"), 501);
  EXPECT_EQ(status_of(start + "Transfer-Encoding: xchunked\r\n\r\n"), 501);
  EXPECT_EQ(status_of("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
  EXPECT_EQ(status_of(start + "A: folded\r\n line\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\nHost: h\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: h\nA: b\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: h\rA: b\r\n\r\n"), 400);
  EXPECT_EQ(status_of(start + "Host: other\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\n\r\n"), 400);
}

TEST(RequestReader, RefusesGarbageNulBytesAndForeignVersions) {
  EXPECT_EQ(status_of("\x16\x03\x01\x02"s), 400);  // a TLS greeting, told at once
  EXPECT_EQ(status_of("hello world\r\n\r\n"), 400);
  EXPECT_EQ(status_of(std::string(100, 'A')), 400);
  EXPECT_EQ(status_of("GET /a\0b HTTP/1.1\r\nHost: h\r\n\r\n"s), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: h\r\nA: \0\r\n\r\n"s), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: h\r\nA\0: b\r\n\r\n"s), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: h\r\n: b\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: h\r\nno colon\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET /\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTX/1.1\r\nHost: h\r\n\r\n"), 400);
  EXPECT_EQ(status_of("PRI * HTTP/2.0\r\n\r\n"), 505);
  EXPECT_EQ(status_of("GET / HTTP/0.9\r\n\r\n"), 505);
  EXPECT_EQ(status_of("BREW / HTTP/1.1\r\nHost: h\r\n\r\n"), 501);
  EXPECT_EQ(status_of("get / HTTP/1.1\r\nHost: h\r\n\r\n"), 501);
  EXPECT_EQ(status_of("CONNECT a:1 HTTP/1.1\r\nHost: h\r\n\r\n"), 501);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: h\r\nExpect: tea\r\n\r\n"), 417);
}

TEST(RequestReader, RefusesTargetsThatAreNoPath) {
  for (const char* target : {"a", "//\x7f", "/%", "/%0", "/%zz", "/%00", "/%0a", "ftp://h/p", "http:///p", "/a#b"}) {
    EXPECT_EQ(status_of("GET "s + target + " HTTP/1.1\r\nHost: h\r\n\r\n"), 400) << target;
  }
}

}  // namespace
}  // namespace takt::http
