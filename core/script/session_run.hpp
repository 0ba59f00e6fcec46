/// \file A session and its data as a script sees them. Header-only, so that the script host links without the runtime.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/runtime/session.hpp"
#include "core/script/interfaces.hpp"

namespace baleen {

/// A Dataset that a script opened: what a DataFactory returns.
class DatasetView : public ScriptData {
 public:
  explicit DatasetView(std::shared_ptr<Dataset> dataset) : dataset_(std::move(dataset)) {}

  const std::shared_ptr<Dataset>& dataset() const { return dataset_; }
  const baleen_dataset_info_t& info() const override { return dataset_->info(); }
  Result<std::vector<std::int32_t>> encode(std::string_view text) const override {
    return dataset_->encode(std::string(text));
  }
  Result<std::string> decode(std::span<const std::int32_t> ids) const override {
    return dataset_->decode({ids.begin(), ids.end()});
  }

 private:
  std::shared_ptr<Dataset> dataset_;
};

/// Borrows the session. `save` writes all parameters to a path.
class SessionRun : public TrainingRun {
 public:
  using Save = std::function<Status(const std::string& path)>;

  SessionRun(Session& session, Save save) : session_(session), save_(std::move(save)) {}

  Result<Facts> step() override { return session_.step(); }
  Result<Facts> evaluate(std::int64_t batches) override { return session_.evaluate(batches); }
  std::int64_t steps_done() const override { return session_.steps_done(); }
  Result<std::vector<double>> logits(const std::vector<std::int32_t>& tokens) override {
    return session_.logits(tokens);
  }
  Status save(const std::string& path) override { return save_(path); }

 private:
  Session& session_;
  Save save_;
};

}  // namespace baleen
