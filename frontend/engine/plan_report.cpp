/// \file Formats what a plan holds and sends, as a table or as JSON.
#include "frontend/engine/plan_report.hpp"

#include <algorithm>
#include <cstdio>

#include "core/runtime/session_memory.hpp"
#include "frontend/engine/device_limits.hpp"
#include "frontend/engine/json.hpp"

namespace baleen::app {
namespace {

/// In the order in which people look for them; others come after.
constexpr const char* kKinds[] = {"parameters", "copies",      "gradients", "optimizer", "control",
                                  "inputs",     "activations", "scratch",   "padding",   "device"};

std::string with_commas(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string line(const std::string& name, std::uint64_t bytes) {
  char text[160];
  std::snprintf(text, sizeof text, "  %-34s %22s  %s\n", name.c_str(), with_commas(bytes).c_str(),
                bytes_text(bytes).c_str());
  return text;
}

/// "" where it does not describe itself.
std::string device_text(const PlannedClass& one) { return one.device ? limits_text(*one.device, false) : ""; }

/// Whether hosts have devices that differ.
bool devices_differ(const PlanReport& report) {
  return std::ranges::any_of(
      report.classes, [&](const PlannedClass& one) { return device_text(one) != device_text(report.classes.front()); });
}

std::string class_text(const PlannedClass& one) {
  std::string text = ranks_text(one.ranks) + " (" + with_commas(static_cast<std::uint64_t>(one.ranks.count)) +
                     (one.ranks.count == 1 ? " rank)\n" : " ranks)\n");
  for (const char* kind : kKinds)
    if (const auto found = one.planned.find(kind); found != one.planned.end()) {
      text += line(kind, found->second);
      if (found->first == "gradients") text += line("  of which until the update", one.held_gradients);
    }
  for (const auto& [kind, bytes] : one.planned)
    if (kind != "total" && kind != "pinned" &&
        std::find(std::begin(kKinds), std::end(kKinds), kind) == std::end(kKinds))
      text += line(kind, bytes);
  text += line("total", one.planned.at("total"));
  if (const auto pinned = one.planned.find("pinned"); pinned != one.planned.end())
    text += line("pinned for collectives, on the host", pinned->second);
  text += line("beside model states at once", one.working.total());
  text += one.fits ? "  fits into " : "  DOES NOT FIT into ";
  text += bytes_text(one.memory);
  if (one.budget > 0) text += " and the budget of " + bytes_text(one.budget) + " beside model states";
  text += "\n";
  if (one.traffic.empty()) return text + "  sends nothing\n";
  text += "  sent per step\n";
  for (const Traffic& sent : one.traffic) text += line("  " + sent.kind + " along " + sent.axes, sent.bytes);
  return text;
}

void add_device(JsonWriter& json, const baleen_device_limits_t& device) {
  json.key("device").begin('{').key("name").value(device.name).key("architecture").value(device.architecture);
  json.key("memory_bytes").value(static_cast<double>(device.memory_bytes));
  for (const auto& [name, peak] :
       {std::pair{"bytes_per_second", device.bytes_per_second}, std::pair{"fp64_flops_per_second", device.fp64},
        std::pair{"fp32_flops_per_second", device.fp32}, std::pair{"tf32_flops_per_second", device.tf32},
        std::pair{"bf16_flops_per_second", device.bf16}, std::pair{"fp16_flops_per_second", device.fp16}})
    if (peak > 0) json.key(name).value(peak);
  json.end('}');
}

}  // namespace

std::string ranks_text(const RankClass& ranks) {
  constexpr std::size_t kMost = 6;
  std::string text = ranks.count == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < std::min(kMost, ranks.stretches.size()); ++i) {
    const auto& [first, last] = ranks.stretches[i];
    text += (i ? ", " : "") + std::to_string(first) + (first == last ? "" : "-" + std::to_string(last));
  }
  return text + (ranks.stretches.size() > kMost ? ", ..." : "");
}

std::string to_text(const PlanReport& report) {
  std::string text = with_commas(static_cast<std::uint64_t>(report.parameters)) + " parameters on " +
                     with_commas(static_cast<std::uint64_t>(report.ranks)) + (report.ranks == 1 ? " rank" : " ranks");
  std::string axes;
  for (const MeshAxis& axis : report.mesh.axes)
    axes += (axes.empty() ? "" : " x ") + axis.name + " " + std::to_string(axis.size);
  text += (axes.empty() ? "" : " (" + axes + ")") + ", bytes of each:\n";
  const bool differ = devices_differ(report);
  for (const PlannedClass& one : report.classes) {
    text += "\n" + class_text(one);
    if (one.device && (differ || &one == &report.classes.back()))
      text += (differ ? "  counted for " : "\ncounted for ") + device_text(one) + "\n";
  }
  for (const std::string& note : report.notes) text += (&note == &report.notes.front() ? "\n" : "") + note + "\n";
  return text;
}

std::string to_json(const PlanReport& report) {
  const bool differ = devices_differ(report);
  JsonWriter json;
  json.begin('{').key("script").value(report.script).key("ranks").value(static_cast<double>(report.ranks));
  json.key("parameters").value(static_cast<double>(report.parameters)).key("mesh").begin('[');
  for (const MeshAxis& axis : report.mesh.axes)
    json.begin('{').key("name").value(axis.name).key("size").value(static_cast<double>(axis.size)).end('}');
  json.end(']').key("classes").begin('[');
  for (const PlannedClass& one : report.classes) {
    json.begin('{').key("count").value(static_cast<double>(one.ranks.count)).key("ranks").begin('[');
    for (const auto& [first, last] : one.ranks.stretches)
      json.begin('[').value(static_cast<double>(first)).value(static_cast<double>(last)).end(']');
    json.end(']').key("planned_bytes").begin('{');
    for (const auto& [kind, bytes] : one.planned) json.key(kind).value(static_cast<double>(bytes));
    json.end('}')
        .key("held_gradients_bytes")
        .value(static_cast<double>(one.held_gradients))
        .key("working_bytes")
        .value(static_cast<double>(one.working.total()))
        .key("sent_bytes")
        .begin('{');
    for (const Traffic& sent : one.traffic)
      json.key(sent.kind + "." + sent.axes).value(static_cast<double>(sent.bytes));
    json.end('}').key("memory_bytes").value(static_cast<double>(one.memory));
    if (one.budget > 0) json.key("budget_bytes").value(static_cast<double>(one.budget));
    json.key("fits").value(one.fits);
    if (one.device && differ) add_device(json, *one.device);
    json.end('}');
  }
  json.end(']').key("notes").begin('[');
  for (const std::string& note : report.notes) json.value(note);
  json.end(']');
  if (!report.classes.empty() && report.classes.front().device && !differ)
    add_device(json, *report.classes.front().device);
  json.end('}');
  return json.text() + "\n";
}

}  // namespace baleen::app
