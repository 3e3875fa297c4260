// Any bytes given to the readers of traces are records, counted lines that are none, or an error with its place; what
// was read and written in our own format comes back as it was.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trace/reader.h"
#include "trace/row_parser.h"
#include "trace/sorted_reader.h"
#include "trace/takt_format.h"

namespace {

using namespace takt::trace;

void require(bool holds) {
  if (!holds) __builtin_trap();
}

// A file that has a path and no folder.
class MemoryFile {
 public:
  MemoryFile(const std::uint8_t* data, std::size_t size) : file_(::memfd_create("trace", MFD_CLOEXEC)) {
    require(file_ >= 0 && ::write(file_, data, size) == static_cast<ssize_t>(size));
  }
  ~MemoryFile() { ::close(file_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  int file_;
};

void check_counts(const ReadCounts& counts) {
  std::uint64_t sum = counts.records + counts.malformed;
  for (const auto& [reason, count] : counts.dropped) sum += count;
  require(sum == counts.rows);
  require((counts.malformed > 0) == !counts.first_malformed.empty());
}

void check_comes_back(const Record& record, RowParser& parser) {
  if (record.arrival < takt::Duration(0)) return;  // of a row before its trace's first: the writer refuses it
  std::string line;
  append_record_line(line, record);
  require(line.back() == '\n' && line.find('\n') == line.size() - 1);
  line.pop_back();
  auto row = parser.parse(line);
  require(static_cast<bool>(row) && row->record.has_value());
  std::string again;
  append_record_line(again, *row->record);
  again.pop_back();
  require(again == line);
}

void read_all(std::unique_ptr<Reader> reader, bool ordered) {
  std::string head = head_line({});
  head.pop_back();
  auto parser = make_takt_parser(head);
  require(static_cast<bool>(parser));
  takt::Duration before = takt::Duration::min();
  for (;;) {
    auto record = reader->next();
    if (!record) {
      require(!record.error().message.empty());
      return;
    }
    if (!*record) break;
    require(!ordered || ((*record)->arrival >= before && (*record)->arrival >= takt::Duration(0)));
    before = (*record)->arrival;
    check_comes_back(**record, **parser);
  }
  check_counts(reader->counts());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemoryFile file(data, size);
  for (const OnMalformed on_malformed : {OnMalformed::kSkip, OnMalformed::kRefuse}) {
    const ReadOptions options{on_malformed, 2000};
    auto reader = open_trace(file.path(), options);
    if (!reader) {
      require(reader.error().message.find(file.path()) != std::string::npos);
      continue;
    }
    read_all(std::move(*reader), false);
    auto again = open_trace(file.path(), options);
    require(static_cast<bool>(again));
    read_all(sorted_by_arrival(std::move(*again), on_malformed, 3), true);
  }
  return 0;
}
