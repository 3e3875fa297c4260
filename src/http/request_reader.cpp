#include "http/request_reader.h"

#include <algorithm>
#include <array>
#include <boost/algorithm/string/predicate.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/parser.hpp>
#include <cctype>
#include <exception>
#include <utility>

#include "http/request_target.h"

namespace takt::http {
namespace {

namespace beast_http = boost::beast::http;
using boost::system::error_code;

constexpr std::size_t kMethodBytes = 32;
constexpr std::size_t kEchoedBytes = 64;  // of a header's value, in a message
constexpr std::array<std::string_view, 7> kMethods = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};

// Grows with what has really come: a Content-Length alone makes no memory be set aside.
struct GrowingBody {
  using value_type = std::string;

  class reader {
   public:
    template <bool isRequest, class Fields>
    reader(beast_http::header<isRequest, Fields>&, value_type& body) : body_(body) {}

    void init(const boost::optional<std::uint64_t>&, error_code& ec) { ec = {}; }
    template <class Buffers>
    std::size_t put(const Buffers& buffers, error_code& ec) {
      std::size_t bytes = 0;
      for (boost::asio::const_buffer part : boost::beast::buffers_range_ref(buffers)) {
        body_.append(static_cast<const char*>(part.data()), part.size());
        bytes += part.size();
      }
      ec = {};
      return bytes;
    }
    void finish(error_code& ec) { ec = {}; }

   private:
    value_type& body_;
  };
};

bool is_token_char(unsigned char c) {
  if (std::isalnum(c) != 0) return true;
  return std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(c)) != std::string_view::npos;
}

std::string to_lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

// A line that goes on in the next one, or a line feed without a carriage return.
bool has_ambiguous_line_end(std::string_view block) {
  for (std::size_t at = block.find('\n'); at != std::string_view::npos; at = block.find('\n', at + 1)) {
    if (at == 0 || block[at - 1] != '\r') return true;
    if (at + 1 < block.size() && (block[at + 1] == ' ' || block[at + 1] == '\t')) return true;
  }
  return false;
}

// "HTTP/d.d" at the end of the request line, but not a version spoken here.
bool has_foreign_version(std::string_view block) {
  const std::string_view line = block.substr(0, block.find("\r\n"));
  const std::string_view version = line.substr(line.size() - std::min<std::size_t>(line.size(), 9));
  const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  if (version.size() != 9 || !version.starts_with(" HTTP/") || version[7] != '.') return false;
  return is_digit(version[6]) && is_digit(version[8]) && version != " HTTP/1.0" && version != " HTTP/1.1";
}

}  // namespace

struct RequestReader::Parser {
  explicit Parser(const RequestLimits& limits) {
    parser.header_limit(static_cast<std::uint32_t>(limits.head_bytes));
    // Checked once the head is judged: who may not call at all hears that, and not how long bodies may be.
    parser.body_limit(boost::none);
  }
  auto& message() { return parser.get(); }

  beast_http::request_parser<GrowingBody> parser;
};

RequestReader::RequestReader(const RequestLimits& limits, std::string peer) : limits_(limits), peer_(std::move(peer)) {}
RequestReader::~RequestReader() = default;

RequestReader::Progress RequestReader::feed(std::string_view bytes, std::size_t& used) {
  used = 0;
  try {
    switch (stage_) {
      case Stage::kHead:
        return read_head(bytes, used);
      case Stage::kBody:
        return read_body(bytes, used);
      case Stage::kComplete:
        return Progress::kComplete;
      case Stage::kRejected:
        return Progress::kRejected;
    }
  } catch (const std::exception&) {
    return reject(503, "There is no memory for this request now.");
  }
  return Progress::kRejected;
}

Request RequestReader::take() {
  stage_ = Stage::kHead;
  scanned_ = 0;
  parser_.reset();
  return std::exchange(request_, {});
}

RequestReader::Progress RequestReader::read_head(std::string_view bytes, std::size_t& used) {
  // Empty lines before a request line are to be ignored (RFC 9112, section 2.2).
  if (scanned_ == 0) {
    while (bytes.substr(used, 2) == "\r\n") used += 2;
  }
  const std::string_view rest = bytes.substr(used);
  if (rest.empty() || rest == "\r") return Progress::kNeedMore;
  if (!check_start(rest)) return Progress::kRejected;

  const std::size_t end = rest.find("\r\n\r\n", scanned_ < 3 ? 0 : scanned_ - 3);
  const std::size_t head_bytes = end == std::string_view::npos ? rest.size() : end + 4;
  if (head_bytes > limits_.head_bytes) {
    return reject(
        431, "The request's headers are longer than the limit of " + std::to_string(limits_.head_bytes) + " bytes.");
  }
  if (end == std::string_view::npos) {
    scanned_ = rest.size();
    return Progress::kNeedMore;
  }
  if (!accept_head(rest.substr(0, head_bytes))) return Progress::kRejected;
  used += head_bytes;
  stage_ = Stage::kBody;
  return Progress::kHeadDone;
}

// Tells garbage and endless request lines early, before a whole head has come.
bool RequestReader::check_start(std::string_view bytes) {
  const std::size_t line_end = bytes.find('\n');
  const std::string_view method = bytes.substr(0, std::min({bytes.find(' '), line_end, kMethodBytes + 1}));
  if (method.empty() || method.size() > kMethodBytes || !std::all_of(method.begin(), method.end(), is_token_char)) {
    return fail(400, "The request does not start with an HTTP method.");
  }
  if (std::min(line_end, bytes.size()) > limits_.target_bytes + 2 * kMethodBytes) {
    return fail(414,
                "The request target is longer than the limit of " + std::to_string(limits_.target_bytes) + " bytes.");
  }
  return true;
}

