/// \file A step whose loss or gradient is no finite number: it runs again, watched, and is taken back.
#include <algorithm>
#include <cmath>

#include "core/runtime/first_not_finite.hpp"
#include "core/runtime/state_copy.hpp"

namespace baleen {

Session::Impl::Impl(Device& d, Monitors& m) : device(d), monitors(m) {}
Session::Impl::~Impl() = default;

Status Session::Impl::keep_if_not_finite(const Program& program) {
  BALEEN_TRY_ASSIGN(const double loss, get_number(program, "loss"));
  BALEEN_TRY_ASSIGN(const double norm, get_number(program, "gradient_norm"));
  if (!std::isfinite(loss) || !std::isfinite(norm)) before_step = StateCopy::of(*this);
  return {};
}

Result<std::vector<std::string>> Session::Impl::of_all_ranks(const std::string& text) {
  if (!options.communicator) return std::vector{text};
  if (!gather) gather = std::make_unique<ShardGather>(*options.communicator);
  return gather->run(text);
}

Result<std::string> Session::Impl::find_not_finite() {
  BALEEN_TRY_ASSIGN(const std::vector<std::string> ready, of_all_ranks(before_step ? "ready" : "no"));
  if (std::ranges::count(ready, "ready") != std::ssize(ready)) return std::string();
  BALEEN_TRY(before_step->give_back(*this));
  --steps_done;
  const BatchShare& share = shares.at(train->name);
  BALEEN_TRY_ASSIGN(Batch batch,
                    data->read(BALEEN_TRAIN, reader->position() - options.batch, share.rows(), options.dtype));
  BALEEN_TRY(put_batch(train->program, share, std::move(batch)));
  if (auto scalars = put_scalars(*train, steps_done); !scalars) return std::move(scalars).error();
  FirstNotFinite watch(device, persistent);
  BALEEN_TRY(run(train->program, static_cast<std::uint64_t>(steps_done), &watch));
  spans.clear();
  BALEEN_TRY(before_step->give_back(*this));
  const std::string own = options.communicator ? " of rank " + std::to_string(options.communicator->rank()) : "";
  BALEEN_TRY_ASSIGN(const std::vector<std::string> found,
                    of_all_ranks(std::to_string(static_cast<int>(watch.kind())) + watch.text(own)));
  // The surest kind comes first, and of that the first rank.
  const std::string& best = *std::ranges::min_element(found, {}, [](const std::string& text) { return text[0]; });
  was_undone = best[0] != '0' + static_cast<char>(FirstNotFinite::Kind::stored);
  if (best.size() > 1) return ": " + best.substr(1);
  return std::string(": the results of each op were finite on each rank, so a sum over ranks was not");
}

}  // namespace baleen
