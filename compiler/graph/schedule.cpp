/// \file An op's schedule as the text of its tags, and the tags that are of its schedule.
#include "compiler/graph/schedule.hpp"

#include <algorithm>

#include "compiler/graph/graph.hpp"

namespace baleen {
namespace {

template <class T, class Text>
std::string joined(const std::vector<T>& items, const char* separator, Text&& text) {
  std::string all;
  for (const T& item : items) all += (&item == items.data() ? "" : separator) + text(item);
  return all;
}

}  // namespace

std::map<std::string, std::string> shown_tags(const Op& op) {
  std::map<std::string, std::string> tags = op.tags;
  const OpSchedule& s = op.schedule;
  const auto number = [](std::size_t n) { return std::to_string(n); };
  if (s.bucket) {
    tags["bucket"] = number(s.bucket->number);
    for (const int loop : s.bucket->loops) tags["bucket"] += "/" + std::to_string(loop);
  }
  if (s.begins_here) tags["begin_here"] = "";
  for (const OpId other : s.must_complete_before) tags["must_complete_before"] += std::to_string(other) + ",";
  if (s.every_micro_batch) tags["every_micro_batch"] = "";
  if (s.recomputed) tags["recomputed"] = "";
  if (s.chunk) tags["chunk"] = std::to_string(*s.chunk);
  if (s.no_fuse) tags["no_fuse"] = "";
  if (s.whole) tags["whole"] = "";
  if (s.compute_copy) tags["compute_copy"] = *s.compute_copy;
  if (!s.owner.empty()) {
    tags["offer"] = s.offer;
    tags["owner"] = s.owner;
  }
  if (!s.annotations.empty())
    tags["parallel"] = joined(s.annotations, ";", [&](const auto& list) { return joined(list, ",", number); });
  for (const auto& [result, names] : s.names)
    tags["result." + std::to_string(result)] = joined(names, ",", [](const std::string& name) { return name; });
  return tags;
}

Status set_tag(Op& op, const std::string& key, std::string text) {
  constexpr const char* kSaidOtherwise[] = {"bucket",     "begin_here", "must_complete_before",
                                            "recomputed", "chunk",      "every_micro_batch",
                                            "offer",      "owner",      "parallel"};
  if (std::ranges::find(kSaidOtherwise, key) != std::end(kSaidOtherwise))
    return invalid("the tag \"" + key +
                   "\" is of an op's schedule, which the verbs of `place`, `recompute` and `schedule` set; give "
                   "the tag another name");
  if (key == "no_fuse")
    op.schedule.edit().no_fuse = true;
  else if (key == "whole")
    op.schedule.edit().whole = true;
  else if (key == "compute_copy")
    op.schedule.edit().compute_copy = std::move(text);
  else
    op.tags.edit()[key] = std::move(text);
  return {};
}

}  // namespace baleen
