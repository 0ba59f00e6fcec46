/// \file Reads rows through a data plugin.
#include "core/runtime/dataset.hpp"

#include "baleen/caught.hpp"
#include "core/runtime/count.hpp"
#include "core/runtime/dataset_info.hpp"

namespace baleen {

baleen_dtype_t field_dtype(const baleen_field_t& field, baleen_dtype_t dtype) {
  return field.dtype == BALEEN_F32 ? dtype : field.dtype;
}

Result<std::shared_ptr<Dataset>> Dataset::create(const Registry& plugins, const MemberSpec& spec, std::uint64_t seed,
                                                 const std::string& folder, const std::optional<DataFacts>& facts) {
  BALEEN_TRY_ASSIGN(const Descriptor descriptor, plugins.find("data", spec.name, spec.where));
  BALEEN_TRY_ASSIGN(SettingsStorage settings,
                    SettingsStorage::build(descriptor, spec.options, {seed, folder, spec.where}));
  BALEEN_TRY_ASSIGN(Plugin plugin, plugins.open(descriptor));
  auto data = std::shared_ptr<Dataset>(new Dataset(std::move(plugin), std::move(settings)));
  BALEEN_TRY_ASSIGN(data->table_, data->plugin_.table<baleen_data_t>("data"));
  Status made = data->make(facts);
  if (!made) return Error{made.error().code, made.error().message, spec.where};
  data->info_.size = sizeof(data->info_);
  BALEEN_TRY(data->plugin_.check(data->table_->info(data->dataset_, &data->info_)));
  if (Status possible = check_dataset_info(data->info_); !possible)
    return Error{possible.error().code, title_of(descriptor) + ": " + possible.error().message, spec.where};
  return data;
}

Status Dataset::make(const std::optional<DataFacts>& facts) {
  // Plugins of earlier revisions were never asked without a data set.
  const bool can_be_asked = table_->query && plugin_.descriptor().kind_revision >= 3;
  const void* offered = facts && can_be_asked ? table_->query(nullptr, abi(BALEEN_DATA_LEARNED)) : nullptr;
  const auto learned = offered ? copy_in(static_cast<const baleen_data_learned_t*>(offered)) : baleen_data_learned_t{};
  if (learned.take)
    return plugin_.check(
        learned.take(plugin_.host(), settings_.get(), abi(facts->learned), abi(facts->source), facts->use, &dataset_));
  if (facts && !facts->source.empty())
    return unsupported(title_of(plugin_.descriptor()) +
                       " takes no other source: it does not offer " BALEEN_DATA_LEARNED);
  return plugin_.check(table_->create(plugin_.host(), settings_.get(), &dataset_));
}

template <class Give>
Result<std::string> Dataset::given(Give&& give) const {
  const auto learned = extension<baleen_data_learned_t>(BALEEN_DATA_LEARNED);
  if (!learned || !learned->give || !learned->label) return std::string();
  std::string text(256, '\0');
  for (;;) {
    const std::int64_t count = give(*learned, text.data(), static_cast<std::int64_t>(text.size()));
    if (count < 0) return failure();
    const bool fits = count <= static_cast<std::int64_t>(text.size());
    text.resize(static_cast<std::size_t>(count));
    if (fits) return text;
  }
}

Result<std::string> Dataset::learned() const {
  return given([&](const baleen_data_learned_t& table, char* text, std::int64_t capacity) {
    return table.give(dataset_, text, capacity);
  });
}

Result<std::string> Dataset::label(std::int64_t number) const {
  return given([&](const baleen_data_learned_t& table, char* text, std::int64_t capacity) {
    return table.label(dataset_, number, text, capacity);
  });
}

Dataset::~Dataset() {
  if (dataset_) table_->destroy(dataset_);
}

Result<Batch> Dataset::read(baleen_split_t split, std::int64_t first, std::int64_t count, baleen_dtype_t dtype) const {
  Batch batch(info_.field_count);
  std::vector<void*> buffers;
  std::vector<std::size_t> elements;
  for (std::uint32_t f = 0; f < info_.field_count; ++f) {
    const baleen_field_t& field = info_.fields[f];
    const Shape shape(field.shape, field.shape + field.rank);
    elements.push_back(static_cast<std::size_t>(count * element_count(shape)));
    batch[f].resize(elements[f] * dtype_size(field.dtype));
    buffers.push_back(batch[f].data());
  }
  BALEEN_TRY(plugin_.check(table_->read(dataset_, split, first, count, buffers.data())));
  for (std::uint32_t f = 0; f < info_.field_count; ++f) {
    if (field_dtype(info_.fields[f], dtype) == info_.fields[f].dtype) continue;
    std::vector<std::byte> wide(elements[f] * sizeof(double));
    const auto* from = reinterpret_cast<const float*>(batch[f].data());
    auto* to = reinterpret_cast<double*>(wide.data());
    for (std::size_t i = 0; i < elements[f]; ++i) to[i] = static_cast<double>(from[i]);
    batch[f] = std::move(wide);
  }
  return batch;
}

Result<Batch> Dataset::read(baleen_split_t split, std::int64_t first, const std::vector<Range>& rows,
                            baleen_dtype_t dtype) const {
  if (rows.size() == 1) return read(split, first + rows[0].begin, rows[0].length(), dtype);
  Batch batch(info_.field_count);
  for (const Range& run : rows) {
    BALEEN_TRY_ASSIGN(const Batch part, read(split, first + run.begin, run.length(), dtype));
    for (std::size_t f = 0; f < batch.size(); ++f) batch[f].insert(batch[f].end(), part[f].begin(), part[f].end());
  }
  return batch;
}

BatchReader::BatchReader(std::shared_ptr<Dataset> data, std::int64_t batch, std::vector<Range> rows,
                         baleen_dtype_t dtype, std::int64_t first_row)
    : data_(std::move(data)),
      batch_(batch),
      rows_(std::move(rows)),
      dtype_(dtype),
      thread_([this, first_row, rows = rows_] { work(first_row, rows); }) {}

BatchReader::~BatchReader() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

/// A batch for which there is no memory is an error of who wants it, and no end of this thread.
Result<Batch> BatchReader::read_batch(std::int64_t row, const std::vector<Range>& rows) const {
  try {
    return data_->read(BALEEN_TRAIN, row, rows, dtype_);
  } catch (...) {
    return sdk::caught_error();
  }
}

void BatchReader::work(std::int64_t row, const std::vector<Range>& rows) {
  for (;; row += batch_) {
    auto read = std::make_unique<Ready>(Ready{row, rows, read_batch(row, rows)});
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stop_ || !ready_; });
    if (stop_) return;
    ready_ = std::move(read);
    changed_.notify_all();
  }
}

Error BatchReader::wrong_rows(const Ready& ready, std::int64_t row) const {
  const auto text = [](std::int64_t first, const std::vector<Range>& rows) {
    std::string all;
    for (const Range& run : rows)
      all +=
          (all.empty() ? "" : ", ") + std::to_string(first + run.begin) + " to " + std::to_string(first + run.end - 1);
    return all;
  };
  return {BALEEN_DAMAGED,
          "rows " + text(ready.row, ready.rows) + " of the data were read where " + text(row, rows_) + " come next" +
              kLostBit,
          {}};
}

Result<Batch> BatchReader::next(std::int64_t row) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ready_ != nullptr; });
  const std::unique_ptr<Ready> ready = std::move(ready_);
  changed_.notify_all();
  if (ready->row != row || ready->rows != rows_) return wrong_rows(*ready, row);
  return std::move(ready->batch);
}

}  // namespace baleen
