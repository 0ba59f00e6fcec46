/// \file Digests of some rows.
#include "frontend/engine/data_check.hpp"

#define XXH_STATIC_LINKING_ONLY  // the state's size
#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "core/runtime/count.hpp"

namespace baleen::app {
namespace {

/// So many that another order has other ones among them, however few rows there are.
constexpr std::int64_t kRows = 8;

}  // namespace

Result<std::uint64_t> DataCheck::digest(baleen_split_t part) const {
  const Dataset& data = *session_.data();
  const std::int64_t first = part == BALEEN_TRAIN ? first_ : 0;
  const std::int64_t count = part == BALEEN_TRAIN ? kRows : std::min(kRows, data.info().rows[part]);
  BALEEN_TRY_ASSIGN(const Batch rows, data.read(part, first, count, BALEEN_F32));
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  for (const std::vector<std::byte>& field : rows) XXH3_64bits_update(&state, field.data(), field.size());
  return XXH3_64bits_digest(&state);
}

void DataCheck::before_step() {
  if (std::exchange(has_begun_, true) || !session_.data()) return;
  first_ = session_.position();
  for (const baleen_split_t part : {BALEEN_TRAIN, BALEEN_HELD_OUT})
    if (session_.data()->info().rows[part] > 0)
      if (const auto found = digest(part)) digests_[part] = *found;
}

Status DataCheck::after_step() const {
  const std::int64_t step = session_.steps_done();
  return every_ > 0 && (step % every_ == 0 || step == session_.steps()) ? compare() : Status();
}

Status DataCheck::compare() const {
  for (const baleen_split_t part : {BALEEN_TRAIN, BALEEN_HELD_OUT}) {
    if (!digests_[part]) continue;
    const auto found = digest(part);
    if (!found || *found == *digests_[part]) continue;  // what cannot be read ends a training by itself, and no save
    return Error{
        BALEEN_DAMAGED,
        std::string("the data set gives other rows ") + (part == BALEEN_TRAIN ? "to train on" : "that are held out") +
            " than it gave before the first step, found after step " + std::to_string(session_.steps_done()) +
            kLostBit +
            "; a data plugin whose rows depend on more than seed and position takes `check = { memory = false }`",
        {}};
  }
  return {};
}

}  // namespace baleen::app
