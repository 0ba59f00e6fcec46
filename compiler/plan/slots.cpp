/// \file Asks an optimizer for its slots, by the function that it has, and checks them.
#include "compiler/plan/slots.hpp"

#include <algorithm>
#include <numeric>
#include <span>

#include "baleen/plugin.hpp"
#include "baleen/sized.hpp"

namespace baleen {
namespace {

constexpr std::size_t kLongestName = 63;

/// The slots of one parameter as they come in.
class Slots {
 public:
  Slots(const OpenedOptimizer& optimizer, const ParameterSpec& parameter)
      : optimizer_(optimizer), parameter_(parameter) {}

  Result<std::vector<SlotSpec>> ask(const baleen_settings_t* settings) {
    BALEEN_TRY(optimizer_.table.slots_of ? ask_shaped(settings) : ask_plain(settings));
    BALEEN_TRY(check_names());
    return std::move(slots_);
  }

 private:
  /// Slots of the parameter's shape, or of one number.
  Status ask_plain(const baleen_settings_t* settings) {
    baleen_slot_t slots[BALEEN_MAX_SLOTS]{};
    std::uint32_t count = BALEEN_MAX_SLOTS;
    BALEEN_TRY(optimizer_.plugin.check(optimizer_.table.slots(optimizer_.self, settings, slots, &count)));
    BALEEN_TRY(check_count(count));
    for (const baleen_slot_t& slot : std::span(slots, count)) {
      const std::size_t length = strnlen(slot.name, sizeof slot.name);
      if (length == sizeof slot.name)
        return wrong("the name of a slot has no end; it takes at most " + std::to_string(sizeof slot.name - 1) +
                     " bytes");
      slots_.push_back({{slot.name, length}, slot.scalar ? scalar() : parameter_.type, slot.initial});
    }
    return {};
  }

  Status ask_shaped(const baleen_settings_t* settings) {
    const ValueType& type = parameter_.type;
    std::vector<baleen_string_t> axes;
    for (std::size_t d = 0; d < type.shape.size(); ++d) axes.push_back(abi(axis(d)));  // borrowed of the job
    baleen_slots_t asked{};
    asked.size = sizeof(asked);
    asked.name = abi(parameter_.name);
    asked.dtype = type.dtype;
    asked.rank = static_cast<std::uint32_t>(type.shape.size());
    asked.shape = type.shape.data();
    asked.axes = axes.data();
    asked.settings = settings;
    asked.self = this;
    asked.add = [](void* self, const baleen_shaped_slot_t* slot) {
      auto& all = *static_cast<Slots*>(self);
      if (all.status_) all.status_ = all.add(copy_in(slot));
    };
    Status answered = optimizer_.plugin.check(optimizer_.table.slots_of(optimizer_.self, &asked));
    BALEEN_TRY(status_);
    return answered;
  }

  Status add(const baleen_shaped_slot_t& slot) {
    if (slot.size == 0) return no_size("optimizer `" + optimizer_.plugin.descriptor().name + "`: `add` of a slot");
    BALEEN_TRY(check_count(slots_.size() + 1));
    const std::string name(view(slot.name));
    const std::string which = "slot `" + name + "` of `" + parameter_.name + "`: ";
    if (slot.rank > BALEEN_MAX_RANK)
      return wrong(which + "it has " + std::to_string(slot.rank) + " dimensions; the most is " +
                   std::to_string(BALEEN_MAX_RANK));
    SlotSpec spec{name, scalar(), slot.initial};
    for (std::uint32_t d = 0; d < slot.rank; ++d) BALEEN_TRY(add_dimension(slot, d, which, spec));
    if (spec.type.shape == parameter_.type.shape && is_identity(spec.follows)) spec.follows.clear();
    slots_.push_back(std::move(spec));
    return {};
  }

  Status add_dimension(const baleen_shaped_slot_t& slot, std::uint32_t d, const std::string& which, SlotSpec& spec) {
    const Shape& shape = parameter_.type.shape;
    const std::string what = which + "dimension " + std::to_string(d);
    const std::int64_t extent = slot.shape[d];
    const std::int32_t follows = slot.follows[d];
    if (extent < 1) return wrong(what + " has the extent " + std::to_string(extent) + "; the least is 1");
    if (follows < -1 || follows >= static_cast<std::int32_t>(shape.size()))
      return wrong(what + " follows dimension " + std::to_string(follows) + " of a parameter " + to_string(shape) +
                   "; take one of its dimensions, or -1 for none");
    if (follows >= 0 && extent != shape[static_cast<std::size_t>(follows)])
      return wrong(what + " has the extent " + std::to_string(extent) + " and follows dimension " +
                   std::to_string(follows) + " of " + to_string(shape) +
                   "; give it that extent, or let it follow none");
    if (follows >= 0 && std::count(spec.follows.begin(), spec.follows.end(), follows) > 0)
      return wrong(what + " follows dimension " + std::to_string(follows) +
                   ", which an earlier one follows; let it follow none");
    spec.type.shape.push_back(extent);
    spec.type.axes.emplace_back(follows < 0 ? std::string_view() : axis(static_cast<std::size_t>(follows)));
    spec.follows.push_back(follows);
    return {};
  }

  static bool is_identity(const std::vector<int>& follows) {
    std::vector<int> all(follows.size());
    std::iota(all.begin(), all.end(), 0);
    return follows == all;
  }

  Status check_names() const {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      const std::string& name = slots_[i].name;
      if (name.empty() || name.size() > kLongestName)
        return wrong("the name of a slot of `" + parameter_.name + "` has " + std::to_string(name.size()) +
                     " bytes; it takes 1 to " + std::to_string(kLongestName));
      for (std::size_t j = 0; j < i; ++j)
        if (slots_[j].name == name) return wrong("two slots of `" + parameter_.name + "` are called `" + name + "`");
    }
    return {};
  }

  Status check_count(std::size_t count) const {
    if (count <= BALEEN_MAX_SLOTS) return {};
    return wrong("it has " + std::to_string(count) + " slots per parameter; the most is " +
                 std::to_string(BALEEN_MAX_SLOTS));
  }

  /// A fault of the plugin, not of its user.
  Error wrong(const std::string& text) const {
    return internal("optimizer `" + optimizer_.plugin.descriptor().name + "`: " + text);
  }

  ValueType scalar() const { return {parameter_.type.dtype, {}, {}}; }
  std::string_view axis(std::size_t d) const {
    return d < parameter_.type.axes.size() ? std::string_view(parameter_.type.axes[d]) : std::string_view();
  }

  const OpenedOptimizer& optimizer_;
  const ParameterSpec& parameter_;
  std::vector<SlotSpec> slots_;
  Status status_;
};

}  // namespace

Result<std::vector<SlotSpec>> slots_of(const OpenedOptimizer& optimizer, const ParameterSpec& parameter,
                                       const baleen_settings_t* settings) {
  return Slots(optimizer, parameter).ask(settings);
}

}  // namespace baleen
