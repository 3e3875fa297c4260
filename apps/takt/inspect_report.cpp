#include "inspect_report.h"

#include <array>
#include <boost/json.hpp>
#include <cstdio>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cpu_topology.h"
#include "model/load.h"
#include "readable_bytes.h"
#include "text/detokenizer.h"

namespace takt::app {
namespace {

namespace json = boost::json;

constexpr std::array<std::uint32_t, 3> kConversationTokens{1024, 4096, 32768};
constexpr std::size_t kShownArrayItems = 16;

template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
template <class... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

// A file's texts may be any bytes; JSON may not.
std::string to_utf8(std::string_view bytes) {
  Utf8Stream stream;
  std::string text = stream.push(bytes);
  return text + stream.finish();
}

// Arrays are shown by their first items: a vocabulary has a hundred thousand.
json::value array_json(const GgufValue& value, const GgufArray& array) {
  json::array items;
  const std::size_t count = std::visit([](const auto& all) { return all.size(); }, array);
  std::visit(
      [&](const auto& all) {
        for (std::size_t i = 0; i < std::min(all.size(), kShownArrayItems); ++i) {
          if constexpr (std::is_same_v<std::decay_t<decltype(all[i])>, std::string>) {
            items.emplace_back(to_utf8(all[i]));
          } else {
            items.emplace_back(all[i]);
          }
        }
      },
      array);
  return {{"type", std::string(to_string(value.element_type))}, {"count", count}, {"first", std::move(items)}};
}

json::value value_json(const GgufValue& value) {
  return std::visit(Overloaded{[](const std::string& text) { return json::value(to_utf8(text)); },
                               [&](const GgufArray& array) { return array_json(value, array); },
                               [](const auto& scalar) { return json::value(scalar); }},
                    value.data);
}

std::string value_text(const GgufValue& value) {
  if (const auto* text = std::get_if<std::string>(&value.data)) return printable(*text);
  if (const auto* array = std::get_if<GgufArray>(&value.data)) {
    const std::size_t count = std::visit([](const auto& all) { return all.size(); }, *array);
    return std::to_string(count) + " x " + std::string(to_string(value.element_type));
  }
  if (const auto* number = std::get_if<double>(&value.data)) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.7g", *number);
    return text;
  }
  return json::serialize(value_json(value));
}

std::string shape_text(const GgufTensor& tensor) {
  std::string text;
  for (const auto extent : tensor.shape) text += (text.empty() ? "" : " x ") + std::to_string(extent);
  return text;
}

struct TypeSum {
  std::size_t tensors = 0;
  std::uint64_t bytes = 0;
};

std::map<std::string, TypeSum> sums_by_type(const GgufFile& file) {
  std::map<std::string, TypeSum> sums;
  for (const auto& tensor : file.tensors()) {
    TypeSum& sum = sums[std::string(tensor_type_name(tensor.type))];
    ++sum.tensors;
    sum.bytes += tensor.bytes;
  }
  return sums;
}

constexpr std::array kKvTypes{KvType::kF16, KvType::kF32, KvType::kQ8_0};

void add_cost_text(std::ostringstream& out, const Inspection& inspection) {
  const MemoryPlan& plan = *inspection.plan;
  out << "\nOn this machine\n"
      << "  weights    " << readable_bytes(plan.weight_bytes) << "\n"
      << "  workspace  " << readable_bytes(plan.workspace_bytes) << "\n"
      << "  KV         " << plan.kv_blocks << " blocks of " << plan.kv_block_tokens << " tokens, "
      << readable_bytes(plan.kv_bytes()) << " of " << readable_bytes(plan.available_bytes) << " available\n"
      << "  context    " << plan.context_tokens << " tokens\n";
  for (const auto tokens : kConversationTokens) {
    out << "  conversations of " << tokens << " tokens that fit at once: ";
    if (tokens > plan.context_tokens) {
      out << "none, longer than the context\n";
      continue;
    }
    out << plan.conversations(tokens);
    std::string_view before = " (";
    for (const auto& [type, other] : inspection.kv_types) {
      out << before << other.conversations(tokens) << " with compute.kv_type " << kv_type_name(type);
      before = ", ";
    }
    out << (inspection.kv_types.empty() ? "\n" : ")\n");
  }
}

json::object conversations_json(const MemoryPlan& plan) {
  json::object conversations;
  for (const auto tokens : kConversationTokens) {
    conversations[std::to_string(tokens)] = tokens > plan.context_tokens ? 0 : plan.conversations(tokens);
  }
  return conversations;
}

json::value cost_json(const Inspection& inspection) {
  const MemoryPlan& plan = *inspection.plan;
  json::object kv_types;
  for (const auto& [type, other] : inspection.kv_types) {
    kv_types[std::string(kv_type_name(type))] = {{"kv_blocks", other.kv_blocks},
                                                 {"kv_block_bytes", other.kv_block_bytes},
                                                 {"conversations", conversations_json(other)}};
  }
  return {{"weight_bytes", plan.weight_bytes},
          {"workspace_bytes", plan.workspace_bytes},
          {"available_bytes", plan.available_bytes},
          {"kv_bytes", plan.kv_bytes()},
          {"kv_blocks", plan.kv_blocks},
          {"kv_block_tokens", plan.kv_block_tokens},
          {"kv_block_bytes", plan.kv_block_bytes},
          {"context_tokens", plan.context_tokens},
          {"conversations", conversations_json(plan)},
          {"kv_types", std::move(kv_types)}};
}

std::string verdict_text(const Inspection& inspection) {
  if (inspection.unsupported) return "no: " + inspection.unsupported->message;
  return inspection.weights_read ? "yes" : "yes, if its weights are sound (they were not read)";
}

json::value speed_json(const MachineSpeed& speed) {
  json::array decode;
  for (const auto& at : speed.decode) {
    decode.push_back({{"streams", at.streams},
                      {"tokens_per_second", at.tokens_per_second},
                      {"bandwidth_share", speed.bandwidth_share(at)},
                      {"multiply_share", speed.multiply_share(at)}});
  }
  return {{"isa", speed.isa},
          {"threads", speed.threads},
          {"read_bytes_per_second", speed.peaks.read},
          {"int8_multiplies_per_second", speed.peaks.multiply.int8},
          {"f32_multiplies_per_second", speed.peaks.multiply.f32},
          {"decode_context_tokens", speed.context_tokens},
          {"decode", std::move(decode)},
          {"prompt_tokens", speed.prompt_tokens},
          {"prompt_tokens_per_second", speed.prompt_tokens_per_second},
          {"prompt_multiply_share", speed.prompt_multiply_share()}};
}

}  // namespace

