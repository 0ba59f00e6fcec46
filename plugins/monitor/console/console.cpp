/// \file Console: when to print, and what the lines are made of.
#include "console.hpp"

#include <algorithm>
#include <cstring>

#include "format.hpp"

namespace baleen::console {
namespace {

constexpr double kRedrawSeconds = 0.1;
constexpr int kBarWidth = 20;
constexpr std::size_t kLabelWidth = 29;
constexpr std::int64_t kLinesPerRun = 20;

std::string padded(std::string label) {
  label.resize(std::max(label.size() + 1, kLabelWidth), ' ');
  return label;
}

/// The parts that fit into `width` columns, two spaces apart. Texts are ASCII but for users' own names.
std::string fitting(const std::vector<std::string>& parts, std::size_t width) {
  std::string line;
  for (const std::string& part : parts) {
    if (line.size() + 2 + part.size() > width && !line.empty()) break;
    line += (line.empty() ? "" : "  ") + part;
  }
  return line.substr(0, width);
}

std::string progress_of(const Record& record) {
  const std::string done = std::to_string(record.step());
  return record.steps() > 0 ? done + "/" + std::to_string(record.steps()) : done;
}

}  // namespace

Console::Console(Screen screen, Live live, std::int64_t every)
    : screen_(screen), live_(live == Live::kOn || (live == Live::kAuto && screen.is_terminal())), every_(every) {}

Console::~Console() {
  if (!drawn_.empty()) screen_.write("\n");
}

Status Console::record(const Record& record) {
  if (record.rank() != 0) return {};
  switch (record.kind()) {
    case BALEEN_RECORD_START: start(record); break;
    case BALEEN_RECORD_STEP: step(record); break;
    case BALEEN_RECORD_EVALUATE: {
      std::string line = "step " + progress_of(record);
      for (const baleen_fact_t& fact : record.facts()) line += "  " + label_of(fact) + " " + text_of(fact);
      print_above(line);
      break;
    }
    case BALEEN_RECORD_NOTE:
      if (const auto* message = record.find("message")) print_above(text_of(*message));
      break;
    case BALEEN_RECORD_FINISH:
      print_line("finished " + progress_of(record) + " steps");
      print_facts(record);
      break;
    default: break;  // a record of a newer core
  }
  if (const int failure = screen_.failure())
    return Error{BALEEN_IO, std::string("cannot write to standard output: ") + std::strerror(failure), {}};
  return {};
}

void Console::start(const Record& record) {
  if (const auto* unit = record.find("unit"); unit && is_text(*unit)) unit_ = text_of(*unit);
  print_facts(record);
}

void Console::step(const Record& record) {
  if (first_step_ < 0) {
    first_step_ = record.step();
    first_seconds_ = record.seconds();
  }
  if (live_) {
    draw(record);
  } else if (is_due(record)) {
    std::string line = "step " + progress_of(record);
    for (const std::string& part : step_parts(record, unit_)) line += "  " + part;
    print_line(line + "  " + remaining(record));
    last_printed_ = record.step();
  }
}

bool Console::is_due(const Record& record) const {
  const std::int64_t automatic = record.steps() > 0 ? std::max<std::int64_t>(1, record.steps() / kLinesPerRun) : 10;
  const std::int64_t every = every_ > 0 ? every_ : automatic;
  return last_printed_ < 0 || record.step() % every == 0 || record.step() == record.steps();
}

std::string Console::remaining(const Record& record) {
  std::string text = duration_text(record.seconds());
  const auto done = static_cast<double>(record.step() - first_step_);
  if (record.steps() <= record.step() || done <= 0) return text;
  // The first step is left out: it pays for warming up.
  const double per_step = (record.seconds() - first_seconds_) / done;
  return text + " eta " + duration_text(per_step * static_cast<double>(record.steps() - record.step()));
}

void Console::draw(const Record& record) {
  const bool last = record.step() == record.steps();
  if (!last && last_drawn_ >= 0 && record.seconds() - last_drawn_ < kRedrawSeconds) return;
  last_drawn_ = record.seconds();
  std::vector<std::string> parts = step_parts(record, unit_);
  parts.insert(parts.begin() + std::min<std::ptrdiff_t>(1, std::ssize(parts)), remaining(record));
  parts.insert(parts.begin(), progress_of(record));
  const double done = record.steps() > 0 ? static_cast<double>(record.step()) / static_cast<double>(record.steps()) : 0;
  const auto width = static_cast<std::size_t>(screen_.width());
  const bool has_bar = record.steps() > 0 && width >= 3 * kBarWidth;
  std::string line = "\r\x1b[?7l";  // no wrapping: a line too long for a narrowed window must stay one line
  if (has_bar) {
    const std::string bar = bar_text(done, kBarWidth);
    line += screen_.has_colour() ? "\x1b[36m" + bar + "\x1b[0m " : bar + " ";
  }
  line += fitting(parts, width - (has_bar ? kBarWidth + 4 : 1));
  drawn_ = line + "\x1b[K\x1b[?7h";
  screen_.write(drawn_);
  if (last) {
    screen_.write("\n");
    drawn_.clear();
  }
}

void Console::print_above(const std::string& lines) {
  screen_.write((drawn_.empty() ? "" : "\r\x1b[K") + lines + "\n" + drawn_);
}

void Console::print_line(const std::string& line) {
  screen_.write((drawn_.empty() ? "" : "\r\x1b[K") + line + "\n");
  drawn_.clear();
}

void Console::print_facts(const Record& record) {
  std::string lines;
  for (const baleen_fact_t& fact : record.facts()) {
    // Numbers of single ranks are for programs; people get them as the text "rank 0".
    if (view(fact.name).starts_with("rank.")) continue;
    const std::string_view name = view(fact.name);
    if (name == "unit") continue;  // shown with the throughput
    if (is_part_of_memory(name)) continue;
    const std::string label = name == "units_per_second" ? unit_ + " per second" : label_of(fact);
    const std::string parts = name == "planned_bytes" ? memory_parts(record, fact.number) : "";
    lines += "  " + padded(label) + text_of(fact) + (parts.empty() ? "" : ": " + parts) + "\n";
  }
  if (!lines.empty()) lines.pop_back();
  if (!lines.empty()) print_line(lines);
}

}  // namespace baleen::console