bool RequestReader::accept_head(std::string_view block) {
  if (has_ambiguous_line_end(block)) return fail(400, "A header line is folded or does not end with CR LF.");
  if (has_foreign_version(block)) return fail(505, "Only HTTP/1.0 and HTTP/1.1 are spoken here.");
  parser_ = std::make_unique<Parser>(limits_);
  error_code ec;
  parser_->parser.eager(false);
  parser_->parser.put(boost::asio::buffer(block.data(), block.size()), ec);
  if (ec || !parser_->parser.is_header_done()) {
    return fail(400, "The request head is not valid HTTP (" + (ec ? ec.message() : std::string("incomplete")) + ").");
  }
  parser_->parser.eager(true);
  parser_->parser.body_limit(limits_.body_bytes);  // of chunks
  return check_framing() && check_fields() && check_content_coding();
}

bool RequestReader::check_framing() {
  const auto& message = parser_->message();
  facts_ = {};
  facts_.http11 = message.version() == 11;
  facts_.keep_alive = message.keep_alive();
  const std::size_t lengths = message.count(beast_http::field::content_length);
  const std::size_t codings = message.count(beast_http::field::transfer_encoding);
  if (lengths + codings > 1) return fail(400, "The request has more than one header that says how long its body is.");
  const auto length = message[beast_http::field::content_length];
  if (length.find_first_not_of("0123456789") != length.npos) return fail(400, "Content-Length is not one number.");
  if (codings == 1) {
    if (!facts_.http11) return fail(400, "Transfer-Encoding needs HTTP/1.1.");
    if (!boost::beast::iequals(message[beast_http::field::transfer_encoding], "chunked")) {
      return fail(501, "The only transfer coding known here is a single 'chunked'.");
    }
  }
  facts_.has_body = codings == 1 || length.find_first_not_of('0') != length.npos;
  const std::size_t hosts = message.count(beast_http::field::host);
  if (hosts > 1 || (facts_.http11 && hosts == 0)) return fail(400, "A request needs exactly one Host header.");
  const auto expect = message[beast_http::field::expect];
  if (!expect.empty() && !boost::beast::iequals(expect, "100-continue")) {
    return fail(417, "The only expectation known here is '100-continue'.");
  }
  const auto announced = parser_->parser.content_length();
  facts_.body_too_long = announced && *announced > limits_.body_bytes;
  facts_.expects_continue = facts_.http11 && !expect.empty() && !facts_.body_too_long;
  return true;
}

bool RequestReader::check_content_coding() {
  if (!facts_.has_body) return true;
  for (const auto& field : parser_->message()) {
    const std::string_view coding(field.value().data(), field.value().size());
    if (field.name() != beast_http::field::content_encoding || coding.empty() ||
        boost::beast::iequals(field.value(), "identity")) {
      continue;
    }
    return fail(415, "The Content-Encoding '" + std::string(coding.substr(0, kEchoedBytes)) +
                         "' of the request body is not read here: send it as it is.");
  }
  return true;
}

bool RequestReader::check_fields() {
  const auto& message = parser_->message();
  const std::string_view method(message.method_string().data(), message.method_string().size());
  if (std::find(kMethods.begin(), kMethods.end(), method) == kMethods.end()) {
    return fail(501, "The method is not implemented here.");
  }
  const std::string_view raw_target(message.target().data(), message.target().size());
  if (raw_target.size() > limits_.target_bytes) {
    return fail(414,
                "The request target is longer than the limit of " + std::to_string(limits_.target_bytes) + " bytes.");
  }
  auto target = parse_target(raw_target);
  if (!target) return fail(400, "The request target is not a valid path.");
  Headers headers;
  for (const auto& field : message) {
    if (headers.size() == limits_.header_count) {
      return fail(431, "The request has more headers than the limit of " + std::to_string(limits_.header_count) + ".");
    }
    headers.emplace_back(to_lower(std::string_view(field.name_string().data(), field.name_string().size())),
                         std::string(field.value().data(), field.value().size()));
  }
  request_ = {};
  request_.method = method;
  request_.path = std::move(target->path);
  request_.query = std::move(target->query);
  request_.headers = std::move(headers);
  request_.peer = peer_;
  return true;
}

RequestReader::Progress RequestReader::read_body(std::string_view bytes, std::size_t& used) {
  auto& parser = parser_->parser;
  const auto too_long = [this] {
    return reject(413,
                  "The request body is longer than the limit of " + std::to_string(limits_.body_bytes) + " bytes.");
  };
  if (facts_.body_too_long) return too_long();
  while (!parser.is_done() && used < bytes.size()) {
    error_code ec;
    const std::string_view rest = bytes.substr(used);
    used += parser.put(boost::asio::buffer(rest.data(), rest.size()), ec);
    if (ec == beast_http::error::need_more) break;
    if (ec == beast_http::error::body_limit) return too_long();
    if (ec) return reject(400, "The request body is not valid HTTP (" + ec.message() + ").");
  }
  if (parser.is_done()) {
    request_.body = std::move(parser_->message().body());
    stage_ = Stage::kComplete;
    return Progress::kComplete;
  }
  // Only the line of a chunk or the trailer can be left over.
  if (bytes.size() - used > limits_.head_bytes) {
    return reject(431, "A chunk's head or the trailer is longer than the limit of " +
                           std::to_string(limits_.head_bytes) + " bytes.");
  }
  return Progress::kNeedMore;
}

RequestReader::Progress RequestReader::reject(int status, std::string reason) {
  rejection_ = {status, std::move(reason)};
  stage_ = Stage::kRejected;
  return Progress::kRejected;
}

bool RequestReader::fail(int status, std::string reason) {
  reject(status, std::move(reason));
  return false;
}

}  // namespace takt::http
