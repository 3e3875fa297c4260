// Bytes of a connection -> requests, within limits. Knows no socket: the session, its tests and the fuzzer feed it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "http/handler.h"
#include "http/options.h"

namespace takt::http {

// How a request that was read is to be answered.
struct RequestFacts {
  bool http11 = true;
  bool keep_alive = false;
  bool expects_continue = false;
  bool has_body = false;       // one of at least a byte, or of chunks, is announced
  bool body_too_long = false;  // it will be rejected, whatever comes of it
};

struct Rejection {
  int status = 400;
  std::string reason;  // one sentence that names the limit
};

// Refuses what two parsers could read in two ways (RFC 9112, section 11.2): two framing headers, repeated ones, folded
// lines, bare line feeds, transfer codings other than a single `chunked`, HTTP/1.1 without exactly one Host. Compressed
// bodies are refused too: a limit on what comes in would not be one on what it becomes.
class RequestReader {
 public:
  enum class Progress {
    kNeedMore,  // feed again with the bytes left over and more
    kHeadDone,  // head accepted; facts() are known; feed on
    kComplete,  // take() the request
    kRejected,  // rejection() says why; this connection cannot be read any further
  };

  // peer: the address that its requests come from.
  explicit RequestReader(const RequestLimits& limits, std::string peer = {});
  ~RequestReader();
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  // Reads from the front of `bytes`; `used` says how many are done with. The rest must come again at the front of the
  // next call.
  Progress feed(std::string_view bytes, std::size_t& used);

  const RequestFacts& facts() const { return facts_; }
  const Rejection& rejection() const { return rejection_; }
  // What is known of the request so far: nothing before kHeadDone, without a body before kComplete.
  const Request& request() const { return request_; }
  Request& request() { return request_; }
  // Only after kComplete. The reader is ready for the next request.
  Request take();

 private:
  struct Parser;
  enum class Stage { kHead, kBody, kComplete, kRejected };

  Progress read_head(std::string_view bytes, std::size_t& used);
  Progress read_body(std::string_view bytes, std::size_t& used);
  bool check_start(std::string_view bytes);
  bool accept_head(std::string_view block);
  bool check_framing();
  bool check_content_coding();
  bool check_fields();
  Progress reject(int status, std::string reason);
  bool fail(int status, std::string reason);

  const RequestLimits limits_;
  const std::string peer_;
  std::unique_ptr<Parser> parser_;
  Stage stage_ = Stage::kHead;
  std::size_t scanned_ = 0;  // bytes of an unfinished head that hold no end of head
  RequestFacts facts_;
  Request request_;
  Rejection rejection_;
};

}  // namespace takt::http
