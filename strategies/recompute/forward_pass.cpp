/// \file Reads the forward pass from a graph, and reckons what is kept of it.
#include "forward_pass.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace baleen::recompute {

using namespace sdk;

namespace {

/// Reads one graph.
class Reader {
 public:
  Reader(GraphView& graph, const Recomputing& recompute) : graph_(graph), recompute_(recompute) {}

  std::vector<ForwardOp> run() {
    std::vector<baleen_op_t> order;
    bool has_backward = false;
    for (baleen_op_t id = 0; id < graph_.op_count(); ++id) {
      if (recompute_.position(id) == BALEEN_NONE) continue;
      const baleen_phase_t phase = graph_.info(id).phase;
      has_backward = has_backward || phase == BALEEN_PHASE_BACKWARD;
      if (phase == BALEEN_PHASE_FORWARD && !is_source(id)) order.push_back(id);
    }
    if (!has_backward) return {};
    std::ranges::sort(order, {}, [&](baleen_op_t id) { return recompute_.position(id); });
    std::vector<ForwardOp> ops;
    for (const baleen_op_t id : order) {
      ops.push_back(read(id));
      places_[id] = ops.size() - 1;
    }
    return ops;
  }

 private:
  bool is_source(baleen_op_t id) {
    return (graph_.info(id).traits & BALEEN_TRAIT_STRUCTURAL) != 0 && graph_.op(id)->inputs().empty();
  }

  ForwardOp read(baleen_op_t id) {
    ForwardOp made;
    made.id = id;
    made.block = graph_.tag(id, "block");
    made.flops = recompute_.flops(id);
    const baleen_traits_t traits = graph_.info(id).traits;
    std::vector<baleen_value_t> inputs, outputs;
    {
      const auto op = graph_.op(id);
      made.kind = op->kind();
      made.name = op->name();
      inputs.assign(op->inputs().begin(), op->inputs().end());
      outputs.assign(op->outputs().begin(), op->outputs().end());
    }
    const bool structural = (traits & BALEEN_TRAIT_STRUCTURAL) != 0;
    made.view = (traits & BALEEN_TRAIT_VIEW) != 0 && inputs.size() == 1;
    made.converts = inputs.size() == 1 && (made.view || structural || is_cast(traits, inputs[0], outputs[0]));
    // What depends on parameters alone is a model state, and computed once per step.
    if (!inputs.empty() && std::ranges::all_of(inputs, [&](auto v) { return is_of_parameters(v); }))
      of_parameters_.insert({id, true});
    const bool state = of_parameters_.contains(id);
    made.lowered = !graph_.tag(id, "owner").empty();
    // What other ranks of a pipeline sent is kept: they are at other micro-batches by now, and would have to send
    // again.
    made.eligible = !state && !made.lowered && made.kind != "send";
    for (const baleen_value_t v : inputs)
      if (const auto found = places_.find(graph_.value(v).producer); found != places_.end())
        made.reads.push_back({found->second, number_of(v)});
    if (made.view && made.reads.empty()) made.eligible = false;
    for (const baleen_value_t v : outputs)
      made.results.push_back({made.view || state ? 0 : bytes_of(v), is_read_backward(v)});
    return made;
  }

  bool is_of_parameters(baleen_value_t v) const {
    const baleen_value_info_t value = graph_.value(v);
    return value.role == BALEEN_ROLE_PARAMETER || value.role == BALEEN_ROLE_STATE ||
           of_parameters_.contains(value.producer);
  }

  bool is_cast(baleen_traits_t traits, baleen_value_t from, baleen_value_t to) const {
    return (traits & BALEEN_TRAIT_POINTWISE) != 0 && graph_.value(from).dtype != graph_.value(to).dtype;
  }

  std::size_t number_of(baleen_value_t v) {
    const auto op = graph_.op(graph_.value(v).producer);
    const auto outputs = op->outputs();
    return static_cast<std::size_t>(std::ranges::find(outputs, v) - outputs.begin());
  }

  std::uint64_t bytes_of(baleen_value_t v) const { return recompute_.local_bytes(v) / recompute_.micro_batches(); }

