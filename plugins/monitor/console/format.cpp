/// \file How each kind of fact is written.
#include "format.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

namespace baleen::console {
namespace {

/// What is not a number has no sign worth showing.
template <class T>
T shown(T x) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(x) ? std::numeric_limits<T>::quiet_NaN() : x;
  return x;
}

template <class... Arguments>
std::string print(const char* format, Arguments... arguments) {
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), format, shown(arguments)...);
  return text.data();
}

/// Divides by `base` until the number is below it; returns the number of divisions, at most `most`.
int scale(double& number, double base, int most) {
  int times = 0;
  while (times < most && std::abs(number) >= base) number /= base, ++times;
  return times;
}

std::string milliseconds_text(double ms) { return print(ms < 10 ? "%.1f" : "%.0f", ms); }

/// Four places behind the point; beyond what those show well, as many digits with a power of ten.
std::string loss_text(double loss) {
  const double size = std::abs(loss);
  return print(size >= 1e6 || (size > 0 && size < 1e-3) ? "%.4e" : "%.4f", loss);
}

/// "181 ms (data 1.0, compute 170, optimizer 10)"
std::string step_time_text(const Record& record, double total) {
  std::string text, separator;
  for (const char* part : {"data", "compute", "communication", "optimizer"}) {
    if (const auto* fact = record.find(std::string(part) + "_ms")) {
      text += separator + part + " " + milliseconds_text(fact->number);
      separator = ", ";
    }
  }
  const std::string all = milliseconds_text(total) + " ms";
  return text.empty() ? all : all + " (" + text + ")";
}

/// Facts that step_parts places itself.
bool is_placed(std::string_view name) {
  static constexpr std::array kPlaced = {
      "loss",         "gradient_norm",     "lr",      "units_per_second", "flops_per_second", "mfu",
      "memory_bytes", "memory_peak_bytes", "step_ms", "data_ms",          "compute_ms",       "communication_ms",
      "optimizer_ms"};
  return std::find(kPlaced.begin(), kPlaced.end(), name) != kPlaced.end();
}

}  // namespace

std::string count_text(double count) {
  static constexpr std::array kSuffixes = {"", " k", " M", " G", " T", " P", " E"};
  const double given = count;
  const int times = scale(count, 1000, static_cast<int>(kSuffixes.size()) - 1);
  if (times == 0) return number_text(given);
  return print("%.3g", count) + kSuffixes[static_cast<std::size_t>(times)];
}

std::string bytes_text(double bytes) {
  static constexpr std::array kSuffixes = {" B", " KiB", " MiB", " GiB", " TiB", " PiB"};
  const int times = scale(bytes, 1024, static_cast<int>(kSuffixes.size()) - 1);
  return print(times == 0 ? "%.0f" : "%.1f", bytes) + kSuffixes[static_cast<std::size_t>(times)];
}

std::string duration_text(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e12) return "?";
  const auto whole = static_cast<long long>(seconds);
  if (whole >= 3600) return print("%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
  return print("%lld:%02lld", whole / 60, whole % 60);
}

std::string number_text(double number) {
  if (std::floor(number) == number && std::abs(number) < 1e15) return print("%.0f", number);
  return print("%.4g", number);
}

namespace {

constexpr std::string_view kPlanned = "planned_bytes.", kOutside = "planned_bytes.offloaded";

/// What a kind of planned bytes is for.
std::string memory_word(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kMemory[] = {
      {"inputs", "input data"}, {"device", "the device"},          {"padding", "alignment"},
      {"control", "flags"},     {"optimizer", "optimizer states"}, {"scratch", "scratch"}};
  std::string word(name.substr(kPlanned.size()));
  for (const auto& [kind, words] : kMemory)
    if (word == kind) word = words;
  std::replace(word.begin(), word.end(), '_', ' ');
  return word;
}

}  // namespace

bool is_part_of_memory(std::string_view name) { return name.starts_with(kPlanned) && !name.starts_with(kOutside); }

