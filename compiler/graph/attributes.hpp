/// \file An op's attributes: a few named lists, texts and expressions.
#pragma once
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "compiler/graph/expression.hpp"

namespace baleen {

using Attribute = std::variant<std::vector<std::int64_t>, std::vector<double>, std::string, Expression>;

/// Ordered by name, so that printing and hashing are stable. A getter throws std::out_of_range-like logic errors only
/// for our own bugs: kinds check their attributes in `infer`.
class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<const std::string, Attribute>> items) : items_(items) {}

  bool has(const std::string& name) const { return items_.contains(name); }
  void set(const std::string& name, Attribute value) { items_[name] = std::move(value); }
  void erase(const std::string& name) { items_.erase(name); }
  std::int64_t integer(const std::string& name) const { return integers(name).at(0); }
  std::int64_t integer_or(const std::string& name, std::int64_t fallback) const {
    return has(name) ? integer(name) : fallback;
  }
  const std::vector<std::int64_t>& integers(const std::string& name) const {
    return get<std::vector<std::int64_t>>(name);
  }
  double number(const std::string& name) const { return get<std::vector<double>>(name).at(0); }
  double number_or(const std::string& name, double fallback) const { return has(name) ? number(name) : fallback; }
  const std::string& text(const std::string& name) const { return get<std::string>(name); }
  const Expression& expression(const std::string& name) const { return get<Expression>(name); }

  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  bool empty() const { return items_.empty(); }

  /// Shorthands for building.
  static Attribute ints(std::vector<std::int64_t> values) { return values; }
  static Attribute floats(std::vector<double> values) { return values; }

 private:
  template <class T>
  const T& get(const std::string& name) const {
    return std::get<T>(items_.at(name));
  }
  std::map<std::string, Attribute> items_;
};

}  // namespace baleen
