/// \file The runtime's data set as scripts see it, with what its plugin offers beside rows.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/runtime/dataset.hpp"
#include "frontend/lua/interfaces.hpp"

namespace baleen::app {

class DataForScript : public ScriptData {
 public:
  /// Fails where what the plugin says of its lists cannot be. `title` begins the message: "data `table`".
  static Result<std::shared_ptr<DataForScript>> create(std::shared_ptr<Dataset> data, const std::string& title);

  const std::shared_ptr<Dataset>& dataset() const { return data_; }
  const baleen_dataset_info_t& info() const override { return data_->info(); }
  std::string length_of(std::uint32_t field) const override { return lengths_[field]; }
  Result<std::vector<std::int32_t>> encode(std::string_view text) const override;
  Result<std::string> decode(std::span<const std::int32_t> ids) const override;

 private:
  explicit DataForScript(std::shared_ptr<Dataset> data)
      : data_(std::move(data)), tokens_(data_->extension<baleen_data_tokens_t>(BALEEN_DATA_TOKENS)) {}

  std::shared_ptr<Dataset> data_;
  std::optional<baleen_data_tokens_t> tokens_;
  std::vector<std::string> lengths_;  ///< of each field: the one with its rows' lengths, "" if it is not ragged
};

}  // namespace baleen::app