std::string memory_parts(const Record& record, double total) {
  constexpr double kLeast = 0.01;  // of all; what is less is added up
  std::vector<std::pair<double, std::string>> parts;
  double rest = 0;
  for (const baleen_fact_t& fact : record.facts()) {
    const std::string_view name = view(fact.name);
    if (!is_part_of_memory(name) || fact.number == 0) continue;
    if (fact.number >= kLeast * total)
      parts.emplace_back(fact.number, memory_word(name));
    else
      rest += fact.number;
  }
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  if (rest > 0) parts.emplace_back(rest, "other");
  std::string text;
  for (const auto& [bytes, word] : parts) text += (text.empty() ? "" : ", ") + word + " " + bytes_text(bytes);
  return text;
}

std::string label_of(const baleen_fact_t& fact) {
  constexpr std::pair<std::string_view, std::string_view> kWords[] = {{"planned_bytes", "memory, planned"},
                                                                      {"seconds", "time"},
                                                                      {"peak_flops_per_second", "peak FLOP/s"},
                                                                      {"flops_per_second", "FLOP/s"}};
  constexpr std::string_view kSent = "sent_bytes.";
  std::string label(view(fact.name));
  for (const auto& [name, words] : kWords)
    if (label == name) return std::string(words);
  if (label.starts_with(kPlanned)) label = "memory for " + memory_word(label);
  // "sent_bytes.KIND.AXES"
  if (label.starts_with(kSent)) {
    label.erase(0, kSent.size());
    if (const std::size_t dot = label.find('.'); dot != label.npos) label.replace(dot, 1, " over ");
    label.insert(0, "sent by ");
  }
  std::replace(label.begin(), label.end(), '_', ' ');
  if (label.ends_with(" bytes")) label.resize(label.size() - 6);
  if (label.ends_with(" ms")) label.resize(label.size() - 3);
  return label;
}

std::string text_of(const baleen_fact_t& fact) {
  if (is_text(fact)) return std::string(view(fact.text));
  const std::string_view name = view(fact.name);
  // "planned_bytes.parameters" is one kind of the bytes.
  if (name.ends_with("_bytes") || name == "bytes" || name.find("_bytes.") != name.npos) return bytes_text(fact.number);
  if (name.ends_with("_ms")) return milliseconds_text(fact.number) + " ms";
  if (name == "seconds" || name.ends_with("_seconds")) return duration_text(fact.number);
  if (name.ends_with("_per_second") || name == "parameters" || name == "flops") return count_text(fact.number);
  if (name == "mfu") return print("%.1f %%", 100 * fact.number);
  // Every large fp32 number is whole; it is no count.
  if (name.ends_with("loss") && std::abs(fact.number) >= 1e6) return print("%.4g", fact.number);
  return number_text(fact.number);
}

std::vector<std::string> step_parts(const Record& record, const std::string& unit) {
  std::vector<std::string> parts;
  const auto add = [&](const char* name, auto&& write) {
    if (const auto* fact = record.find(name)) parts.push_back(write(fact->number));
  };
  add("loss", [](double x) { return "loss " + loss_text(x); });
  add("gradient_norm", [](double x) { return "|g| " + print("%.3g", x); });
  add("lr", [](double x) { return "lr " + print("%.3g", x); });
  add("units_per_second", [&](double x) { return count_text(x) + " " + unit + "/s"; });
  add("flops_per_second", [](double x) { return count_text(x) + "FLOP/s"; });
  add("mfu", [](double x) { return "MFU " + print("%.1f %%", 100 * x); });
  add("memory_bytes", [&](double x) {
    const auto* peak = record.find("memory_peak_bytes");
    return "memory " + bytes_text(x) + (peak ? " / " + bytes_text(peak->number) : "");
  });
  add("step_ms", [&](double x) { return step_time_text(record, x); });
  for (const baleen_fact_t& fact : record.facts())
    if (!is_placed(view(fact.name))) parts.push_back(label_of(fact) + " " + text_of(fact));
  return parts;
}

std::string bar_text(double done, int width) {
  const int filled = static_cast<int>(std::clamp(done, 0.0, 1.0) * width);
  std::string text(static_cast<std::size_t>(width), ' ');
  std::fill_n(text.begin(), filled, '=');
  if (filled > 0 && filled < width) text[static_cast<std::size_t>(filled) - 1] = '>';
  return "[" + text + "]";
}

}  // namespace baleen::console
