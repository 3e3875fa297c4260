#include "command_line.h"

#include <CLI/CLI.hpp>
#include <utility>

namespace takt::bench {

CommandLine::CommandLine(const std::string& description) : app_(std::make_unique<CLI::App>(description)) {}
CommandLine::~CommandLine() = default;

void CommandLine::required(const std::string& name, std::string& value, const std::string& help) {
  app_->add_option(name, value, help)->required();
}

void CommandLine::text(const std::string& name, std::string& value, const std::string& help) {
  app_->add_option(name, value, help);
}

void CommandLine::existing_file(const std::string& name, std::string& value, const std::string& help) {
  app_->add_option(name, value, help)->check(CLI::ExistingFile);
}

void CommandLine::choice(const std::string& name, std::string& value, const std::string& help,
                         std::vector<std::string> choices) {
  app_->add_option(name, value, help)->check(CLI::IsMember(std::move(choices)));
}

void CommandLine::number(const std::string& name, int& value, const std::string& help, NumberRange<int> range) {
  app_->add_option(name, value, help)->check(CLI::Range(range.least, range.most));
}

void CommandLine::number(const std::string& name, std::uint32_t& value, const std::string& help,
                         NumberRange<std::uint32_t> range) {
  app_->add_option(name, value, help)->check(CLI::Range(range.least, range.most));
}

void CommandLine::numbers(const std::string& name, std::vector<std::uint32_t>& values, const std::string& help) {
  app_->add_option(name, values, help)->delimiter(',');
}

void CommandLine::flag(const std::string& name, bool& value, const std::string& help) {
  app_->add_flag(name, value, help);
}

std::optional<int> CommandLine::parse(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app_->exit(error);
  }
  return std::nullopt;
}

}  // namespace takt::bench
