/// \file Finds or makes the copy of a value in a wanted layout.
#include "compiler/placement/value_copies.hpp"

#include <algorithm>
#include <utility>

#include "baleen/dtype.hpp"

namespace baleen {
namespace {

bool is_partial(const Layout& layout) {
  return std::any_of(layout.begin(), layout.end(), [](const Placement& p) { return p.is_partial(); });
}

/// Whether some axis that cut `from` no longer does.
bool gathered(const Layout& from, const Layout& to) {
  for (std::size_t i = 0; i < from.size(); ++i)
    if (from[i].cut() && to[i].is_replicate()) return true;
  return false;
}

}  // namespace

ValueCopies::ValueCopies(const Graph& graph) : graph_(graph), items_(graph.value_count()) {}

void ValueCopies::start(ValueId value, const Layout& layout) { items_[value] = {{{layout, kNone}}, {}}; }

void ValueCopies::start(ValueId value, const Layout& stored, const Layout& used) {
  start(value, stored);
  if (stored != used) items_[value].used = used;
}

const Layout& ValueCopies::layout(ValueId value) const {
  const Item& item = items_[value];
  return item.used ? *item.used : item.copies.front().layout;
}

double ValueCopies::elements(ValueId value, const Layout& layout, int axis) const {
  return mean_elements(graph_.value(value).shape, layout, graph_.mesh(), axis);
}

double ValueCopies::charge(ValueId value, int axis, const Placement& wanted) const {
  const std::size_t element_bytes = dtype_size(graph_.value(value).dtype);
  const auto price = [&](const Layout& layout) {
    const Placement& from = layout[static_cast<std::size_t>(axis)];
    const bool scattered = from.is_partial() && wanted.cut();
    return conversion_bytes(from, scattered ? Placement::replicate() : wanted, elements(value, layout, axis),
                            element_bytes, graph_.mesh().size(axis));
  };
  const Item& item = items_[value];
  if (item.used) return price(*item.used);
  double best = price(item.copies.front().layout);
  for (std::size_t i = 1; i < item.copies.size() && best > 0; ++i) best = std::min(best, price(item.copies[i].layout));
  return best;
}

const ValueCopies::Copy* ValueCopies::find(ValueId value, const Layout& wanted) const {
  for (const Copy& copy : items_[value].copies)
    if (copy.layout == wanted) return &copy;
  return nullptr;
}

const std::vector<Step>& ValueCopies::way(ValueId value, const Layout& from, const Layout& to) const {
  const Value& v = graph_.value(value);
  const auto [found, is_new] = ways_.try_emplace({v.shape, dtype_size(v.dtype), from, to});
  if (is_new) found->second = conversion(from, to, v.shape, dtype_size(v.dtype), graph_.mesh());
  return found->second;
}

ValueCopies::Nearest ValueCopies::nearest(ValueId value, const Layout& wanted) const {
  const Item& item = items_[value];
  const Copy* best = nullptr;
  const std::vector<Step>* steps = nullptr;
  for (const Copy& copy : item.copies) {
    if (item.used && copy.layout == item.copies.front().layout && wanted != copy.layout) continue;
    const std::vector<Step>& from_here = way(value, copy.layout, wanted);
    if (best && total_bytes(from_here) >= total_bytes(*steps)) continue;
    best = &copy;
    steps = &from_here;
  }
  return {*best, *steps};
}

double ValueCopies::bytes(ValueId value, const Layout& wanted) const {
  if (find(value, wanted)) return 0;
  const Item& item = items_[value];
  if (item.used && !find(value, *item.used)) return total_bytes(way(value, *item.used, wanted));
  return total_bytes(nearest(value, wanted).steps);
}

std::uint32_t ValueCopies::make(ValueId value, const Copy& source, const Layout& wanted, std::vector<Step> steps,
                                Phase phase, OpId user) {
  Conversion made{value, source.conversion, source.layout, wanted, std::move(steps), phase, user, false, false};
  conversions_.push_back(std::move(made));
  const auto number = static_cast<std::uint32_t>(conversions_.size() - 1);
  items_[value].copies.push_back({wanted, number});
  return number;
}

std::uint32_t ValueCopies::convert(ValueId value, const Layout& wanted, Phase phase, OpId user) {
  if (const Copy* copy = find(value, wanted)) return copy->conversion;
  Item& item = items_[value];
  if (item.used && !find(value, *item.used)) {
    const Copy stored = item.copies.front();
    const std::uint32_t number = make(value, stored, *item.used, way(value, stored.layout, *item.used), phase, user);
    if (wanted == *item.used) return number;
  }
  const auto [found, steps] = nearest(value, wanted);
  Copy from = found;
  auto rest = steps.begin();
  const bool is_for_reader = phase == Phase::forward && user != kNone;
  if (const std::size_t sent = is_for_reader ? steps_that_stay(value, wanted, steps) : 0; sent > 0) {
    rest += static_cast<std::ptrdiff_t>(sent);
    const Layout& there = steps[sent - 1].to;
    from = {there, make(value, from, there, {steps.begin(), rest}, phase, user)};
  }
  return make(value, from, wanted, {rest, steps.end()}, phase, user);
}

/// Of a way to a copy that is forgotten before backward: how many of its steps lead to one that stays and lies at
/// another coordinate, so that nothing is sent there again.
std::size_t ValueCopies::steps_that_stay(ValueId value, const Layout& wanted, const std::vector<Step>& steps) const {
  const Layout& own = items_[value].copies.front().layout;
  if (is_partial(own) || !gathered(own, wanted)) return 0;
  const auto sends = [](const Step& step) { return step.collective == CollectiveOp::send; };
  std::size_t count = steps.size();
  while (count > 0 && gathered(own, steps[count - 1].to)) --count;
  return std::any_of(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(count), sends) ? count : 0;
}

void ValueCopies::pin(ValueId value, const Layout& wanted, Phase phase, const Pin& pin) {
  // Straight there: what lies between it and use (another axis that gathers later) is of who reads it.
  std::optional<Layout> used = std::exchange(items_[value].used, std::nullopt);
  const std::uint32_t number = convert(value, wanted, phase, kNone);
  items_[value].copies = {{wanted, number}};
  if (used != wanted) items_[value].used = std::move(used);
  if (number == kNone) return;
  conversions_[number].pin = true;
  conversions_[number].every_micro_batch = pin.every_micro_batch;
  conversions_[number].each_along = pin.each_along;
}

void ValueCopies::forget_gathered() {
  for (Item& item : items_) {
    if (item.copies.size() < 2) continue;
    const Layout own = item.copies.front().layout;
    if (is_partial(own)) continue;
    std::erase_if(item.copies, [&](const Copy& copy) { return copy.layout != own && gathered(own, copy.layout); });
  }
}

void ValueCopies::end_use(ValueId value) {
  Item& item = items_[value];
  item.used.reset();
  item.copies.resize(1);
}

}  // namespace baleen
