/// \file The table of a profile.
#include "profile.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

namespace baleen::trace {
namespace {

template <class... Values>
std::string format(const char* pattern, Values... values) {
  char text[256];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

/// `value` in `width` columns with one decimal; blank where it is 0.
std::string column(double value, int width, int decimals = 1) {
  return value > 0 ? format("%*.*f", width, decimals, value) : std::string(static_cast<std::size_t>(width), ' ');
}

bool is_number(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

double number(const Record& record, std::string_view name) {
  const baleen_fact_t* fact = record.find(name);
  return fact && !is_text(*fact) ? fact->number : 0;
}

}  // namespace

std::string group_of(std::string_view name) {
  name = name.substr(0, name.find(" #"));  // which call it is, and what it sends
  const std::size_t path = std::min(name.find(' '), name.size());
  std::string group;
  for (std::size_t begin = 0; begin <= path;) {
    const std::size_t end = std::min(name.find('.', begin), path);
    const std::string_view word = name.substr(begin, end - begin);
    group += is_number(word) ? "*" : std::string(word);
    if (end < path) group += '.';
    begin = end + 1;
  }
  return group + std::string(name.substr(path));
}

void Profile::add(const baleen_span_t& span) {
  if (view(span.category) == "begin" || view(span.category) == "pass") return;
  Row& row = pending_.rows[group_of(view(span.name))];
  ++row.calls;
  row.nanoseconds += span.end - span.begin;
  row.flops += span.flops;
  row.bytes += span.bytes;
  row.waits |= view(span.category) == "wait";
}

void Profile::add(const Record& record) {
  if (record.kind() == BALEEN_RECORD_START) {
    peak_flops_ = number(record, "peak_flops_per_second");
    peak_bytes_ = number(record, "peak_bytes_per_second");
  }
  if (record.kind() != BALEEN_RECORD_STEP) {
    pending_ = {};  // an evaluation's
    return;
  }
  Part& part = first_.steps == 0 ? first_ : later_;
  ++part.steps;
  part.milliseconds += number(record, "step_ms") + number(record, "data_ms");
  for (const auto& [name, row] : pending_.rows) {
    Row& sum = part.rows[name];
    sum.calls += row.calls;
    sum.nanoseconds += row.nanoseconds;
    sum.flops += row.flops;
    sum.bytes += row.bytes;
    sum.waits |= row.waits;
  }
  pending_ = {};
}

std::string Profile::line(const std::string& name, const Row& row, const Part& part) const {
  const double seconds = static_cast<double>(row.nanoseconds) * 1e-9;
  const double flops = seconds > 0 ? row.flops / seconds : 0;
  const double bytes = seconds > 0 && !row.waits ? static_cast<double>(row.bytes) / seconds : 0;
  const double of_flops = peak_flops_ > 0 ? flops / peak_flops_ : 0;
  const double of_bytes = peak_bytes_ > 0 ? bytes / peak_bytes_ : 0;
  const double milliseconds = seconds * 1e3 / static_cast<double>(part.steps);
  std::string text = format("%6.1f %% %10.3f %6.0f", 1e5 * seconds / part.milliseconds, milliseconds,
                            static_cast<double>(row.calls) / static_cast<double>(part.steps));
  text += column(flops / 1e9, 10) + column(bytes / 1e9, 8) + column(of_flops, 8, 2) + column(of_bytes, 8, 2);
  return text + "  " + name + '\n';
}

std::string Profile::table() const {
  const Part& part = shown();
  if (part.steps == 0) return {};
  std::string text = format("profile: %lld step%s", static_cast<long long>(part.steps), part.steps > 1 ? "s" : "");
  text +=
      format(" of %.3f ms with each launch waited for; at most ", part.milliseconds / static_cast<double>(part.steps));
  text += peak_flops_ > 0
              ? format("%.0f GFLOP/s and %.1f GB/s, measured at the start\n", peak_flops_ / 1e9, peak_bytes_ / 1e9)
              : std::string("unknown\n");
  text += "   share    ms/step  calls   GFLOP/s    GB/s of flops   bytes  op\n";
  std::vector<std::pair<std::string, Row>> rows(part.rows.begin(), part.rows.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second.nanoseconds > b.second.nanoseconds; });
  Row rest, all;
  std::size_t count = 0;
  const double least = 1e-3 * part.milliseconds * 1e6;  // a thousandth of the time
  for (const auto& [name, row] : rows) {
    all.nanoseconds += row.nanoseconds;
    all.calls += row.calls;
    all.flops += row.flops;
    if (static_cast<double>(row.nanoseconds) >= least) {
      text += line(name, row, part);
      continue;
    }
    ++count;
    rest.nanoseconds += row.nanoseconds;
    rest.calls += row.calls;
  }
  if (count > 0) text += line(format("%zu others, each under 0.1 %%", count), rest, part);
  Row between;
  between.nanoseconds = std::max(std::int64_t{0}, static_cast<std::int64_t>(part.milliseconds * 1e6) - all.nanoseconds);
  text += line("between launches", between, part);
  all.nanoseconds += between.nanoseconds;
  return text + line("whole step", all, part);
}

}  // namespace baleen::trace
