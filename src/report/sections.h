// What every form of a report says, as headings, sentences and tables.
#pragma once

#include <string>
#include <vector>

#include "measure/comparison.h"
#include "report/run_report.h"

namespace takt::report {

struct Table {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

struct Section {
  std::string heading;
  std::vector<std::string> sentences;
  Table table;  // may be empty
};

// In the order in which they are to be read: what a comparison must record comes first.
std::vector<Section> sections_of(const RunReport& report);

struct NamedComparison {
  std::string before;
  std::string after;
  measure::Comparison comparison;
  bool valid = true;  // false: one of the two runs is not
};
std::vector<Section> sections_of(const std::vector<NamedComparison>& comparisons);

std::string to_markdown(const std::string& title, const std::vector<Section>& sections);

}  // namespace takt::report
