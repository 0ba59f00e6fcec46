/// \file Attributes by name, their hash and their equality.
#include "compiler/graph/attributes.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace baleen {
namespace {

/// Calls `take` with each number of an attribute that is no text, as bits.
template <class Take>
void each_number(const Attribute& attribute, Take&& take) {
  if (const auto* ints = std::get_if<0>(&attribute))
    for (const std::int64_t number : *ints) take(static_cast<std::uint64_t>(number));
  else if (const auto* floats = std::get_if<1>(&attribute))
    for (const double number : *floats) take(std::bit_cast<std::uint64_t>(number));
  else if (const auto* expression = std::get_if<Expression>(&attribute))
    for (const baleen_instruction_t& i : expression->code) {
      for (const std::uint32_t field : {i.opcode, i.a, i.b, i.c}) take(std::uint64_t{field});
      take(std::bit_cast<std::uint64_t>(i.constant));
    }
}

std::uint64_t hash_of(const std::vector<Attributes::Item>& items) {
  std::uint64_t h = 0;
  for (const auto& [name, attribute] : items) {
    h = mix(mix(h, std::hash<std::string>{}(name)), attribute.index());
    if (const auto* text = std::get_if<std::string>(&attribute)) h = mix(h, std::hash<std::string>{}(*text));
    each_number(attribute, [&](std::uint64_t number) { h = mix(h, number); });
  }
  return h;
}

bool same(const Attribute& x, const Attribute& y) {
  if (x.index() != y.index()) return false;
  if (const auto* text = std::get_if<std::string>(&x)) return *text == std::get<std::string>(y);
  if (const auto* ints = std::get_if<0>(&x)) return *ints == std::get<0>(y);
  const auto bits = [](double number) { return std::bit_cast<std::uint64_t>(number); };
  if (const auto* floats = std::get_if<1>(&x)) return std::ranges::equal(*floats, std::get<1>(y), {}, bits, bits);
  return std::ranges::equal(std::get<Expression>(x).code, std::get<Expression>(y).code,
                            [&](const baleen_instruction_t& a, const baleen_instruction_t& b) {
                              return a.opcode == b.opcode && a.a == b.a && a.b == b.b && a.c == b.c &&
                                     bits(a.constant) == bits(b.constant);
                            });
}

}  // namespace

Attributes::Attributes(std::vector<Item> items) {
  std::ranges::sort(items, {}, &Item::first);
  keep(std::move(items));
}

void Attributes::set(const std::string& name, Attribute value) {
  std::vector<Item> items = kept_->items;
  const auto at = std::ranges::lower_bound(items, name, {}, &Item::first);
  if (at != items.end() && at->first == name)
    at->second = std::move(value);
  else
    items.emplace(at, name, std::move(value));
  keep(std::move(items));
}

void Attributes::erase(const std::string& name) {
  std::vector<Item> items = kept_->items;
  std::erase_if(items, [&](const Item& item) { return item.first == name; });
  keep(std::move(items));
}

bool operator==(const Attributes& a, const Attributes& b) {
  if (a.kept_.is_same(b.kept_)) return true;
  return a.hash() == b.hash() && std::ranges::equal(a, b, [](const auto& x, const auto& y) {
           return x.first == y.first && same(x.second, y.second);
         });
}

const Attribute* Attributes::find(std::string_view name) const {
  const auto found = std::ranges::find(*this, name, &Item::first);
  return found == end() ? nullptr : &found->second;
}

const Attribute& Attributes::get(std::string_view name) const {
  if (const Attribute* found = find(name)) return *found;
  throw std::out_of_range("there is no attribute `" + std::string(name) + "`");
}

void Attributes::keep(std::vector<Item> items) {
  const std::uint64_t hash = hash_of(items);
  kept_ = Kept{std::move(items), hash};
}

}  // namespace baleen
