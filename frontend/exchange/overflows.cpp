/// \file Compares numbers before and after they are converted.
#include "frontend/exchange/overflows.hpp"

#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "baleen/dtype.hpp"

namespace baleen {

Result<HostTensor> Overflows::convert(const std::string& name, HostTensor tensor, baleen_dtype_t dtype) {
  const bool holds_all =
      dtype == tensor.dtype || dtype == BALEEN_F64 || (dtype == BALEEN_F32 && tensor.dtype != BALEEN_F64);
  if (holds_all || !is_floating(tensor.dtype)) return with_dtype(std::move(tensor), dtype);
  const std::vector<double> before = numbers_of(tensor);
  BALEEN_TRY_ASSIGN(HostTensor made, with_dtype(std::move(tensor), dtype));
  const std::vector<double> after = numbers_of(made);
  std::int64_t count = 0;
  for (std::size_t i = 0; i < before.size(); ++i) count += std::isfinite(before[i]) && !std::isfinite(after[i]);
  if (count == 0) return made;
  ++tensors_;
  all_ += count;
  dtype_ = dtype;
  if (count > most_) std::tie(worst_, most_) = std::pair(name, count);
  return made;
}

std::string Overflows::text() const {
  if (tensors_ == 0) return {};
  std::string text = std::to_string(most_) + (most_ == 1 ? " number" : " numbers") + " of `" + worst_ + "`";
  if (tensors_ > 1)
    text += ", and " + std::to_string(all_ - most_) + " of " + std::to_string(tensors_ - 1) +
            (tensors_ == 2 ? " other tensor," : " other tensors,");
  return text + (all_ == 1 ? " is too great for " : " are too great for ") + std::string(dtype_name(dtype_)) +
         " and became infinite; take a dtype that holds them (bf16 holds what fp32 does, with fewer digits)";
}

}  // namespace baleen
