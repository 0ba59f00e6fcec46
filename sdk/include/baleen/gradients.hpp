/// \file What a strategy may say of a job's gradients, between differentiation and the update.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "baleen/plugin.hpp"
#include "baleen/strategy.h"

namespace baleen::sdk {

/// The verbs of `gradients` (strategy.h). Every method throws Failed where the core refuses.
class Gradients {
 public:
  explicit Gradients(const baleen_gradients_t* gradients) : gradients_(gradients) {}

  baleen_value_t seed() const { return gradients_->seed; }
  baleen_dtype_t dtype() const { return gradients_->dtype; }
  /// In parameter order; names are valid until the graph changes.
  std::vector<baleen_gradient_t> all() const {
    std::vector<baleen_gradient_t> list(gradients_->count(gradients_->self));
    for (std::size_t i = 0; i < list.size(); ++i) {
      list[i].size = sizeof(list[i]);
      check(gradients_->read(gradients_->self, i, &list[i]));
    }
    return list;
  }
  void replace(std::size_t number, baleen_value_t gradient, baleen_value_t value) {
    check(gradients_->replace(gradients_->self, number, gradient, value));
  }
  baleen_value_t norm() {
    baleen_value_t norm = BALEEN_NONE;
    check(gradients_->norm(gradients_->self, &norm));
    return norm;
  }
  void apply(baleen_value_t condition) { check(gradients_->apply(gradients_->self, condition)); }
  void show(std::string_view name, baleen_value_t scalar) {
    check(gradients_->show(gradients_->self, abi(name), scalar));
  }
  void stop(baleen_value_t condition, std::string_view text) {
    check(gradients_->stop(gradients_->self, condition, abi(text)));
  }
  /// The ranks' sum is off by design: by a share of its norm, more than 0; infinity where errors are added in later
  /// steps.
  void approximate(std::size_t number, double share) {
    check(gradients_->approximate(gradients_->self, number, share));
  }
  /// A step makes the update of the step before, so that it need not wait for the backward pass.
  void delay_update() { check(gradients_->delay_update(gradients_->self)); }
  /// A state of fp32 with a term per index of dimension 0, whose sum alone has a meaning.
  baleen_value_t add_terms(std::string_view name, std::span<const std::int64_t> shape) {
    baleen_value_t state = BALEEN_NONE;
    check(gradients_->add_terms(gradients_->self, abi(name), BALEEN_F32, static_cast<std::uint32_t>(shape.size()),
                                shape.data(), 0, &state));
    return state;
  }

 private:
  static void check(baleen_status_t status) {
    if (status) throw Failed(status);
  }
  const baleen_gradients_t* gradients_;
};

}  // namespace baleen::sdk
