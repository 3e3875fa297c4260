// The command line of a benchmark. One file includes CLI11 for all of them: it costs each that does more time to
// compile than the benchmark itself.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace takt::bench {

// Both ends included.
template <typename Number>
struct NumberRange {
  Number least = 0;
  Number most = std::numeric_limits<Number>::max();
};

// Names that begin with a dash are options, others stand at their place. What a variable holds is the default.
class CommandLine {
 public:
  explicit CommandLine(const std::string& description);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  void required(const std::string& name, std::string& value, const std::string& help);
  void text(const std::string& name, std::string& value, const std::string& help);
  void existing_file(const std::string& name, std::string& value, const std::string& help);
  void choice(const std::string& name, std::string& value, const std::string& help, std::vector<std::string> choices);
  void number(const std::string& name, int& value, const std::string& help, NumberRange<int> range = {});
  void number(const std::string& name, std::uint32_t& value, const std::string& help,
              NumberRange<std::uint32_t> range = {});
  // With commas between them.
  void numbers(const std::string& name, std::vector<std::uint32_t>& values, const std::string& help);
  void flag(const std::string& name, bool& value, const std::string& help);

  // The exit code where the program ends here: help was asked for, or the message says what is wrong.
  std::optional<int> parse(int argc, char** argv);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace takt::bench
