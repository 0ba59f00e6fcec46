/// \file An op's attributes: a few named lists, texts and expressions.
#pragma once
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "baleen/expression_builder.hpp"

namespace baleen {

using Attribute = std::variant<std::vector<std::int64_t>, std::vector<double>, std::string, Expression>;

/// Ordered by name, so that printing and hashing are stable. A getter throws std::out_of_range-like logic errors only
/// for our own bugs: kinds check their attributes in `infer`.
class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<const std::string, Attribute>> items) : items_(items) {}

  bool has(std::string_view name) const { return items_.contains(name); }
  void set(const std::string& name, Attribute value) { items_[name] = std::move(value); }
  void erase(const std::string& name) { items_.erase(name); }
  std::int64_t integer(std::string_view name) const { return integers(name).at(0); }
  std::int64_t integer_or(std::string_view name, std::int64_t fallback) const {
    return has(name) ? integer(name) : fallback;
  }
  const std::vector<std::int64_t>& integers(std::string_view name) const {
    return get<std::vector<std::int64_t>>(name);
  }
  double number(std::string_view name) const { return get<std::vector<double>>(name).at(0); }
  double number_or(std::string_view name, double fallback) const { return has(name) ? number(name) : fallback; }
  const std::string& text(std::string_view name) const { return get<std::string>(name); }
  const Expression& expression(std::string_view name) const { return get<Expression>(name); }

  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  bool empty() const { return items_.empty(); }

  /// Shorthands for building.
  static Attribute ints(std::vector<std::int64_t> values) { return values; }
  static Attribute floats(std::vector<double> values) { return values; }

 private:
  template <class T>
  const T& get(std::string_view name) const {
    const auto found = items_.find(name);
    if (found == items_.end()) throw std::out_of_range("there is no attribute `" + std::string(name) + "`");
    return std::get<T>(found->second);
  }
  std::map<std::string, Attribute, std::less<>> items_;  ///< found without making a string of the name
};

}  // namespace baleen
