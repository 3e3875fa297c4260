#include "step_picture.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>

#include "step_table.h"

namespace takt::app {
namespace {

constexpr double kWidth = 960.0;
constexpr double kLeft = 64.0;
constexpr double kRight = 12.0;
constexpr double kBarsTop = 30.0;
constexpr double kBarsHeight = 120.0;
constexpr double kRowsGap = 30.0;
constexpr double kRowHeight = 15.0;
constexpr double kCellHeight = 12.0;
constexpr std::size_t kMostRows = 48;

constexpr const char* kStyle = R"(
  text { font: 12px system-ui, sans-serif; fill: #444 }
  .decode { fill: #1f6f8b } .prefill { fill: #e0a030 } .preempted { fill: #b03a5b } .waiting { fill: #cfd4d8 }
  .swapped { fill: #7a5ba6 } .paused { fill: #9fb8c4 } .target { stroke: #c0392b; stroke-dasharray: 5 4; fill: none }
  .axis { stroke: #999; fill: none } .limit { fill: #c0392b }
  @media (prefers-color-scheme: dark) {
    text { fill: #ccc } .decode { fill: #5fb3cf } .prefill { fill: #e6b450 } .preempted { fill: #e0708f } .waiting { fill: #4a5056 }
    .swapped { fill: #a98bd8 } .paused { fill: #55707e } .axis { stroke: #777 } .target { stroke: #ff7b6b } .limit { fill: #ff7b6b }
  }
)";

struct Kind {
  CellState state;
  const char* name;
  const char* legend;
};
constexpr std::array kKinds = {Kind{CellState::kPrefill, "prefill", "prefill"},
                               Kind{CellState::kDecode, "decode", "decode"},
                               Kind{CellState::kPaused, "paused", "no time in this step"},
                               Kind{CellState::kPreempted, "preempted", "preempted"},
                               Kind{CellState::kSwapped, "swapped", "swapped out"},
                               Kind{CellState::kWaiting, "waiting", "waiting for its first seat"}};

const char* name_of(CellState state) {
  return std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& kind) { return kind.state == state; })->name;
}

template <typename... Values>
std::string svg_text(const char* pattern, Values... values) {
  std::array<char, 512> text{};
  std::snprintf(text.data(), text.size(), pattern, values...);
  return text.data();
}

double in_milliseconds(Duration duration) {
  return to_seconds(duration) * 1e3;
}

// A run of equal cells of one sequence.
struct CellRun {
  std::size_t first = 0;
  std::size_t last = 0;
  CellState state = CellState::kWaiting;
  std::uint32_t tokens = 0;
};

struct Row {
  StepCell head;  // which sequence
  std::vector<CellRun> runs;
};

// Sequences in the order in which they came.
std::vector<Row> rows_of(const std::vector<StepView>& steps) {
  std::map<SequenceId, Row> rows;
  for (std::size_t column = 0; column < steps.size(); ++column) {
    for (const StepCell& cell : steps[column].cells) {
      Row& row = rows[cell.sequence];
      row.head = cell;
      if (row.runs.empty() || row.runs.back().last + 1 != column || row.runs.back().state != cell.state)
        row.runs.push_back({column, column, cell.state, 0});
      row.runs.back().last = column;
      row.runs.back().tokens += cell.tokens;
    }
  }
  std::vector<Row> list;
  for (auto& [id, row] : rows) list.push_back(std::move(row));
  return list;
}

class Picture {
 public:
  explicit Picture(const std::vector<StepView>& steps)
      : steps_(steps), column_((kWidth - kLeft - kRight) / static_cast<double>(steps.size())) {}

  std::string draw() {
    draw_bars();
    const double height = draw_rows();
    return svg_text(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"Length "
               "of "
               "each step, and what every sequence did in it\">\n<style>",
               kWidth, height) +
           kStyle + "</style>\n" + body_ + "</svg>\n";
  }

 private:
  double x(std::size_t column) const { return kLeft + static_cast<double>(column) * column_; }

  void rect(const char* kind, std::size_t first, std::size_t last, double top, double height,
            const std::string& title) {
    const double gap = column_ > 4.0 ? 0.6 : 0.0;
    body_ += svg_text("<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">", kind, x(first), top,
                      static_cast<double>(last - first + 1) * column_ - gap, height);
    body_ += "<title>" + title + "</title></rect>\n";
  }

  void draw_bars() {
    Duration longest{0};
    Duration budget = Duration::max();
    for (const StepView& step : steps_) {
      longest = std::max(longest, step.measured);
      if (step.plan.budget > Duration::zero()) budget = std::min(budget, step.plan.budget);
    }
    const bool shows_budget = budget != Duration::max() && in_milliseconds(budget) < 4.0 * in_milliseconds(longest);
    const double top = std::max(1e-3, 1.15 * in_milliseconds(shows_budget ? std::max(longest, budget) : longest));
    const double scale = kBarsHeight / top;
    const double bottom = kBarsTop + kBarsHeight;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const StepView& step = steps_[i];
      const double height = in_milliseconds(step.measured) * scale;
      const double share =
          step.plan.features.tokens == 0 ? 0.0 : static_cast<double>(step.prefill_tokens) / step.plan.features.tokens;
      const std::string title = svg_text(
          "step %llu: %.1f ms, %u prefill tokens, %u rows", static_cast<unsigned long long>(step.plan.id.value),
          in_milliseconds(step.measured), step.prefill_tokens, step.plan.features.decode_rows);
      if (share > 0.0) rect("prefill", i, i, bottom - height, height * share, title);
      if (share < 1.0) rect("decode", i, i, bottom - height * (1.0 - share), height * (1.0 - share), title);
    }
    body_ += svg_text("<path class=\"axis\" d=\"M%.0f %.0fV%.0fH%.0f\"/>\n", kLeft, kBarsTop, bottom, kWidth - kRight);
    for (int i = 0; i <= 4; ++i) {
      const double ms = top / 1.15 * i / 4.0;
      body_ += svg_text("<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%.*f</text>\n", kLeft - 8,
                        bottom - ms * scale + 4, top < 20.0 ? 1 : 0, ms);
    }
    if (shows_budget) {
      const double y = bottom - in_milliseconds(budget) * scale;
      body_ += svg_text("<path class=\"target\" d=\"M%.0f %.1fH%.0f\"/>\n", kLeft, y, kWidth - kRight);
      body_ += svg_text("<text class=\"limit\" x=\"%.0f\" y=\"%.1f\">time budget %.0f ms</text>\n", kLeft + 4, y - 5,
                        in_milliseconds(budget));
    }
    body_ += svg_text("<text x=\"%.0f\" y=\"%.0f\">length of each step, ms</text>\n", kLeft, kBarsTop - 12);
  }

  // Gives the height of the whole picture.
  double draw_rows() {
    const std::vector<Row> rows = rows_of(steps_);
    const std::size_t shown = std::min(rows.size(), kMostRows);
    double top = kBarsTop + kBarsHeight + kRowsGap;
    for (std::size_t i = 0; i < shown; ++i, top += kRowHeight) {
      const Row& row = rows[i];
      body_ += svg_text("<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%s %zu</text>\n", kLeft - 8,
                        top + kCellHeight - 2, row.head.tier == Tier::kBatch ? "batch" : "", i + 1);
      for (const CellRun& run : row.runs) {
        std::string title =
            svg_text("request %016llx, choice %u: %s, steps %llu to %llu",
                     static_cast<unsigned long long>(row.head.request.value), row.head.choice, name_of(run.state),
                     static_cast<unsigned long long>(steps_[run.first].plan.id.value),
                     static_cast<unsigned long long>(steps_[run.last].plan.id.value));
        if (run.tokens > 0) title += svg_text(", %u tokens", run.tokens);
        rect(name_of(run.state), run.first, run.last, top, kCellHeight, title);
      }
    }
    if (rows.size() > shown) {
      body_ +=
          svg_text("<text x=\"%.0f\" y=\"%.1f\">and %zu more</text>\n", kLeft, top + kCellHeight, rows.size() - shown);
      top += kRowHeight;
    }
    return draw_legend(top + 10.0);
  }

  double draw_legend(double top) {
    double left = kLeft;
    for (const Kind& kind : kKinds) {
      body_ += svg_text("<rect class=\"%s\" x=\"%.0f\" y=\"%.1f\" width=\"12\" height=\"12\"/>", kind.name, left, top);
      body_ += svg_text("<text x=\"%.0f\" y=\"%.1f\">%s</text>\n", left + 17, top + 10, kind.legend);
      left += 34.0 + 6.6 * static_cast<double>(std::string(kind.legend).size());
    }
    const double seconds = to_seconds(steps_.back().end - steps_.front().begin);
    body_ +=
        svg_text("<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">rows: sequences, columns: %zu steps, %.2f s</text>\n",
                 kWidth - kRight, top + 10, steps_.size(), seconds);
    return top + 24.0;
  }

  const std::vector<StepView>& steps_;
  const double column_;
  std::string body_;
};

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '<') {
      safe += "&lt;";
    } else if (c == '&') {
      safe += "&amp;";
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace

std::string step_svg(const std::vector<StepView>& steps) {
  return Picture(steps).draw();
}

std::string step_html(const std::vector<StepView>& steps, const std::string& title) {
  std::string table = step_table_head();
  for (const StepView& step : steps) table += step_table_row(step);
  if (std::any_of(steps.begin(), steps.end(), [](const StepView& step) { return step.plan.beat_overrun; }))
    table += step_table_legend();
  return "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" + escaped(title) +
         "</title>\n<style>:root { color-scheme: light dark } body { font: 14px system-ui, sans-serif; margin: 2em "
         "auto; "
         "max-width: 60em } pre { overflow-x: auto }</style></head>\n<body><h1>" +
         escaped(title) + "</h1>\n" + step_svg(steps) + "<pre>\n" + escaped(table) + "</pre></body></html>\n";
}

}  // namespace takt::app
