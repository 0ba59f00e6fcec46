/// \file A step whose loss or gradient is no finite number: it runs again, watched, and is taken back.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>

#include "baleen/dtype.hpp"
#include "core/runtime/first_not_finite.hpp"
#include "core/runtime/host_tensor.hpp"
#include "core/runtime/state_copy.hpp"

namespace baleen {
namespace {

/// Whether no exponent is the one of infinities and NaN, `mask`.
template <class Word>
bool has_no_such(std::span<const std::byte> bytes, Word mask) {
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(Word)) {
    Word word;
    std::memcpy(&word, &bytes[at], sizeof word);
    if ((word & mask) == mask) return false;
  }
  return true;
}

bool all_finite(baleen_dtype_t dtype, std::span<const std::byte> bytes) {
  switch (dtype) {
    case BALEEN_F64: return has_no_such<std::uint64_t>(bytes, 0x7ff0'0000'0000'0000);
    case BALEEN_F32: return has_no_such<std::uint32_t>(bytes, 0x7f80'0000);
    case BALEEN_BF16: return has_no_such<std::uint16_t>(bytes, 0x7f80);
    case BALEEN_F16: return has_no_such<std::uint16_t>(bytes, 0x7c00);
    default: {
      const auto count = static_cast<std::int64_t>(bytes.size() / dtype_size(dtype));
      return std::ranges::all_of(numbers_of({dtype, {count}, {bytes.begin(), bytes.end()}}),
                                 [](double x) { return std::isfinite(x); });
    }
  }
}

}  // namespace

Session::Impl::Impl(Device& d, Monitors& m) : device(d), monitors(m) {}
Session::Impl::~Impl() = default;

std::function<Status()> Session::Impl::gate_of(const Program& program) {
  if (options.goes_on_not_finite || find_port(program.outputs(), "applied")) return {};
  return [this, &program] { return keep_if_not_finite(program); };
}

Status Session::Impl::keep_if_not_finite(const Program& program) {
  BALEEN_TRY_ASSIGN(const double loss, get_number(program, "loss"));
  BALEEN_TRY_ASSIGN(const double norm, get_number(program, "gradient_norm"));
  before_step = std::isfinite(loss) && std::isfinite(norm) ? nullptr : StateCopy::of(*this);
  return {};
}

Result<std::vector<std::string>> Session::Impl::of_all_ranks(const std::string& text) {
  if (!options.communicator) return std::vector{text};
  if (!gather) gather = std::make_unique<ShardGather>(*options.communicator);
  return gather->run(text);
}

Result<std::string> Session::Impl::find_not_finite(Program& program, std::uint64_t step,
                                                   const std::function<Status()>& put) {
  const std::unique_ptr<StateCopy> before = std::move(before_step);
  BALEEN_TRY_ASSIGN(const std::vector<std::string> ready, of_all_ranks(before ? "ready" : "no"));
  if (std::ranges::count(ready, "ready") != std::ssize(ready)) return std::string();
  BALEEN_TRY(before->give_back(*this));
  BALEEN_TRY(put());
  FirstNotFinite watch(device, persistent);
  BALEEN_TRY(run(program, step, &watch));
  spans.clear();
  BALEEN_TRY(before->give_back(*this));
  const std::string own = options.communicator ? " of rank " + std::to_string(options.communicator->rank()) : "";
  BALEEN_TRY_ASSIGN(const std::vector<std::string> found, of_all_ranks(watch.order() + watch.text(own)));
  // Of those that are equal the first rank's.
  const std::string& best = *std::ranges::min_element(
      found, {}, [](const std::string& text) { return text.substr(0, FirstNotFinite::kOrderSize); });
  was_undone = best[0] != '0' + static_cast<char>(FirstNotFinite::Kind::stored);
  if (best.size() > FirstNotFinite::kOrderSize) return ": " + best.substr(FirstNotFinite::kOrderSize);
  if (!options.communicator) return std::string(": the results of each op were finite when it ran again");
  return std::string(": the results of each op were finite on each rank, so a sum over ranks was not");
}

Result<std::string> Session::damaged_parameter() {
  std::string damaged;
  std::vector<std::byte> block(1 << 20);
  for (const PersistentBuffer& buffer : impl_->persistent.buffers) {
    const baleen_dtype_t dtype = buffer.spec.type.dtype;
    if (buffer.spec.role != Role::parameter || !is_floating(dtype)) continue;
    for (std::uint64_t from = 0; from < buffer.bytes && damaged.empty(); from += block.size()) {
      const std::span part = std::span(block).first(std::min<std::uint64_t>(block.size(), buffer.bytes - from));
      BALEEN_TRY(read_own(buffer, from, part));
      if (!all_finite(dtype, part)) damaged = buffer.spec.name;
    }
  }
  BALEEN_TRY_ASSIGN(const std::vector<std::string> all, impl_->of_all_ranks(damaged));
  const auto first = std::ranges::find_if(all, [](const std::string& name) { return !name.empty(); });
  return first == all.end() ? std::string() : *first;
}

Result<std::string> Session::Impl::take_back(Session& session) {
  const bool was_whole = std::exchange(is_whole, false);  // until it is taken back
  std::string where;
  if (session.is_late()) {
    BALEEN_TRY_ASSIGN(const std::string damaged, session.damaged_parameter());
    was_undone = damaged.empty();
  } else {
    BALEEN_TRY_ASSIGN(where, repeat_step());
  }
  is_whole = was_whole && was_undone;
  return where;
}

Result<std::string> Session::Impl::repeat_step() {
  const std::int64_t step = steps_done - 1;
  BALEEN_TRY_ASSIGN(std::string where,
                    find_not_finite(train->program, static_cast<std::uint64_t>(step), [&]() -> Status {
                      const BatchShare& share = shares.at(train->name);
                      const std::int64_t row = position - options.batch;
                      BALEEN_TRY_ASSIGN(Batch batch, data->read(BALEEN_TRAIN, row, share.rows(), options.dtype));
                      BALEEN_TRY(put_batch(train->program, share, std::move(batch)));
                      const auto scalars = put_scalars(*train, step);
                      return scalars ? Status() : scalars.error();
                    }));
  if (was_undone) {
    steps_done = step;
    undone_rows = options.batch;
  }
  return where;
}

}  // namespace baleen
