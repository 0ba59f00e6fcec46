/// \file Counts numbers that are not finite.
#include "core/runtime/first_not_finite.hpp"

#include <bit>
#include <cmath>
#include <cstring>

#include "baleen/dtype.hpp"

namespace baleen {
namespace {

/// Calls visit(exponent is full, fraction is not 0, is negative) for elements of a floating dtype: unsigned integers
/// `Bits` whose fraction has `digits` bits.
template <class Bits, class Visit>
void each_element(const std::byte* from, const OperandInfo& operand, int digits, const Visit& visit) {
  const Bits fraction = static_cast<Bits>((Bits{1} << digits) - 1);
  const Bits sign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  const Bits exponent = static_cast<Bits>(~static_cast<Bits>(fraction | sign));
  const std::size_t dims = operand.shape.size();
  std::vector<std::int64_t> index(dims, 0);
  for (std::int64_t i = 0, all = element_count(operand.shape); i < all; ++i) {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < dims; ++d) at += index[d] * operand.strides[d];
    Bits bits = 0;
    std::memcpy(&bits, from + static_cast<std::size_t>(at) * sizeof(Bits), sizeof(Bits));
    visit((bits & exponent) == exponent, (bits & fraction) != 0, (bits & sign) != 0);
    for (std::size_t d = dims; d-- > 0 && ++index[d] == operand.shape[d];) index[d] = 0;
  }
}

std::string quoted(const std::string& name) { return "`" + name + "`"; }

}  // namespace

Result<FirstNotFinite::Count> FirstNotFinite::count(const OperandInfo& operand, const void* address) {
  Count found;
  if (!is_floating(operand.dtype) || element_count(operand.shape) == 0) return found;
  std::int64_t last = 0;
  for (std::size_t d = 0; d < operand.shape.size(); ++d) last += (operand.shape[d] - 1) * operand.strides[d];
  bytes_.resize((static_cast<std::size_t>(last) + 1) * dtype_size(operand.dtype));
  const baleen_compute_t& table = device_.table();
  BALEEN_TRY(device_.check(table.copy(device_.handle(), device_.stream(), bytes_.data(), address, bytes_.size())));
  BALEEN_TRY(device_.check(table.synchronize(device_.handle(), device_.stream())));
  const auto add = [&](bool is_full, bool has_fraction, bool is_negative) {
    ++found.all;
    if (!is_full) return;
    ++(has_fraction ? found.nan : is_negative ? found.lowest : found.infinite);
  };
  switch (operand.dtype) {
    case BALEEN_F64: each_element<std::uint64_t>(bytes_.data(), operand, 52, add); break;
    case BALEEN_F16: each_element<std::uint16_t>(bytes_.data(), operand, 10, add); break;
    case BALEEN_BF16: each_element<std::uint16_t>(bytes_.data(), operand, 7, add); break;
    case BALEEN_E5M2: each_element<std::uint8_t>(bytes_.data(), operand, 2, add); break;
    case BALEEN_E4M3:  // all ones is NaN; with another fraction they are an exponent like others
      each_element<std::uint8_t>(bytes_.data(), operand, 0, [&](bool is_nan, bool, bool) { add(is_nan, true, false); });
      break;
    default: each_element<std::uint32_t>(bytes_.data(), operand, 23, add);
  }
  return found;
}

template <class Visit>
Status FirstNotFinite::each(bool written, const Executable& executable, const Instruction& instruction,
                            std::uint32_t first, void* const* addresses, const Visit& visit) {
  for (std::uint32_t i = 0; i < instruction.address_count; ++i) {
    const AddressSource& source = executable.sources[first + i];
    if (source.operand == UINT32_MAX || source.is_written != written) continue;
    const OperandInfo& operand = executable.operands[source.operand];
    BALEEN_TRY_ASSIGN(const Count counted, count(operand, addresses[i]));
    if (counted.bad() > 0) visit(operand, counted);
  }
  return {};
}

bool FirstNotFinite::sees(const Executable& executable, std::size_t segment, const BlockLaunches*) {
  const std::string& name = executable.segments[segment].name;
  pass_ = name == phase_name(Phase::forward) ? 0 : name == phase_name(Phase::update) ? 2 : 1;
  return true;
}

std::string FirstNotFinite::order() const {
  const std::optional<Found>& first = found_ ? found_ : lowered_;
  const std::string number = std::to_string(first ? first->launch : 0);
  return std::to_string(static_cast<int>(kind())) + std::to_string(first ? first->pass : 0) +
         std::string(kOrderSize - 2 - number.size(), '0') + number;
}

Status FirstNotFinite::before_launch(const Executable& executable, const Instruction& instruction, std::uint32_t first,
                                     void* const* addresses) {
  reads_bad_ = false;
  ++launch_;
  return each(false, executable, instruction, first, addresses, [&](const OperandInfo& operand, const Count& count) {
    reads_bad_ = true;
    if (operand.op.empty() && !found_)
      found_ =
          Found{persistent_.find(operand.name.str()) ? Kind::stored : Kind::given, operand, {}, count, pass_, launch_};
  });
}

Status FirstNotFinite::after_launch(const Executable& executable, const Instruction& instruction, std::uint32_t first,
                                    void* const* addresses) {
  return each(true, executable, instruction, first, addresses, [&](const OperandInfo& operand, const Count& count) {
    const Found found{count.nan + count.infinite > 0 ? Kind::made : Kind::lowered,
                      operand,
                      operand.op.empty() ? executable.labels[instruction.label] : operand.op,
                      count,
                      pass_,
                      launch_};
    std::optional<Found>& first_of_kind = found.kind == Kind::made ? found_ : lowered_;
    if (!reads_bad_ && !first_of_kind) first_of_kind = found;
    if (count.nan > 0 && !nan_) nan_ = found;
  });
}

std::string FirstNotFinite::text(const std::string& rank) const {
  const std::optional<Found>& first = found_ ? found_ : lowered_;
  if (!first) return {};
  const auto place = [](const Found& found) {
    return found.operand.where.str().empty() ? "" : " at " + found.operand.where.str();
  };
  const Count& count = first->count;
  const std::string what = count.nan > 0 ? "NaN" : count.infinite > 0 ? "infinite" : "minus infinity";
  const std::string name = first->operand.name.str();
  const std::string numbers = std::to_string(count.bad()) + " of the " + std::to_string(count.all) + " numbers of " +
                              (name.empty() ? "its result" : quoted(name));
  if (first->kind < Kind::made) return numbers + rank + " were " + what + " before the step";
  std::string text = quoted(first->op) + rank + place(*first) + " made " + numbers + " " + what;
  if (count.nan == 0 && nan_) text += ", and " + quoted(nan_->op) + place(*nan_) + " NaN of that";
  return text;
}

}  // namespace baleen