Result<Inspection> inspect_model(const std::string& path, const CpuExecutorOptions& options, bool read_weights) {
  auto file = GgufFile::open(path);
  if (!file) return file.error();
  Inspection inspection{path, std::move(*file), {}, {}, {}, {}, {}};
  auto model = plan_model(inspection.file, path, weight_place(options));
  if (!model) {
    inspection.unsupported = model.error();
    return inspection;
  }
  inspection.hyperparameters = model->decoder->hyperparameters();
  const std::size_t free_bytes = available_memory_bytes();
  const auto plan = plan_memory(*model->decoder, model->weight_bytes, true, free_bytes, options);
  if (plan) {
    inspection.plan = *plan;
  } else {
    inspection.unsupported = plan.error();
  }
  for (const KvType type : kKvTypes) {
    CpuExecutorOptions other = options;
    other.kv_type = type;
    const auto of_type =
        type == options.kv_type ? plan : plan_memory(*model->decoder, model->weight_bytes, true, free_bytes, other);
    if (of_type) inspection.kv_types.emplace_back(type, *of_type);
  }
  if (read_weights && !inspection.unsupported) {
    ThreadPool pool(detect_cpu_budget().threads);
    if (const auto status = check_weights(inspection.file, pool); !status) inspection.unsupported = status.error();
    inspection.weights_read = true;
  }
  return inspection;
}

std::string to_text(const Inspection& inspection, bool tensors) {
  std::ostringstream out;
  const GgufFile& file = inspection.file;
  out << inspection.path << "\nGGUF version " << file.version() << ", " << readable_bytes(file.file_bytes()) << ", "
      << file.tensors().size() << " tensors";
  if (inspection.hyperparameters)
    out << ", " << inspection.hyperparameters->layers << " layers, context of "
        << inspection.hyperparameters->context_length << " tokens";
  out << "\nCan be served: " << verdict_text(inspection) << "\n";
  if (inspection.plan) add_cost_text(out, inspection);
  if (inspection.speed) out << to_text(*inspection.speed);
  out << "\nTensor types\n";
  for (const auto& [type, sum] : sums_by_type(file)) {
    out << "  " << type << "  " << sum.tensors << " tensors, " << readable_bytes(sum.bytes) << "\n";
  }
  out << "\nMetadata\n";
  for (const auto& entry : file.metadata())
    out << "  " << printable(entry.key) << " = " << value_text(entry.value) << "\n";
  if (!tensors) return std::move(out).str();
  out << "\nTensors\n";
  for (const auto& tensor : file.tensors()) {
    out << "  " << printable(tensor.name) << "  " << tensor_type_name(tensor.type) << "  " << shape_text(tensor)
        << "\n";
  }
  return std::move(out).str();
}

std::string to_json(const Inspection& inspection) {
  const GgufFile& file = inspection.file;
  json::object metadata;
  for (const auto& entry : file.metadata()) metadata[to_utf8(entry.key)] = value_json(entry.value);
  json::array tensors;
  for (const auto& tensor : file.tensors()) {
    tensors.push_back({{"name", to_utf8(tensor.name)},
                       {"type", std::string(tensor_type_name(tensor.type))},
                       {"shape", json::array(tensor.shape.begin(), tensor.shape.end())},
                       {"bytes", tensor.bytes}});
  }
  json::object object{{"path", to_utf8(inspection.path)}, {"gguf_version", file.version()},
                      {"file_bytes", file.file_bytes()},  {"can_be_served", !inspection.unsupported},
                      {"metadata", std::move(metadata)},  {"tensors", std::move(tensors)}};
  if (inspection.plan) object["cost"] = cost_json(inspection);
  if (inspection.speed) object["speed"] = speed_json(*inspection.speed);
  if (inspection.unsupported) object["unsupported"] = to_utf8(inspection.unsupported->message);
  return json::serialize(object);
}

}  // namespace takt::app
