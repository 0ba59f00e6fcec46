/// \file Checks a plugin's description of its rows, field by field.
#include "core/runtime/dataset_info.hpp"

#include <cmath>
#include <cstring>
#include <set>
#include <string>

#include "baleen/dtype.hpp"

namespace baleen {
namespace {

Error wrong(const std::string& what) { return internal("its info " + what + "; see baleen/data.h"); }

/// Of a fixed array; an error where the text has no end.
template <std::size_t N>
Result<std::string> text(const char (&array)[N], const std::string& what) {
  const std::size_t size = strnlen(array, N);
  if (size == N) return wrong("has " + what + " without an end: it takes at most " + std::to_string(N - 1) + " bytes");
  return std::string(array, size);
}

Status check_shape(const baleen_field_t& field, const std::string& name) {
  if (field.rank >= BALEEN_MAX_RANK)  // a batch of rows has one dimension more
    return wrong("has " + name + " of rank " + std::to_string(field.rank) + "; the most is " +
                 std::to_string(BALEEN_MAX_RANK - 1));
  std::int64_t bytes = static_cast<std::int64_t>(dtype_size(field.dtype));
  for (std::uint32_t d = 0; d < field.rank; ++d) {
    BALEEN_TRY(text(field.axes[d], "an axis of " + name));
    if (field.shape[d] < 1 || __builtin_mul_overflow(bytes, field.shape[d], &bytes))
      return wrong("has " + name + " of extent " + std::to_string(field.shape[d]) + " along dimension " +
                   std::to_string(d));
  }
  return {};
}

Status check_fields(const baleen_dataset_info_t& info) {
  if (info.field_count < 1 || info.field_count > BALEEN_MAX_FIELDS)
    return wrong("has " + std::to_string(info.field_count) + " fields; there are 1 to " +
                 std::to_string(BALEEN_MAX_FIELDS));
  std::set<std::string> names;
  for (std::uint32_t f = 0; f < info.field_count; ++f) {
    const baleen_field_t& field = info.fields[f];
    BALEEN_TRY_ASSIGN(const std::string own, text(field.name, "the name of field " + std::to_string(f)));
    if (own.empty()) return wrong("has a field without a name: field " + std::to_string(f));
    if (!names.insert(own).second) return wrong("has two fields `" + own + "`");
    const std::string name = "field `" + own + "`";
    if (field.dtype != BALEEN_F32 && (field.dtype < BALEEN_I32 || field.dtype > BALEEN_U8))
      return wrong("has " + name + " of dtype " + std::to_string(field.dtype) + "; F32, I32, I64 and U8 are allowed");
    BALEEN_TRY(check_shape(field, name));
  }
  return {};
}

}  // namespace

Status check_dataset_info(const baleen_dataset_info_t& info) {
  BALEEN_TRY(check_fields(info));
  if (info.rows[BALEEN_TRAIN] < 1 || info.rows[BALEEN_HELD_OUT] < 0)
    return wrong("has " + std::to_string(info.rows[BALEEN_TRAIN]) + " rows to train with and " +
                 std::to_string(info.rows[BALEEN_HELD_OUT]) + " held out; the first is at least 1, the second 0");
  if (info.classes < 0) return wrong("has " + std::to_string(info.classes) + " classes");
  if (!std::isfinite(info.units_per_row) || info.units_per_row <= 0)
    return wrong("has " + std::to_string(info.units_per_row) + " units per row; it must be more than 0");
  BALEEN_TRY(text(info.unit, "a unit"));
  BALEEN_TRY(text(info.summary, "a summary"));
  return {};
}

}  // namespace baleen
