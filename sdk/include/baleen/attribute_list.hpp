/// \file The attributes of an op that is to be appended to a graph.
#pragma once
#include <deque>
#include <string>
#include <variant>
#include <vector>

#include "baleen/compute.hpp"

namespace baleen::sdk {

/// Owns what it lists.
class AttributeList {
 public:
  AttributeList& integer(std::string_view name, std::int64_t value) { return integers(name, {value}); }
  AttributeList& integers(std::string_view name, std::vector<std::int64_t> values) {
    return add(name, std::move(values));
  }
  AttributeList& number(std::string_view name, double value) { return add(name, std::vector<double>{value}); }
  AttributeList& text(std::string_view name, std::string_view value) { return add(name, std::string(value)); }
  AttributeList& expression(std::string_view name, std::vector<baleen_instruction_t> code) {
    return add(name, std::move(code));
  }
  /// Takes an attribute over from an op, or nothing where the op lacks it.
  AttributeList& take(const Op& op, std::string_view name) {
    if (const baleen_attribute_t* found = op.attribute(name)) add(*found);
    return *this;
  }
  /// All attributes of an op.
  static AttributeList of(const Op& op) {
    AttributeList all;
    for (const baleen_attribute_t& one : op.attributes()) all.add(one);
    return all;
  }
  AttributeList& erase(std::string_view name) {
    std::erase_if(items_, [&](const Item& item) { return item.name == name; });
    return *this;
  }
  /// Valid as long as this.
  std::vector<baleen_attribute_t> list() const {
    std::vector<baleen_attribute_t> all;
    for (const Item& item : items_)
      std::visit(
          [&](const auto& value) {
            all.push_back({abi(item.name), kTypes[item.value.index()], 0, value.size(), value.data()});
          },
          item.value);
    return all;
  }

 private:
  using Value =
      std::variant<std::vector<std::int64_t>, std::vector<double>, std::string, std::vector<baleen_instruction_t>>;
  static constexpr baleen_attribute_type_t kTypes[] = {BALEEN_ATTRIBUTE_INTS, BALEEN_ATTRIBUTE_FLOATS,
                                                       BALEEN_ATTRIBUTE_STRING, BALEEN_ATTRIBUTE_EXPRESSION};
  struct Item {
    std::string name;
    Value value;
  };
  AttributeList& add(std::string_view name, Value value) {
    items_.push_back({std::string(name), std::move(value)});
    return *this;
  }
  void add(const baleen_attribute_t& given) {
    const auto copy = [&](auto* first) { return std::vector(first, first + given.count); };
    const std::string_view name = baleen::view(given.name);
    switch (given.type) {
      case BALEEN_ATTRIBUTE_INTS: add(name, copy(static_cast<const std::int64_t*>(given.data))); break;
      case BALEEN_ATTRIBUTE_FLOATS: add(name, copy(static_cast<const double*>(given.data))); break;
      case BALEEN_ATTRIBUTE_STRING: add(name, std::string(static_cast<const char*>(given.data), given.count)); break;
      default: add(name, copy(static_cast<const baleen_instruction_t*>(given.data)));
    }
  }
  std::deque<Item> items_;
};

}  // namespace baleen::sdk
