/// \file A table of plans: rows of numbers, columns of manifests.
#include "frontend/engine/plan_compare.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>

#include "core/runtime/session_memory.hpp"
#include "frontend/engine/json.hpp"

namespace baleen::app {
namespace {

/// The largest of the ranks' numbers.
template <class Number>
auto largest(const PlanReport& report, Number&& number) {
  auto most = number(report.classes.front());
  for (const PlannedClass& one : report.classes) most = std::max(most, number(one));
  return most;
}

std::uint64_t planned(const PlannedClass& one, const std::string& kind) {
  const auto found = one.planned.find(kind);
  return found == one.planned.end() ? 0 : found->second;
}

std::string mesh_text(const Mesh& mesh) {
  std::string text;
  for (const MeshAxis& axis : mesh.axes)
    text += (text.empty() ? "" : " x ") + axis.name + " " + std::to_string(axis.size);
  return text.empty() ? "none" : text;
}

std::string share_text(const PlanReport& report) {
  const double share = largest(report, [](const PlannedClass& one) {
    return one.work.even_share > 0 ? one.work.flops / one.work.even_share : 0;
  });
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", share);
  return text;
}

/// "a.toml: message", where the place does not say it already.
std::string said(const Error& error, const std::string& manifest) {
  const std::string text = error.where.empty() ? error.message : error.where + ": " + error.message;
  return text.starts_with(manifest + ":") ? text : manifest + ": " + text;
}

struct Row {
  std::string name;
  std::function<std::string(const PlanReport&)> cell;
};

Row bytes_row(const std::string& name, std::function<std::uint64_t(const PlannedClass&)> number) {
  return {name, [number = std::move(number)](const PlanReport& report) { return bytes_text(largest(report, number)); }};
}
Row kind_row(const std::string& kind) {
  return bytes_row(kind, [kind](const PlannedClass& one) { return planned(one, kind); });
}

std::vector<Row> rows() {
  return {
      {"ranks", [](const PlanReport& report) { return with_commas(static_cast<std::uint64_t>(report.ranks)); }},
      {"mesh", [](const PlanReport& report) { return mesh_text(report.mesh); }},
      kind_row("parameters"),
      kind_row("copies"),
      bytes_row("gradients at the update", [](const PlannedClass& one) { return one.held_gradients; }),
      kind_row("optimizer"),
      kind_row("activations"),
      kind_row("total"),
      {"fits", [](const PlanReport& report) { return std::string(report.verdict ? "yes" : "NO"); }},
      bytes_row("sent per step", [](const PlannedClass& one) { return one.work.sent; }),
      bytes_row("  while the rank computes", [](const PlannedClass& one) { return one.work.sent_meanwhile; }),
      bytes_row("outside the device", [](const PlannedClass& one) { return planned(one, "offloaded"); }),
      bytes_row("  got per step", [](const PlannedClass& one) { return one.offloaded.got; }),
      bytes_row("  put per step", [](const PlannedClass& one) { return one.offloaded.put; }),
      {"computes per step",
       [](const PlanReport& report) {
         return flops_text(largest(report, [](const PlannedClass& one) { return one.work.flops; }));
       }},
      {"  of its even share", share_text},
  };
}

}  // namespace

std::string comparison_text(const std::vector<ComparedPlan>& plans) {
  std::vector<std::vector<std::string>> columns;
  std::vector<std::string> names = {""};
  const std::vector<Row> all = rows();
  for (const Row& row : all) names.push_back(row.name);
  columns.push_back(std::move(names));
  for (const ComparedPlan& plan : plans) {
    std::vector<std::string> column = {std::filesystem::path(plan.manifest).stem().string()};
    for (const Row& row : all) column.push_back(plan.report ? row.cell(*plan.report) : "-");
    columns.push_back(std::move(column));
  }
  std::string text;
  for (std::size_t row = 0; row <= all.size(); ++row) {
    std::string line;
    for (const std::vector<std::string>& column : columns) {
      std::size_t width = 0;
      for (const std::string& cell : column) width = std::max(width, cell.size());
      const bool is_name = &column == &columns.front();
      const std::string gap(width - column[row].size(), ' ');
      line += is_name ? column[row] + gap : "  " + gap + column[row];
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  for (const ComparedPlan& plan : plans) {
    const Error* problem = plan.refusal           ? &*plan.refusal
                           : plan.report->verdict ? nullptr
                                                  : &plan.report->verdict.error();
    if (problem) text += "\n" + said(*problem, plan.manifest) + "\n";
  }
  return text;
}

std::string comparison_json(const std::vector<ComparedPlan>& plans) {
  Json list = Json::array();
  for (const ComparedPlan& plan : plans) {
    Json one = {{"manifest", plan.manifest}};
    if (plan.report)
      one["plan"] = json_of(*plan.report);
    else
      one["refused"] = (plan.refusal->where.empty() ? "" : plan.refusal->where + ": ") + plan.refusal->message;
    list.push_back(std::move(one));
  }
  return json_text(list) + "\n";
}

}  // namespace baleen::app
