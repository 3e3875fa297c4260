#include "trace/reader.h"
#include "trace/record.h"

namespace takt::trace {

const char* to_string(Work work) {
  return work == Work::kGenerate ? "generate" : "embed";
}

const char* to_string(SamplingKind kind) {
  switch (kind) {
    case SamplingKind::kUnknown:
      return "unknown";
    case SamplingKind::kGreedy:
      return "greedy";
    case SamplingKind::kRandom:
      break;
  }
  return "random";
}

const char* to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::kUnknown:
      return "unknown";
    case Outcome::kFinished:
      return "finished";
    case Outcome::kFailed:
      return "failed";
    case Outcome::kCancelled:
      return "cancelled";
    case Outcome::kRefused:
      break;
  }
  return "refused";
}

const char* to_string(Format format) {
  switch (format) {
    case Format::kTakt:
      return "takt";
    case Format::kMooncake:
      return "mooncake";
    case Format::kAzure:
      return "azure";
    case Format::kBurstGpt:
      return "burstgpt";
    case Format::kTable:
      break;
  }
  return "table";
}

}  // namespace takt::trace
