/// \file The order of calls of the transport.
#include <map>

#include "compiler/codegen/passes.hpp"

namespace baleen {

namespace {

/// Which collective ops run as one call, in the order in which the calls begin: that of the ops, so that it is the same
/// on all ranks whatever kernels they have. A bucket stands where its last member stands, or where a member's result is
/// first needed.
class CallOrder {
 public:
  explicit CallOrder(const Lowered& lowered) : lowered_(lowered) {
    for (const LoweredSection& section : lowered.sections)
      for (LowOp op : section.ops)
        if (const auto bucket = bucket_of(op)) ++open_[*bucket];
  }

  std::vector<std::vector<LowOp>> run() {
    for (const LoweredSection& section : lowered_.sections)
      for (LowOp number : section.ops) visit(number);
    return std::move(calls_);
  }

 private:
  using Bucket = OpSchedule::Bucket;

  std::optional<Bucket> bucket_of(LowOp number) const {
    const LoweredOp& op = lowered_.ops[number];
    return op.means == LoweringKind::collective ? op.op.schedule->bucket : std::nullopt;
  }

  void visit(LowOp number) {
    const Op& op = lowered_.ops[number].op;
    for (LowValue v : op.inputs)
      if (auto made = bucket_making_.find(v); made != bucket_making_.end()) {
        // The result of a call is contiguous, so reshaping it is a view and reads nothing, on any rank.
        if (op.kind->name == "reshape")
          bucket_making_[op.outputs[0]] = made->second;
        else
          close(made->second);
      }
    if (lowered_.ops[number].means != LoweringKind::collective) return;
    const auto bucket = bucket_of(number);
    if (!bucket) {
      calls_.push_back({number});
      return;
    }
    waiting_[*bucket].push_back(number);
    for (LowValue v : lowered_.ops[number].op.outputs) bucket_making_[v] = *bucket;
    if (--open_[*bucket] == 0) close(*bucket);
  }

  void close(const Bucket& bucket) {
    if (auto members = std::exchange(waiting_[bucket], {}); !members.empty()) calls_.push_back(std::move(members));
  }

  const Lowered& lowered_;
  std::map<Bucket, std::size_t> open_;  ///< members still to come
  std::map<Bucket, std::vector<LowOp>> waiting_;
  std::map<LowValue, Bucket> bucket_making_;
  std::vector<std::vector<LowOp>> calls_;
};

}  // namespace

std::vector<std::vector<LowOp>> order_calls(const Lowered& lowered) { return CallOrder(lowered).run(); }

}  // namespace baleen
