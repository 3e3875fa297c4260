#include "trace/writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include "trace/line_format.h"

namespace takt::trace {
namespace {

class FileWriter final : public Writer {
 public:
  FileWriter(std::string path, int file, std::unique_ptr<LineFormat> format)
      : path_(std::move(path)), file_(file), format_(std::move(format)) {
    format_->put_head(text_);
  }
  ~FileWriter() override {
    if (file_ < 0) return;
    ::close(file_);
    ::unlink(partial(path_).c_str());
  }

  static std::string partial(const std::string& path) { return path + ".partial"; }

  Status write(const Record& record) override {
    constexpr std::size_t kPiece = std::size_t{256} << 10;
    if (record.arrival < Duration(0))
      return Error::invalid("arrival", path_ +
                                           ": a request arrives before the first row of its trace: sort it first "
                                           "(takt trace convert)");
    format_->put(text_, record);
    return text_.size() < kPiece ? Status() : flush();
  }

  Status finish() override {
    if (const Status flushed = flush(); !flushed) return flushed;
    if (::fsync(file_) != 0) return failure();
    if (::close(std::exchange(file_, -1)) != 0) return failure();
    // Unlike rename() this fails when somebody has made the file meanwhile.
    const bool named = ::link(partial(path_).c_str(), path_.c_str()) == 0;
    const Error error = failure();
    ::unlink(partial(path_).c_str());
    return named ? Status() : error;
  }

 private:
  Error failure() const { return {ErrorCode::kIo, path_ + ": " + std::generic_category().message(errno), "output"}; }

  Status flush() {
    std::string_view rest = text_;
    while (!rest.empty()) {
      const ssize_t written = ::write(file_, rest.data(), rest.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return failure();
      rest.remove_prefix(static_cast<std::size_t>(written));
    }
    text_.clear();
    return {};
  }

  const std::string path_;
  int file_;
  const std::unique_ptr<LineFormat> format_;
  std::string text_;
};

}  // namespace

Result<std::unique_ptr<Writer>> create_trace(const std::string& path, OutputFormat format, const Origin& origin) {
  constexpr mode_t kOwnerOnly = 0600;
  if (::access(path.c_str(), F_OK) == 0) return Error::invalid("output", path + " is there already; name a new file");
  const std::string partial = FileWriter::partial(path);
  const int file = ::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kOwnerOnly);
  if (file < 0 && errno == EEXIST)
    return Error::invalid("output", partial + " is there already: another run writes it, or was cut off; delete it");
  if (file < 0) return Error{ErrorCode::kIo, path + ": " + std::generic_category().message(errno), "output"};
  return std::unique_ptr<Writer>(std::make_unique<FileWriter>(path, file, make_line_format(format, origin)));
}

}  // namespace takt::trace
