/// \file A strategy that keeps what is held at once in the forward and backward pass within a budget of bytes: the
/// forward pass is cut into segments, and of the first ones only what later segments read is kept (Chen et al.,
/// arXiv 1604.06174). Ops that are cheap run again first, products where that is not enough.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "baleen/strategy.hpp"

BALEEN_DESCRIPTOR("strategy", "budget", "1.0.0", "Apache-2.0", "Activations within a budget of bytes", 0, "",
                  BALEEN_OPTION("budget", BALEEN_OPTION_INT, BALEEN_OPTION_REQUIRED, 1, 9e15, "", "", "",
                                "bytes that a rank may hold at once beside model states"));

namespace {

using namespace baleen;
using namespace baleen::sdk;

/// The forward pass in its order of execution.
class Forward {
 public:
  Forward(GraphView& graph, const Recomputing& recompute) {
    for (const baleen_op_t id : graph.ordered())
      if (recompute.position(id) != BALEEN_NONE) {
        const baleen_op_info_t info = graph.info(id);
        has_backward_ = has_backward_ || info.phase == BALEEN_PHASE_BACKWARD;
        if (info.phase == BALEEN_PHASE_FORWARD && !graph.op(id)->inputs().empty()) ops_.push_back({id, info.traits});
      }
    std::sort(ops_.begin(), ops_.end(),
              [&](const One& a, const One& b) { return recompute.position(a.op) < recompute.position(b.op); });
    for (std::size_t i = 0; i < ops_.size(); ++i) at_[ops_[i].op] = i;
    for (One& one : ops_) read(one, graph, recompute);
  }

  bool has_backward() const { return has_backward_; }
  std::size_t size() const { return ops_.size(); }

  /// Where each of `segments` ends: near equal shares of what is made, where the fewest bytes go on to later ops.
  std::vector<std::size_t> ends(std::size_t segments) const {
    std::vector<std::uint64_t> made{0};
    for (const One& one : ops_) made.push_back(made.back() + one.bytes);
    const auto at_share = [&](double share) {
      const auto wanted = static_cast<std::uint64_t>(share * static_cast<double>(made.back()));
      return static_cast<std::size_t>(std::lower_bound(made.begin(), made.end() - 1, wanted) - made.begin());
    };
    std::vector<std::size_t> ends;
    for (std::size_t k = 1; k < segments; ++k) {
      const double share = static_cast<double>(k) / static_cast<double>(segments);
      const double half = 0.5 / static_cast<double>(segments);
      std::size_t best = at_share(share);
      for (std::size_t at = at_share(share - half) + 1; at < at_share(share + half); ++at)
        if (crossing(at) < crossing(best)) best = at;
      if (ends.empty() || best > ends.back()) ends.push_back(best);
    }
    return ends;
  }

  /// What runs again so that of everything before `ends.back()` only what is read behind its own segment is kept.
  std::vector<baleen_op_t> again(std::span<const std::size_t> ends, bool products) const {
    std::set<std::size_t> kept;
    std::size_t segment = 0;
    for (std::size_t i = 0; !ends.empty() && i < ends.back(); ++i) {
      while (i >= ends[segment]) ++segment;
      const bool read_later = ops_[i].last_reader >= ends[segment];
      if (!ops_[i].eligible || (!products && (ops_[i].traits & BALEEN_TRAIT_PRODUCT)) || read_later) keep(i, kept);
    }
    std::vector<baleen_op_t> list;
    for (std::size_t i = 0; !ends.empty() && i < ends.back(); ++i)
      if (!kept.contains(i)) list.push_back(ops_[i].op);
    return list;
  }

 private:
  struct One {
    baleen_op_t op = BALEEN_NONE;
    baleen_traits_t traits = 0;
    std::uint64_t bytes = 0;
    std::size_t last_reader = 0;           ///< the last forward op that reads a result
    std::vector<std::size_t> viewed = {};  ///< the op whose elements a view shows
    bool eligible = false;
  };

