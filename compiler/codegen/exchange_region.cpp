/// \file Collectives between values of a local region: equal parts, joined or cut as their attributes say.
#include "compiler/codegen/exchange.hpp"

namespace baleen {
namespace {

baleen_reduction_t reduction_named(const Attributes& attributes) {
  return attributes.has("reduction") && attributes.text("reduction") == "max" ? BALEEN_MAXIMUM : BALEEN_SUM;
}

}  // namespace

Result<LowValue> Exchange::in_region(LowValue x, const ResultSpec& y) {
  const std::string& kind = op_.kind->name;
  const auto is = [&](CollectiveOp collective) { return kind == to_string(collective); };
  const Attributes& attributes = op_.attributes;
  if (attributes.has("size") && attributes.integer("size") != members())
    return refuse("`size` is " + std::to_string(attributes.integer("size")) + ", and " + std::to_string(members()) +
                  " ranks take part");
  if (attributes.has("root") && (attributes.integer("root") < 0 || attributes.integer("root") >= members()))
    return refuse("`root` is " + std::to_string(attributes.integer("root")) + ", and " + std::to_string(members()) +
                  " ranks take part");
  if (is(CollectiveOp::all_reduce)) {
    LoweredCall call = new_call(BALEEN_ALL_REDUCE, static_cast<std::uint64_t>(element_count(packer_.shape(x))));
    call.reduction = reduction_named(attributes);
    return packer_.call(std::move(call), x, y);
  }
  if (is(CollectiveOp::reduce)) return reduce(x, attributes.integer("root"), BALEEN_SUM, y);
  if (is(CollectiveOp::broadcast)) return broadcast(x, attributes.integer("root"), y);
  if (is(CollectiveOp::all_to_all)) return local_all_to_all(x, y);
  if (kind == "permute") return permute(x, y);
  const bool gathers = is(CollectiveOp::all_gather);
  if (!gathers && !is(CollectiveOp::reduce_scatter)) return refuse("it does not stand in local regions");
  const auto dim = static_cast<std::size_t>(attributes.integer("dim"));
  BALEEN_TRY_ASSIGN(LowValue rows, packer_.to_front(x, dim));
  if (gathers) {
    BALEEN_TRY_ASSIGN(rows, gather_rows(rows, packer_.shape(rows)[0] * members()));
  } else {
    BALEEN_TRY_ASSIGN(rows, scatter_rows(rows, BALEEN_SUM));
  }
  BALEEN_TRY_ASSIGN(rows, packer_.from_front(rows, dim));
  return packer_.finish(rows, y);
}

Result<LowValue> Exchange::local_all_to_all(LowValue x, const ResultSpec& y) {
  const auto joined = static_cast<std::size_t>(op_.attributes.integer("from_dim")),
             cut = static_cast<std::size_t>(op_.attributes.integer("to_dim"));
  Shape part = packer_.shape(x);
  part[cut] /= members();
  const auto count = static_cast<std::uint64_t>(element_count(part));
  LoweredCall call = new_call(BALEEN_ALL_TO_ALL);
  std::vector<LowValue> messages, parts;
  for (std::int64_t m = 0; m < members(); ++m) {
    BALEEN_TRY_ASSIGN(const LowValue piece, packer_.slice(x, cut, {m * part[cut], (m + 1) * part[cut]}));
    BALEEN_TRY_ASSIGN(const LowValue row, packer_.flat(piece));
    messages.push_back(row);
    call.entries[0].sends.push_back(count);
    call.entries[0].receives.push_back(count);
  }
  BALEEN_TRY_ASSIGN(const LowValue packed, packer_.concat(messages, 0));
  BALEEN_TRY_ASSIGN(const LowValue received, packer_.call(std::move(call), packed, packer_.shape(packed)));
  for (std::int64_t m = 0; m < members(); ++m) {
    const auto length = static_cast<std::int64_t>(count);
    BALEEN_TRY_ASSIGN(const LowValue row, packer_.slice(received, 0, {m * length, (m + 1) * length}));
    BALEEN_TRY_ASSIGN(const LowValue piece, packer_.reshape(row, part));
    parts.push_back(piece);
  }
  BALEEN_TRY_ASSIGN(const LowValue whole, packer_.concat(parts, joined));
  return packer_.finish(whole, y);
}

Result<LowValue> Exchange::permute(LowValue x, const ResultSpec& y) {
  LoweredCall call = new_call(BALEEN_PERMUTE, static_cast<std::uint64_t>(element_count(packer_.shape(x))));
  const std::int64_t shift = op_.attributes.integer("shift");
  for (std::int64_t m = 0; m < members(); ++m)
    call.destinations.push_back(static_cast<std::int32_t>(((m + shift) % members() + members()) % members()));
  return packer_.call(std::move(call), x, y);
}

}  // namespace baleen
