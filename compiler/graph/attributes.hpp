/// \file An op's attributes: a few named lists, texts and expressions.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/graph/shared.hpp"
#include "core/plugin/op_schema.hpp"

namespace baleen {

/// One step of a hash.
constexpr std::uint64_t mix(std::uint64_t seed, std::uint64_t value) {
  return (seed ^ value) * 0x9e3779b97f4a7c15ull + (seed >> 29);
}

/// Ordered by name, so that printing and hashing are stable. Copies share them until one of them is set anew. A getter
/// throws std::out_of_range-like logic errors only for our own bugs: kinds check their attributes in `infer`.
class Attributes {
 public:
  using Item = std::pair<std::string, Attribute>;

  Attributes() = default;
  Attributes(std::initializer_list<Item> items) : Attributes(std::vector<Item>(items)) {}
  /// In any order; names differ.
  explicit Attributes(std::vector<Item> items);

  bool has(std::string_view name) const { return find(name) != nullptr; }
  void set(const std::string& name, Attribute value);
  void erase(const std::string& name);
  std::int64_t integer(std::string_view name) const { return integers(name).at(0); }
  std::int64_t integer_or(std::string_view name, std::int64_t fallback) const {
    return has(name) ? integer(name) : fallback;
  }
  const std::vector<std::int64_t>& integers(std::string_view name) const {
    return std::get<std::vector<std::int64_t>>(get(name));
  }
  double number(std::string_view name) const { return std::get<std::vector<double>>(get(name)).at(0); }
  const std::string& text(std::string_view name) const { return std::get<std::string>(get(name)); }
  const Expression& expression(std::string_view name) const { return std::get<Expression>(get(name)); }

  auto begin() const { return kept_->items.begin(); }
  auto end() const { return kept_->items.end(); }
  bool empty() const { return kept_->items.empty(); }

  /// Of names and values; of one process.
  std::uint64_t hash() const { return kept_->hash; }
  /// Numbers are alike where their bits are.
  friend bool operator==(const Attributes& a, const Attributes& b);

  /// Shorthands for building.
  static Attribute ints(std::vector<std::int64_t> values) { return values; }
  static Attribute floats(std::vector<double> values) { return values; }

 private:
  struct Kept {
    std::vector<Item> items;
    std::uint64_t hash = 0;
  };

  const Attribute* find(std::string_view name) const;
  const Attribute& get(std::string_view name) const;
  void keep(std::vector<Item> items);

  Shared<Kept> kept_;
};

}  // namespace baleen
