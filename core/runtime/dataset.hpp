/// \file A data set made by a data plugin, with C++ errors, and the thread that reads a batch ahead.
#pragma once
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "baleen/data_learned.h"
#include "baleen/plugin.hpp"
#include "baleen/sized.hpp"
#include "compiler/plan/job.hpp"
#include "core/execute/program.hpp"
#include "core/plugin/registry.hpp"
#include "core/plugin/settings.hpp"

namespace baleen {

/// One batch in host memory: a buffer per field, rows side by side, in the dtypes of the job.
using Batch = std::vector<std::vector<std::byte>>;

/// What another data set of the plugin has learned, to be taken over (baleen/data_learned.h).
struct DataFacts {
  std::string learned;
  std::string source;  ///< in place of what the options name; empty: theirs
  baleen_learned_use_t use = BALEEN_LEARNED_PARTS;
};

class Dataset {
 public:
  /// Opens the member `spec.name` of kind "data". Fails with the plugin's reason (a missing or empty file, …).
  static Result<std::shared_ptr<Dataset>> create(const Registry& plugins, const MemberSpec& spec, std::uint64_t seed,
                                                 const std::string& folder, const std::optional<DataFacts>& facts = {});
  ~Dataset();
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;

  const baleen_dataset_info_t& info() const { return info_; }
  /// The plugin's name.
  const std::string& plugin() const { return plugin_.descriptor().name; }

  /// What it has learned from its rows; empty where its plugin says nothing.
  Result<std::string> learned() const;
  /// Of a class; empty where its number is all there is.
  Result<std::string> label(std::int64_t number) const;

  /// Rows `first` … `first + count - 1` of a split's endless stream; fp32 fields are widened where `dtype` is fp64.
  /// [any thread]
  Result<Batch> read(baleen_split_t split, std::int64_t first, std::int64_t count, baleen_dtype_t dtype) const;

  /// The rows of several ranges, counted from `first`, side by side.
  Result<Batch> read(baleen_split_t split, std::int64_t first, const std::vector<Range>& rows,
                     baleen_dtype_t dtype) const;

  /// An extension of data.h, as far as the plugin knows it; nothing where it has none. Called with `handle`.
  template <class Table>
  std::optional<Table> extension(std::string_view name) const {
    const void* found = table_->query ? table_->query(dataset_, abi(name)) : nullptr;
    return found ? std::optional(copy_in(static_cast<const Table*>(found))) : std::nullopt;
  }
  void* handle() const { return dataset_; }
  /// Calls a function of an extension that returns no status; the plugin's reason where it failed.
  template <class Call>
  auto checked_value(Call&& call) const {
    return plugin_.checked_value(std::forward<Call>(call));
  }
  /// What the plugin said last on this thread.
  Error failure() const { return plugin_.failure(BALEEN_INVALID); }

 private:
  Dataset(Plugin plugin, SettingsStorage settings) : plugin_(std::move(plugin)), settings_(std::move(settings)) {}

  Status make(const std::optional<DataFacts>& facts);
  /// Of an extension's function that gives text as `give` does.
  template <class Give>
  Result<std::string> given(Give&& give) const;

  Plugin plugin_;
  SettingsStorage settings_;
  const baleen_data_t* table_ = nullptr;
  void* dataset_ = nullptr;
  baleen_dataset_info_t info_{};
};

/// The dtype of a field's values in a job of `dtype`.
baleen_dtype_t field_dtype(const baleen_field_t& field, baleen_dtype_t dtype);

/// Reads the train stream one batch ahead of its user, on a thread of its own.
class BatchReader {
 public:
  /// `rows` are this rank's of a batch of `batch` rows.
  BatchReader(std::shared_ptr<Dataset> data, std::int64_t batch, std::vector<Range> rows, baleen_dtype_t dtype,
              std::int64_t first_row);
  ~BatchReader();
  BatchReader(const BatchReader&) = delete;
  BatchReader& operator=(const BatchReader&) = delete;

  /// The next batch, which its user takes to begin at this row of the stream; waits for it. DAMAGED where other rows
  /// were read.
  Result<Batch> next(std::int64_t row);

 private:
  /// A batch with what was read for it.
  struct Ready {
    std::int64_t row;
    std::vector<Range> rows;
    Result<Batch> batch;
  };
  void work(std::int64_t row, const std::vector<Range>& rows);
  Error wrong_rows(const Ready& ready, std::int64_t row) const;
  Result<Batch> read_batch(std::int64_t row, const std::vector<Range>& rows) const;

  std::shared_ptr<Dataset> data_;
  std::int64_t batch_;
  std::vector<Range> rows_;  ///< the thread has its own
  baleen_dtype_t dtype_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::unique_ptr<Ready> ready_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace baleen