  void read(One& one, GraphView& graph, const Recomputing& recompute) {
    one.eligible = !(one.traits & BALEEN_TRAIT_STRUCTURAL) && graph.tag(one.op, "owner").empty();
    const auto op = graph.op(one.op);
    const std::vector<baleen_value_t> inputs(op->inputs().begin(), op->inputs().end());
    const std::vector<baleen_value_t> outputs(op->outputs().begin(), op->outputs().end());
    if (one.traits & BALEEN_TRAIT_VIEW)
      for (const baleen_value_t v : inputs)
        if (const auto found = at_.find(graph.value(v).producer); found != at_.end())
          one.viewed.push_back(found->second);
    for (const baleen_value_t v : outputs) {
      if (!(one.traits & BALEEN_TRAIT_VIEW)) one.bytes += recompute.local_bytes(v);
      const baleen_value_info_t info = graph.value(v);
      for (std::uint64_t u = 0; u < info.user_count; ++u)
        if (const auto found = at_.find(info.users[u]); found != at_.end())
          one.last_reader = std::max(one.last_reader, found->second);
    }
  }

  /// Bytes that are made before `at` and read from there on by forward ops.
  std::uint64_t crossing(std::size_t at) const {
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < at; ++i)
      if (ops_[i].last_reader >= at) bytes += ops_[i].bytes;
    return bytes;
  }

  void keep(std::size_t i, std::set<std::size_t>& kept) const {
    if (!kept.insert(i).second) return;
    for (const std::size_t shown : ops_[i].viewed) keep(shown, kept);
  }

  std::vector<One> ops_;
  std::map<baleen_op_t, std::size_t> at_;
  bool has_backward_ = false;
};

class Budget : public Strategy {
 public:
  static Result<std::unique_ptr<Budget>> create(const Host&, const Settings& settings, MeshView) {
    return std::make_unique<Budget>(static_cast<std::uint64_t>(settings.integer("budget")));
  }
  explicit Budget(std::uint64_t budget) : budget_(budget) {}

  bool claims(std::uint32_t) const override { return false; }

  Status recompute(GraphView graph, Recomputing recompute) override {
    const Forward forward(graph, recompute);
    if (!forward.has_backward()) return {};
    const std::uint64_t without = recompute.peak({});
    if (without <= budget_) return {};
    std::uint64_t least = without;
    for (const bool products : {false, true}) {
      const std::vector<std::size_t> ends = best_ends(forward, recompute, products, least);
      const std::vector<baleen_op_t> all = forward.again(ends, products);
      if (recompute.peak(all) > budget_) continue;
      const std::vector<baleen_op_t> ops = fewest(forward, recompute, ends, products);
      recompute.note(std::to_string(ops.size()) + " of " + std::to_string(forward.size()) +
                     " forward ops run again: at most " + std::to_string(recompute.peak(ops)) +
                     " bytes at once in place of " + std::to_string(without));
      recompute.recompute(ops);
      return {};
    }
    return Error{BALEEN_NO_MEMORY,
                 "`budget` is " + std::to_string(budget_) + " bytes, and the forward and backward pass hold " +
                     std::to_string(least) + " at once though all that may runs again (" + std::to_string(without) +
                     " where nothing does); give a budget of " + std::to_string(least) +
                     ", more micro-batches or more ranks along an axis that cuts the batch",
                 {}};
  }

 private:
  /// The segments that hold the least; `least` becomes what they hold, where that is less.
  static std::vector<std::size_t> best_ends(const Forward& forward, const Recomputing& recompute, bool products,
                                            std::uint64_t& least) {
    std::vector<std::size_t> best;
    std::uint64_t held = UINT64_MAX;
    for (const std::size_t segments : {2, 3, 4, 6, 8, 12, 16, 24, 32, 48}) {
      if (2 * segments > forward.size()) break;
      const std::vector<std::size_t> ends = forward.ends(segments);
      const std::uint64_t bytes = recompute.peak(forward.again(ends, products));
      if (bytes < held) {
        held = bytes;
        best = ends;
      }
    }
    least = std::min(least, held);
    return best;
  }

  /// As few of the first segments as the budget allows; all of them are enough.
  std::vector<baleen_op_t> fewest(const Forward& forward, const Recomputing& recompute,
                                  std::span<const std::size_t> ends, bool products) const {
    std::size_t low = 0, high = ends.size();
    while (low + 1 < high) {
      const std::size_t middle = (low + high) / 2;
      (recompute.peak(forward.again(ends.first(middle), products)) <= budget_ ? high : low) = middle;
    }
    return forward.again(ends.first(high), products);
  }

  const std::uint64_t budget_;
};

}  // namespace

BALEEN_STRATEGY(Budget);
