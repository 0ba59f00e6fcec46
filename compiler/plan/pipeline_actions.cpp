/// \file What a strategy may say about the order of a rank's micro-batches.
#include <algorithm>
#include <array>

#include "compiler/plan/passes.hpp"

namespace baleen {
namespace {

static_assert(static_cast<baleen_pass_t>(MicroPart::Pass::forward) == BALEEN_PASS_FORWARD &&
              static_cast<baleen_pass_t>(MicroPart::Pass::backward) == BALEEN_PASS_BACKWARD &&
              static_cast<baleen_pass_t>(MicroPart::Pass::weight_gradients) == BALEEN_PASS_WEIGHT_GRADIENTS);

constexpr std::array<const char*, 3> kPasses = {"forward", "backward", "weight gradient"};

/// Counts what has been done, by pass and chunk: each is done in the order of micro-batches.
class ActionCheck {
 public:
  ActionCheck(const std::vector<baleen_pipeline_action_t>& actions, std::uint64_t micro_batches)
      : actions_(actions), micro_batches_(micro_batches) {}

  Status run() {
    for (const baleen_pipeline_action_t& action : actions_) {
      if (action.pass < 0 || action.pass >= static_cast<baleen_pass_t>(kPasses.size()))
        return invalid("micro-batches have no part number " + std::to_string(action.pass));
      if (action.chunk > 255)
        return invalid("a model has chunks 0 to 255 on a rank, and no chunk " + std::to_string(action.chunk));
      chunks_ = std::max(chunks_, action.chunk + 1);
      has_weights_ |= action.pass == BALEEN_PASS_WEIGHT_GRADIENTS;
    }
    for (auto& done : done_) done.assign(chunks_, 0);
    std::size_t number = 0;
    for (const baleen_pipeline_action_t& action : actions_) BALEEN_TRY(take(action, ++number));
    return check_end();
  }

 private:
  std::uint64_t done(baleen_pass_t pass, std::uint32_t chunk) const {
    return done_[static_cast<std::size_t>(pass)][chunk];
  }

  static std::string text_of(baleen_pass_t pass, std::uint32_t chunk) {
    return std::string("the ") + kPasses[static_cast<std::size_t>(pass)] + " pass of chunk " + std::to_string(chunk);
  }

  Status take(const baleen_pipeline_action_t& action, std::size_t number) {
    const baleen_pass_t pass = action.pass;
    const auto micro = action.micro_batch;
    const auto chunk = action.chunk;
    const std::string what =
        "action " + std::to_string(number) + " is " + text_of(pass, chunk) + " of micro-batch " + std::to_string(micro);
    if (micro != done(pass, chunk))
      return invalid(what + ", out of order: micro-batch " + std::to_string(done(pass, chunk)) + " is next");
    const auto needs = [&](baleen_pass_t first, std::uint32_t of) -> Status {
      if (done(first, of) > micro) return {};
      return invalid(what + ", before " + text_of(first, of));
    };
    if (pass == BALEEN_PASS_FORWARD && chunk > 0) BALEEN_TRY(needs(BALEEN_PASS_FORWARD, chunk - 1));
    if (pass == BALEEN_PASS_BACKWARD) BALEEN_TRY(needs(BALEEN_PASS_FORWARD, chunk));
    if (pass == BALEEN_PASS_BACKWARD && chunk + 1 < chunks_) BALEEN_TRY(needs(BALEEN_PASS_BACKWARD, chunk + 1));
    if (pass == BALEEN_PASS_WEIGHT_GRADIENTS) BALEEN_TRY(needs(BALEEN_PASS_BACKWARD, chunk));
    ++done_[static_cast<std::size_t>(pass)][chunk];
    return {};
  }

  Status check_end() const {
    for (const baleen_pass_t pass : {BALEEN_PASS_FORWARD, BALEEN_PASS_BACKWARD, BALEEN_PASS_WEIGHT_GRADIENTS})
      for (std::uint32_t chunk = 0; chunk < chunks_; ++chunk)
        if (done(pass, chunk) != micro_batches_ && (has_weights_ || pass != BALEEN_PASS_WEIGHT_GRADIENTS))
          return invalid("a pipeline schedule does " + text_of(pass, chunk) + " for " +
                         std::to_string(done(pass, chunk)) + " of " + std::to_string(micro_batches_) +
                         " micro-batches");
    return {};
  }

  const std::vector<baleen_pipeline_action_t>& actions_;
  const std::uint64_t micro_batches_;
  std::uint32_t chunks_ = 1;
  bool has_weights_ = false;
  std::array<std::vector<std::uint64_t>, 3> done_;
};

}  // namespace

Result<std::vector<PipelineSchedule::Action>> checked_actions(const std::vector<baleen_pipeline_action_t>& actions,
                                                              std::uint64_t micro_batches) {
  BALEEN_TRY(ActionCheck(actions, micro_batches).run());
  std::vector<PipelineSchedule::Action> checked;
  for (const baleen_pipeline_action_t& action : actions)
    checked.push_back({{static_cast<MicroPart::Pass>(action.pass), static_cast<int>(action.chunk)},
                       static_cast<std::int64_t>(action.micro_batch)});
  return checked;
}

}  // namespace baleen