  bool is_read_backward(baleen_value_t v) const {
    const baleen_value_info_t value = graph_.value(v);
    return std::any_of(value.users, value.users + value.user_count,
                       [&](baleen_op_t user) { return graph_.info(user).phase == BALEEN_PHASE_BACKWARD; });
  }

  GraphView& graph_;
  const Recomputing& recompute_;
  std::map<baleen_op_t, std::size_t> places_;
  std::map<baleen_op_t, bool> of_parameters_;
};

}  // namespace

ForwardPass ForwardPass::of(GraphView graph, const Recomputing& recompute) {
  return ForwardPass(Reader(graph, recompute).run());
}

ForwardPass::ForwardPass(std::vector<ForwardOp> ops) : ops_(std::move(ops)) {
  for (std::size_t i = 0; i < ops_.size(); ++i)
    for (const Read& read : ops_[i].reads)
      if (auto& readers = ops_[read.op].readers; readers.empty() || readers.back() != i) readers.push_back(i);
}

Chosen ForwardPass::needed(Chosen wanted) const {
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    if (ops_[i].view) wanted[i] = !ops_[i].reads.empty() && wanted[ops_[i].reads[0].op];
    wanted[i] = wanted[i] && ops_[i].eligible;
  }
  for (std::size_t i = ops_.size(); i-- > 0;) {
    if (!wanted[i]) continue;
    const ForwardOp& op = ops_[i];
    wanted[i] = std::ranges::any_of(op.results, &Made::read_backward) ||
                std::ranges::any_of(op.readers, [&](std::size_t reader) { return wanted[reader] != 0; });
  }
  return wanted;
}

double ForwardPass::flops(const Chosen& needed) const {
  double sum = 0;
  for (std::size_t i = 0; i < ops_.size(); ++i)
    if (needed[i]) sum += ops_[i].flops;
  return sum;
}

std::uint64_t ForwardPass::bytes(std::size_t op) const {
  std::uint64_t sum = 0;
  for (const Made& made : ops_[op].results) sum += made.bytes;
  return sum;
}

std::vector<std::uint64_t> ForwardPass::kept_by_op(const Chosen& needed) const {
  std::vector<std::vector<char>> is_read(ops_.size());
  for (std::size_t i = 0; i < ops_.size(); ++i)
    for (const Made& made : ops_[i].results) is_read[i].push_back(made.read_backward);
  std::vector<std::uint64_t> all(ops_.size(), 0);
  for (std::size_t i = ops_.size(); i-- > 0;) {
    const bool shows = ops_[i].view && is_read[i][0];  // what a kept view shows is kept
    if (needed[i] || shows)
      for (const Read& read : ops_[i].reads) is_read[read.op][read.result] = 1;
    if (needed[i]) continue;
    for (std::size_t r = 0; r < is_read[i].size(); ++r)
      if (is_read[i][r]) all[i] += ops_[i].results[r].bytes;
  }
  return all;
}

std::uint64_t ForwardPass::kept(const Chosen& needed) const {
  std::uint64_t sum = 0;
  for (const std::uint64_t bytes : kept_by_op(needed)) sum += bytes;
  return sum;
}

Chosen ForwardPass::without_useless(Chosen wanted) const {
  wanted = needed(std::move(wanted));
  std::uint64_t bytes = kept(wanted);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = ops_.size(); i-- > 0;) {
      if (!wanted[i] || ops_[i].view) continue;
      Chosen fewer = wanted;
      fewer[i] = 0;
      fewer = needed(std::move(fewer));
      const std::uint64_t without = kept(fewer);
      if (without > bytes) continue;
      wanted = std::move(fewer);
      bytes = without;
      changed = true;
    }
  }
  return wanted;
}

std::vector<baleen_op_t> ForwardPass::ids(const Chosen& chosen) const {
  std::vector<baleen_op_t> list;
  for (std::size_t i = 0; i < ops_.size(); ++i)
    if (chosen[i]) list.push_back(ops_[i].id);
  return list;
}

}  // namespace baleen::recompute
