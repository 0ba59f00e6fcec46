#include "marks.hpp"

#include <algorithm>
#include <charconv>
#include <set>

namespace baleen::pipeline {
namespace {

std::string number(std::uint32_t stage) { return std::to_string(stage + 1); }

/// A layer that lies in two stages becomes two, where it is no block; a block is refused.
Result<std::vector<Layer>> split_by_marks(std::vector<Layer>&& layers, GraphView& graph) {
  std::vector<Layer> split;
  for (Layer& layer : layers) {
    std::optional<Mark> now;
    Layer part{layer.names, {}, {}};
    std::string block;  // the one that `now` was met in
    for (const baleen_op_t id : layer.ops) {
      const auto mark = mark_of(graph, id);
      const std::string own(graph.tag(id, "block"));
      if (mark && now && mark->stage != now->stage) {
        if (!own.empty() && own == block)
          return invalid("`" + std::string(graph.op(id)->name()) + "` stands in a block that stage " +
                             number(now->stage) +
                             " has a part of already; a stage has whole blocks: put parallel.stage " +
                             "around the block, not inside it",
                         mark->where);
        split.push_back(std::exchange(part, Layer{layer.names, {}, {}}));
      }
      if (mark) {
        now = mark;
        block = own;
      }
      part.ops.push_back(id);
    }
    split.push_back(std::move(part));
  }
  return split;
}

/// The place of a stage that is missing, or one too many.
Error wrong_number(const std::set<std::uint32_t>& found, std::uint32_t stages, const std::string& where) {
  const auto count = std::to_string(found.empty() ? 0 : *found.rbegin() + 1);
  return invalid("the script marks " + count + " stages, and the plan has " + std::to_string(stages) +
                     ": ranks along the axis times chunks on each; mark " + std::to_string(stages) +
                     ", or none to have the model cut by its costs",
                 where);
}

}  // namespace

std::optional<Mark> mark_of(GraphView& graph, baleen_op_t id) {
  const std::string_view text = graph.tag(id, "stage");
  Mark mark;
  if (text.empty() || std::from_chars(text.data(), text.data() + text.size(), mark.stage).ec != std::errc() ||
      mark.stage == 0)
    return std::nullopt;
  --mark.stage;
  mark.where = graph.tag(id, "stage_where");
  return mark;
}

Result<std::vector<std::uint32_t>> marked_stages(std::vector<Layer>& layers, GraphView graph, std::uint32_t stages) {
  std::set<std::uint32_t> found;
  std::string where;
  for (const Layer& layer : layers)
    for (const baleen_op_t id : layer.ops)
      if (const auto mark = mark_of(graph, id)) {
        found.insert(mark->stage);
        if (where.empty() || mark->stage + 1 >= stages) where = mark->where;
      }
  if (found.empty()) return std::vector<std::uint32_t>{};
  if (found.size() != stages || *found.rbegin() + 1 != stages) return wrong_number(found, stages, where);
  BALEEN_TRY_ASSIGN(layers, split_by_marks(std::move(layers), graph));
  std::vector<std::uint32_t> result;
  std::map<baleen_value_t, std::uint32_t> made_in;
  std::uint32_t now = 0;
  for (const Layer& layer : layers) {
    std::optional<Mark> mark;
    for (const baleen_op_t id : layer.ops)
      if (!mark) mark = mark_of(graph, id);
    now = mark ? mark->stage : now;
    result.push_back(now);
    for (const baleen_op_t id : layer.ops) {
      const auto op = graph.op(id);
      for (const baleen_value_t v : op->inputs())
        if (const auto made = made_in.find(v); made != made_in.end() && made->second > now)
          return invalid("`" + std::string(op->name()) + "` of stage " + number(now) + " reads what stage " +
                             number(made->second) +
                             " makes, which it cannot receive: stages send to later ones only; "
                             "give it a later stage, or the other one an earlier one",
                         mark ? mark->where : where);
      for (const baleen_value_t v : op->outputs()) made_in[v] = now;
    }
  }
  return result;
}

}  // namespace baleen::pipeline
