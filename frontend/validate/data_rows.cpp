/// \file Checks what `info` says, and reads between guards.
#include "frontend/validate/data_rows.hpp"

#include <numeric>
#include <set>

#include "baleen/dtype.hpp"

namespace baleen::validate {
namespace {

constexpr std::size_t kGuard = 64;                    // bytes before and behind each array
constexpr std::size_t kMostBytes = 32 * 1024 * 1024;  // of one read

bool ends_within(const char* text, std::size_t size) { return std::memchr(text, 0, size) != nullptr; }

void check_field(const baleen_field_t& field, std::uint32_t number) {
  const std::string which = "field " + std::to_string(number);
  if (!ends_within(field.name, sizeof field.name)) throw Failure(which + ": its name does not end");
  if (!field.name[0]) throw Failure(which + " has no name");
  const std::string name = which + " (`" + field.name + "`)";
  if (field.dtype != BALEEN_F32 && field.dtype != BALEEN_I32 && field.dtype != BALEEN_I64 && field.dtype != BALEEN_U8)
    throw Failure(name + " has dtype " + std::to_string(field.dtype) + "; data may have F32, I32, I64 and U8");
  if (field.rank >= BALEEN_MAX_RANK)
    throw Failure(name + " has rank " + std::to_string(field.rank) + "; with the batch there are at most 8 dimensions");
  for (std::uint32_t d = 0; d < field.rank; ++d) {
    if (field.shape[d] < 1) throw Failure(name + " has extent " + std::to_string(field.shape[d]));
    if (!ends_within(field.axes[d], sizeof field.axes[d])) throw Failure(name + ": the name of an axis does not end");
  }
}

void check_info(const baleen_dataset_info_t& info) {
  if (info.field_count < 1 || info.field_count > BALEEN_MAX_FIELDS)
    throw Failure("`info` says that rows have " + std::to_string(info.field_count) + " fields; there are 1 to 16");
  std::set<std::string> names;
  for (std::uint32_t i = 0; i < info.field_count; ++i) {
    check_field(info.fields[i], i);
    if (!names.insert(info.fields[i].name).second)
      throw Failure("`info` names two fields `" + std::string(info.fields[i].name) + "`");
  }
  if (info.rows[BALEEN_TRAIN] < 1) throw Failure("`info` says that there are no rows to train on");
  if (info.rows[BALEEN_HELD_OUT] < 0) throw Failure("`info` says that fewer than 0 rows are held out");
  if (info.classes < 0) throw Failure("`info` says that there are fewer than 0 classes");
  if (!(info.units_per_row > 0)) throw Failure("`units_per_row` is not above 0");
  if (!ends_within(info.unit, sizeof info.unit) || !info.unit[0]) throw Failure("`unit` is empty or does not end");
  if (!ends_within(info.summary, sizeof info.summary)) throw Failure("`summary` does not end");
}

void check_guards(const FieldBytes& array, unsigned char fill, const std::string& name) {
  for (std::size_t i = 0; i < kGuard; ++i) {
    if (array[i] != fill) throw Failure(name + ": it writes before the array");
    if (array[array.size() - 1 - i] != fill) throw Failure(name + ": it writes behind the array");
  }
}

}  // namespace

std::string split_name(baleen_split_t split) { return split == BALEEN_TRAIN ? "train" : "held-out"; }

Rows::Rows(const Subject& subject, const Opened& plugin, std::uint64_t seed, std::string_view create)
    : plugin_(plugin), settings_(settings_of(subject, {}, seed)), made_(plugin, settings_.get(), create) {
  info_.size = sizeof info_;
  plugin_.ok("`info`", made_.table().info, made_.get(), &info_);
  check_info(info_);
  for (std::uint32_t i = 0; i < info_.field_count; ++i) {
    std::size_t bytes = dtype_size(info_.fields[i].dtype);
    for (std::uint32_t d = 0; d < info_.fields[i].rank; ++d)
      bytes *= static_cast<std::size_t>(info_.fields[i].shape[d]);
    row_bytes_.push_back(bytes);
  }
}

std::vector<baleen_split_t> Rows::splits() const {
  if (rows(BALEEN_HELD_OUT) == 0) return {BALEEN_TRAIN};
  return {BALEEN_TRAIN, BALEEN_HELD_OUT};
}

bool Rows::row_fits() const {
  return std::accumulate(row_bytes_.begin(), row_bytes_.end(), std::size_t{0}) <= kMostBytes;
}

std::int64_t Rows::most() const {
  const std::size_t bytes = std::accumulate(row_bytes_.begin(), row_bytes_.end(), std::size_t{0});
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(kMostBytes / std::max<std::size_t>(bytes, 1)));
}

std::vector<FieldBytes> Rows::read_fields(baleen_split_t split, std::int64_t first, std::int64_t count,
                                          unsigned char fill) const {
  std::vector<FieldBytes> arrays;
  std::vector<void*> buffers;
  for (const std::size_t bytes : row_bytes_)
    arrays.emplace_back(kGuard + bytes * static_cast<std::size_t>(count) + kGuard, fill);
  for (FieldBytes& array : arrays) buffers.push_back(array.data() + kGuard);
  const std::string name =
      "`read` of " + std::to_string(count) + " " + split_name(split) + " rows from " + std::to_string(first);
  plugin_.ok(name, made_.table().read, made_.get(), split, first, count, static_cast<void* const*>(buffers.data()));
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    check_guards(arrays[i], fill, name + ", field `" + info_.fields[i].name + "`");
    arrays[i].erase(arrays[i].end() - kGuard, arrays[i].end());
    arrays[i].erase(arrays[i].begin(), arrays[i].begin() + kGuard);
  }
  return arrays;
}

std::vector<std::string> Rows::read(baleen_split_t split, std::int64_t first, std::int64_t count,
                                    unsigned char fill) const {
  const std::vector<FieldBytes> fields = read_fields(split, first, count, fill);
  std::vector<std::string> all(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < fields.size(); ++i)
    for (std::size_t row = 0; row < all.size(); ++row)
      all[row].append(reinterpret_cast<const char*>(fields[i].data()) + row * row_bytes_[i], row_bytes_[i]);
  return all;
}

}  // namespace baleen::validate
