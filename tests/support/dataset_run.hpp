/// \file A dataset made by a data plugin, with its fields' rows as bytes.
#pragma once
#include <cstring>

#include "baleen/data.h"
#include "baleen/dtype.hpp"
#include "support/plugin_under_test.hpp"

namespace baleen::test {

/// Throws what the plugin reported where it cannot be made.
class DatasetRun {
 public:
  DatasetRun(const PluginUnderTest<baleen_data_t>& plugin, const TestSettings& settings) : plugin_(plugin) {
    check(plugin_.table.create(plugin_.host->get(), settings.get(), &dataset_));
    info_.size = sizeof(info_);
    try {
      check(plugin_.table.info(dataset_, &info_));
    } catch (...) {
      plugin_.table.destroy(dataset_);
      throw;
    }
  }
  ~DatasetRun() { plugin_.table.destroy(dataset_); }
  DatasetRun(const DatasetRun&) = delete;

  const baleen_dataset_info_t& info() const { return info_; }
  void* handle() const { return dataset_; }

  /// Bytes of one row of a field.
  std::size_t row_bytes(std::size_t field) const {
    std::size_t bytes = dtype_size(info_.fields[field].dtype);
    for (std::uint32_t d = 0; d < info_.fields[field].rank; ++d)
      bytes *= static_cast<std::size_t>(info_.fields[field].shape[d]);
    return bytes;
  }

  /// Every field's bytes of `count` rows.
  std::vector<std::string> read(baleen_split_t split, std::int64_t first, std::int64_t count) const {
    std::vector<std::string> fields(info_.field_count);
    std::vector<void*> buffers;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      fields[i].resize(row_bytes(i) * static_cast<std::size_t>(count));
      buffers.push_back(fields[i].data());
    }
    check(plugin_.table.read(dataset_, split, first, count, buffers.data()));
    return fields;
  }

  /// The rows one by one, each with all its fields.
  std::vector<std::string> rows(baleen_split_t split, std::int64_t first, std::int64_t count) const {
    const auto fields = read(split, first, count);
    std::vector<std::string> result(static_cast<std::size_t>(count));
    for (std::size_t row = 0; row < result.size(); ++row)
      for (std::size_t i = 0; i < fields.size(); ++i) result[row] += fields[i].substr(row * row_bytes(i), row_bytes(i));
    return result;
  }

  /// One field as numbers of T.
  template <class T>
  std::vector<T> numbers(std::size_t field, baleen_split_t split, std::int64_t first, std::int64_t count) const {
    const std::string bytes = read(split, first, count)[field];
    std::vector<T> result(bytes.size() / sizeof(T));
    std::memcpy(result.data(), bytes.data(), bytes.size());
    return result;
  }

 private:
  void check(baleen_status_t status) const {
    if (status != BALEEN_OK) throw std::runtime_error(plugin_.host->failure());
  }

  const PluginUnderTest<baleen_data_t>& plugin_;
  void* dataset_ = nullptr;
  baleen_dataset_info_t info_{};
};

/// What making the dataset fails with; "" where it succeeds.
inline std::string failure_of(const PluginUnderTest<baleen_data_t>& plugin, const TestSettings& settings) {
  try {
    DatasetRun run(plugin, settings);
    return {};
  } catch (const std::runtime_error& problem) {
    return problem.what();
  }
}

}  // namespace baleen::test
