/// \file Formats what a plan holds and sends, as a table or as JSON.
#include "frontend/engine/plan_report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "core/runtime/session_memory.hpp"
#include "frontend/engine/device_limits.hpp"
#include "frontend/engine/host_device.hpp"

namespace baleen::app {
namespace {

/// In the order in which people look for them; others come after.
constexpr const char* kKinds[] = {"parameters", "copies",      "gradients", "optimizer", "fetched", "control",
                                  "inputs",     "activations", "scratch",   "padding",   "device"};

std::string line(const std::string& name, const std::string& number, const std::string& rest) {
  char text[240];
  std::snprintf(text, sizeof text, "  %-34s %22s  %s\n", name.c_str(), number.c_str(), rest.c_str());
  return text;
}
std::string line(const std::string& name, std::uint64_t bytes) {
  return line(name, with_commas(bytes), bytes_text(bytes));
}

/// "data x tensor".
std::string axes_text(const std::vector<std::string>& axes) {
  std::string text;
  for (const std::string& axis : axes) text += (text.empty() ? "" : " x ") + axis;
  return text;
}

/// How the tensors of a category are cut, where ranks could cut them.
std::string stored_text(const PlannedClass& one, const std::string& category) {
  std::string text;
  for (const StoredPart& part : one.stored)
    if (part.category == category)
      text += line(part.axes.empty() ? "  whole" : "  cut along " + axes_text(part.axes), part.bytes);
  return text;
}

/// The closed form of a cost beside its planned number; "" where there is none.
std::string form_text(const PlannedClass& one, const std::string& of, const std::string& indent) {
  std::string text;
  for (const ClosedFormCost& form : one.closed_forms) {
    if (form.of != of) continue;
    char ratio[64];
    std::snprintf(ratio, sizeof ratio,
                  form.is_off()      ? ", planned %.3f times as much: OFF"
                  : form.is_beyond() ? ", planned %.3f of it: uneven pieces"
                                     : ", planned %.3f of it",
                  form.ratio());
    const auto bytes = static_cast<std::uint64_t>(std::llround(form.formula));
    text += line(indent + "closed form", with_commas(bytes), bytes_text(bytes) + ratio);
    for (const std::string& formula : form.formulas) text += indent + "    " + formula + "\n";
  }
  return text;
}

/// What the rank computes beside its even share of the graph.
std::string work_text(const RankWork& work, const std::string& when) {
  char share[64] = "";
  if (work.even_share > 0) std::snprintf(share, sizeof share, ", %.2f of its even share", work.flops / work.even_share);
  const auto flops_line = [](const std::string& name, double flops, const char* rest) {
    return line(name, with_commas(static_cast<std::uint64_t>(std::llround(flops))), flops_text(flops) + rest);
  };
  std::string text = flops_line("computes " + when, work.flops, share);
  if (work.recomputed > 0) text += flops_line("  of its even share again", work.recomputed, "");
  return text;
}

/// "" where it does not describe itself.
std::string device_text(const PlannedClass& one) { return one.device ? limits_text(*one.device, false) : ""; }

/// Whether hosts have devices that differ.
bool devices_differ(const PlanReport& report) {
  return std::ranges::any_of(
      report.classes, [&](const PlannedClass& one) { return device_text(one) != device_text(report.classes.front()); });
}

std::string heading(const RankClass& ranks) {
  return ranks_text(ranks) + " (" + with_commas(static_cast<std::uint64_t>(ranks.count)) +
         (ranks.count == 1 ? " rank)\n" : " ranks)\n");
}

/// Ranks of both.
RankClass joined(const RankClass& a, const RankClass& b) {
  auto all = a.stretches;
  all.insert(all.end(), b.stretches.begin(), b.stretches.end());
  std::ranges::sort(all);
  RankClass result{a.count + b.count, {all.front()}};
  for (std::size_t i = 1; i < all.size(); ++i) {
    auto& last = result.stretches.back();
    if (all[i].first == last.second + 1)
      last.second = all[i].second;
    else
      result.stretches.push_back(all[i]);
  }
  return result;
}

/// "  moving takes at least 1.84 s per step: got at 1.9 GB/s, put at 0.8 GB/s, as measured here, for 2 ranks of a
/// host".
std::string moving_text(const PlannedClass& one, const std::string& when) {
  std::string speeds;
  for (const PlannedPlace& place : one.outside) {
    if (!place.speed) return "";
    std::array<char, 100> text{};
    std::snprintf(text.data(), text.size(), "got at %.3g GB/s, put at %.3g GB/s",
                  place.speed->get_bytes_per_second / 1e9, place.speed->put_bytes_per_second / 1e9);
    const std::string of = one.outside.size() > 1 ? "`" + place.name + "` " : std::string();
    speeds += (speeds.empty() ? ": " : "; ") + of + text.data();
  }
  if (speeds.empty()) return "";
  std::array<char, 100> least{};
  std::snprintf(least.data(), least.size(), "  moving takes at least %.3g s ", moving_seconds(one));
  const std::string ranks =
      one.host_ranks > 1 ? ", for the " + std::to_string(one.host_ranks) + " ranks of a host" : std::string();
  return least.data() + when + speeds + ", as measured here" + ranks + "\n";
}

std::string numbers_text(const PlannedClass& one, std::int64_t ranks) {
  std::string text;
  for (const char* kind : kKinds)
    if (const auto found = one.planned.find(kind); found != one.planned.end()) {
      text += line(kind, found->second);
      if (ranks > 1) text += stored_text(one, found->first);
      if (found->first == "gradients") text += line("  held at the update", one.held_gradients);
      if (found->first != "activations") text += form_text(one, found->first, "  ");
    }
  for (const auto& [kind, bytes] : one.planned)
    if (kind != "total" && is_on_device(kind) &&
        std::find(std::begin(kKinds), std::end(kKinds), kind) == std::end(kKinds))
      text += line(kind, bytes);
  text += line("total", one.planned.at("total"));
  if (const auto pinned = one.planned.find("pinned"); pinned != one.planned.end())
    text += line("pinned for collectives, on the host", pinned->second);
  for (const PlannedPlace& place : one.outside) text += line("offloaded to `" + place.name + "`", place.bytes);
  if (const auto outside = one.planned.find("offloaded"); one.outside.empty() && outside != one.planned.end())
    text += line("outside the device, without a place", outside->second);
  if (const auto pinned = one.planned.find("pinned_states"); pinned != one.planned.end())
    text += line("pinned for these, on the host", pinned->second);
  if (const auto pinned = one.planned.find("pinned_updates"); pinned != one.planned.end())
    text += line("pinned for updates, on the host", pinned->second);
  text += line("beside model states at once", one.working.total());
  text += line("  activations and inputs at once", one.working.values);
  for (const ClosedFormCost& form : one.closed_forms)
    if (form.of == "activations") {
      text += line("  kept for the backward pass", static_cast<std::uint64_t>(form.planned));
      text += form_text(one, form.of, "    ");
    }
  text += line("the process, with program and data", one.process);
  text += one.fits ? "  fits into " : "  DOES NOT FIT into ";
  text += bytes_text(one.memory);
  if (!one.fits_host)
    text += " of the device and " + bytes_text(one.host_memory) + " of the host, of which a rank takes " +
            bytes_text(one.host.total()) +
            (one.host_ranks > 1 ? ", beside " + std::to_string(one.host_ranks - 1) + " others" : "");
  if (one.budget > 0) text += " and the budget of " + bytes_text(one.budget) + " beside model states";
  text += "\n";
  const std::string when = one.program.empty() ? "per step" : "per run of the program `" + one.program + "`";
  text += work_text(one.work, when);
  for (const PlannedPlace& place : one.outside) {
    text += line("got from `" + place.name + "` " + when, place.moved.got);
    text += line("put to `" + place.name + "` " + when, place.moved.put);
  }
  if (one.host_updates.copied_out + one.host_updates.copied_in > 0) {
    text += line("copied out for updates " + when, one.host_updates.copied_out);
    text += line("copied in of updates " + when, one.host_updates.copied_in);
  }
  if (const std::string updates = host_updates_text(one.host_updates, one.why_on_device); !updates.empty())
    text += "  " + updates + "\n";
  text += moving_text(one, when);
  if (one.traffic.empty()) return text + "  sends nothing" + (one.program.empty() ? "" : " " + when) + "\n";
  text += "  sent " + when + "\n";
  for (const Traffic& sent : one.traffic) text += line("  " + sent.kind + " along " + sent.axes, sent.bytes);
  text += line("  of it while the rank computes", one.work.sent_meanwhile);
  for (const ClosedFormCost& form : one.closed_forms)
    if (form.of.starts_with("sent ")) {
      text += line("  " + form.of, static_cast<std::uint64_t>(form.planned));
      text += form_text(one, form.of, "    ");
    }
  return text;
}

/// How many alternatives are shown.
constexpr std::size_t kMostShown = 8;

std::string changes_text(const std::vector<std::string>& changes) {
  std::string text;
  for (const std::string& change : changes) text += (text.empty() ? "" : ", and ") + change;
  return text;
}

std::string advice_text(const Advice& advice, const PlannedClass& from) {
  const auto times = [](const char* what, double number, double of) {
    char text[64];
    std::snprintf(text, sizeof text, of > 0 ? ", %s %.2f times as much" : ", %s", what, number / of);
    return std::string(text);
  };
  const auto fitting = std::ranges::count_if(advice.tried, &Advice::Tried::fits);
  std::string text;
  if (fitting > 0) {
    text = "\nWhat would fit, planned, best first:\n";
    for (std::size_t i = 0; i < std::min(kMostShown, static_cast<std::size_t>(fitting)); ++i) {
      const Advice::Tried& one = advice.tried[i];
      text += "  " + changes_text(one.changes) + ": " + bytes_text(one.total) +
              times("computes", one.flops, from.work.flops) + ", sends " + bytes_text(one.sent) +
              (one.moved > 0 ? ", moves " + bytes_text(one.moved) + " per step" : "") +
              (one.other_numbers.empty() ? "" : " (other numbers: " + one.other_numbers + ")") + "\n";
    }
  } else {
    text = "\nNone of " + std::to_string(advice.tried.size()) + " other plans fits";
    if (!advice.tried.empty())
      text += "; the least is " + changes_text(advice.tried.front().changes) + ": " +
              bytes_text(advice.tried.front().total);
    text += "\n";
  }
  if (!advice.is_over) text += "  (more were not tried: each takes its time)\n";
  return text;
}

Json json_of(const Advice& advice) {
  Json tried = Json::array();
  for (const Advice::Tried& one : advice.tried)
    tried.push_back({{"changes", one.changes},
                     {"fits", one.fits},
                     {"total_bytes", one.total},
                     {"flops", json_number(one.flops)},
                     {"sent_bytes", one.sent},
                     {"moved_bytes", one.moved},
                     {"other_numbers", one.other_numbers}});
  return {{"tried", std::move(tried)}, {"refused", advice.refused}, {"is_over", advice.is_over}};
}

Json json_of(const baleen_device_limits_t& device) {
  Json json = {{"name", device.name}, {"architecture", device.architecture}, {"memory_bytes", device.memory_bytes}};
  for (const auto& [name, peak] :
       {std::pair{"bytes_per_second", device.bytes_per_second}, std::pair{"fp64_flops_per_second", device.fp64},
        std::pair{"fp32_flops_per_second", device.fp32}, std::pair{"tf32_flops_per_second", device.tf32},
        std::pair{"bf16_flops_per_second", device.bf16}, std::pair{"fp16_flops_per_second", device.fp16}})
    if (peak > 0) json[name] = json_number(peak);
  return json;
}

Json json_of(const PlannedPlace& place) {
  Json json = {
      {"member", place.name}, {"bytes", place.bytes}, {"put_bytes", place.moved.put}, {"got_bytes", place.moved.got}};
  if (!place.speed) return json;
  json["get_bytes_per_second"] = json_number(place.speed->get_bytes_per_second);
  json["put_bytes_per_second"] = json_number(place.speed->put_bytes_per_second);
  return json;
}

/// The one place, or the sums over several and `places`.
Json outside_json(const PlannedClass& one) {
  Json json = json_of(one.outside.front());
  if (one.outside.size() > 1) {
    json = {{"bytes", one.planned.at("offloaded")},
            {"put_bytes", one.offloaded.put},
            {"got_bytes", one.offloaded.got},
            {"places", Json::array()}};
    for (const PlannedPlace& place : one.outside) json["places"].push_back(json_of(place));
  }
  if (one.outside.front().speed) {
    json["host_ranks"] = one.host_ranks;
    json["least_seconds"] = json_number(moving_seconds(one));
  }
  return json;
}

Json json_of(const PlannedClass& one, bool with_device) {
  Json json = {{"count", one.ranks.count}, {"ranks", Json::array()}, {"planned_bytes", Json::object()}};
  for (const auto& [first, last] : one.ranks.stretches) json["ranks"].push_back(Json::array({first, last}));
  for (const auto& [kind, bytes] : one.planned) json["planned_bytes"][kind] = bytes;
  json["held_gradients_bytes"] = one.held_gradients;
  json["working_bytes"] = one.working.total();
  json["working_value_bytes"] = one.working.values;
  Json& sent_bytes = json["sent_bytes"] = Json::object();
  for (const Traffic& sent : one.traffic) sent_bytes[sent.kind + "." + sent.axes] = sent.bytes;
  if (!one.outside.empty()) json["offload"] = outside_json(one);
  if (const HostUpdateReport& host = one.host_updates; host.updates > 0 || !host.on_device.empty()) {
    json["host_updates"] = {{"updates", host.updates},
                            {"in_place_bytes", host.in_place_bytes},
                            {"copied_out_bytes", host.copied_out},
                            {"copied_in_bytes", host.copied_in},
                            {"on_device", host.on_device}};
    if (!host.beside_inside.empty()) json["host_updates"]["beside_states_inside"] = host.beside_inside;
    if (!one.why_on_device.empty()) json["host_updates"]["why_on_device"] = one.why_on_device;
  }
  json["sent_while_computing_bytes"] = one.work.sent_meanwhile;
  json["flops"] = json_number(one.work.flops);
  json["even_share_flops"] = json_number(one.work.even_share);
  if (one.work.recomputed > 0) json["recomputed_flops"] = json_number(one.work.recomputed);
  Json& stored = json["stored"] = Json::array();
  for (const StoredPart& part : one.stored)
    stored.push_back(
        {{"category", part.category}, {"axes", part.axes}, {"bytes", part.bytes}, {"whole_bytes", part.whole}});
  json["process_bytes"] = one.process;
  json["host_bytes"] = one.host.total();
  json["program_bytes"] = one.program_bytes;
  json["unread_file_bytes"] = one.unread_files;
  Json& forms = json["closed_forms"] = Json::array();
  for (const ClosedFormCost& form : one.closed_forms)
    forms.push_back({{"of", form.of},
                     {"planned", json_number(form.planned)},
                     {"closed_form", json_number(form.formula)},
                     {"ratio", json_number(form.ratio())},
                     {"off", form.is_off()},
                     {"formulas", form.formulas}});
  json["memory_bytes"] = one.memory;
  if (one.budget > 0) json["budget_bytes"] = one.budget;
  json["fits"] = one.fits;
  if (one.device && with_device) json["device"] = json_of(*one.device);
  return json;
}

}  // namespace

std::string with_commas(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string flops_text(double flops) {
  static constexpr const char* kUnits[] = {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP", "ZFLOP"};
  std::size_t unit = 0;
  while (flops >= 1000 && unit + 1 < std::size(kUnits)) flops /= 1000, ++unit;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", flops, kUnits[unit]);
  return text;
}

std::string ranks_text(const RankClass& ranks) {
  constexpr std::size_t kMost = 6;
  std::string text = ranks.count == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < std::min(kMost, ranks.stretches.size()); ++i) {
    const auto& [first, last] = ranks.stretches[i];
    text += (i ? ", " : "") + std::to_string(first) + (first == last ? "" : "-" + std::to_string(last));
  }
  return text + (ranks.stretches.size() > kMost ? ", ..." : "");
}

double moving_seconds(const PlannedClass& one) {
  double most = 0;
  for (const PlannedPlace& place : one.outside) {
    if (!place.speed) continue;
    // What updates on the host's cores exchange with the device goes the way of the nearest place.
    const bool is_nearest = &place == &one.outside.front();
    const std::uint64_t in = is_nearest ? one.host_updates.copied_in : 0,
                        out = is_nearest ? one.host_updates.copied_out : 0;
    const double got = static_cast<double>(place.moved.got + in) / place.speed->get_bytes_per_second;
    const double put = static_cast<double>(place.moved.put + out) / place.speed->put_bytes_per_second;
    most = std::max({most, got, put});
  }
  return static_cast<double>(one.host_ranks) * most;
}

std::string to_text(const PlanReport& report) {
  std::string text = with_commas(static_cast<std::uint64_t>(report.parameters)) + " parameters on " +
                     with_commas(static_cast<std::uint64_t>(report.ranks)) + (report.ranks == 1 ? " rank" : " ranks");
  std::string axes;
  for (const MeshAxis& axis : report.mesh.axes)
    axes += (axes.empty() ? "" : " x ") + axis.name + " " + std::to_string(axis.size);
  text += (axes.empty() ? "" : " (" + axes + ")") + ", bytes of each:\n";
  const bool differ = devices_differ(report);
  // Ranks of several classes may have equal numbers.
  std::vector<std::pair<std::string, RankClass>> tables;
  for (const PlannedClass& one : report.classes) {
    std::string numbers = numbers_text(one, report.ranks);
    if (one.device && differ) numbers += "  counted for " + device_text(one) + "\n";
    const auto same = std::ranges::find(tables, numbers, &std::pair<std::string, RankClass>::first);
    if (same == tables.end())
      tables.emplace_back(std::move(numbers), one.ranks);
    else
      same->second = joined(same->second, one.ranks);
  }
  for (const auto& [numbers, ranks] : tables) text += "\n" + heading(ranks) + numbers;
  if (!report.classes.empty() && report.classes.back().device && !differ)
    text += "\ncounted for " + device_text(report.classes.back()) + "\n";
  if (report.advice) text += advice_text(*report.advice, report.classes.front());
  for (const std::string& note : report.notes) text += (&note == &report.notes.front() ? "\n" : "") + note + "\n";
  return text;
}

Json json_of(const PlanReport& report) {
  const bool differ = devices_differ(report);
  Json json = {{"script", report.script}, {"ranks", report.ranks},    {"parameters", report.parameters},
               {"mesh", Json::array()},   {"classes", Json::array()}, {"notes", report.notes}};
  for (const MeshAxis& axis : report.mesh.axes) json["mesh"].push_back({{"name", axis.name}, {"size", axis.size}});
  for (const PlannedClass& one : report.classes) json["classes"].push_back(json_of(one, differ));
  if (!report.classes.empty() && report.classes.front().device && !differ)
    json["device"] = json_of(*report.classes.front().device);
  if (report.advice) json["advice"] = json_of(*report.advice);
  return json;
}

std::string to_json(const PlanReport& report) { return json_text(json_of(report)) + "\n"; }

}  // namespace baleen::app
