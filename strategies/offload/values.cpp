#include "values.hpp"

#include <algorithm>
#include <set>
#include <span>

namespace baleen::offload {

Stored Values::stored(baleen_value_t id) const {
  const baleen_value_info_t info = graph_.value(id);
  std::int64_t elements = 1;
  for (std::uint32_t d = 0; d < info.rank; ++d) elements *= info.shape[d];
  Stored one{id, std::string(view(info.name)), scheduling_.local_bytes(id), elements, false, false, {}};
  for (std::uint32_t axis = 0; info.layout && axis < scheduling_.mesh().count(); ++axis)
    if (info.layout[axis].kind == BALEEN_AT)
      one.stage += std::to_string(axis) + "." + std::to_string(info.layout[axis].argument) + " ";
  return one;
}

/// Of this role, made by no op of others, and in this graph.
bool Values::is_source(const baleen_value_info_t& value, baleen_role_t role) {
  return value.role == role && value.rank > 0 && scheduling_.position(value.producer) != BALEEN_NONE &&
         graph_.op(value.producer)->inputs().empty();
}

bool Values::is_of_update(baleen_value_t id) {
  const baleen_value_info_t value = graph_.value(id);
  const std::vector<baleen_op_t> users(value.users, value.users + value.user_count);
  int assigns = 0;
  for (const baleen_op_t user : users) {
    if (graph_.info(user).phase != BALEEN_PHASE_UPDATE) return false;
    const auto op = graph_.op(user);
    assigns += op->kind() == "assign" && op->inputs()[0] == id ? 1 : 0;
  }
  return assigns == 1 && users.size() > 1;
}

std::string Values::late_of(baleen_value_t id) {
  const std::string name(view(graph_.value(id).name));
  constexpr std::string_view kLate = BALEEN_LATE_GRADIENT;
  return name.ends_with(kLate) ? name.substr(0, name.size() - kLate.size()) : "";
}

std::vector<Stored> Values::states() {
  std::vector<Stored> all;
  for (baleen_value_t id = 0; id < graph_.value_count(); ++id)
    if (is_source(graph_.value(id), BALEEN_ROLE_STATE) && is_of_update(id) && late_of(id).empty())
      all.push_back(stored(id));
  return all;
}

bool Values::is_late() {
  for (baleen_value_t id = 0; id < graph_.value_count(); ++id)
    if (is_source(graph_.value(id), BALEEN_ROLE_STATE) && !late_of(id).empty()) return true;
  return false;
}

std::vector<Stored> Values::parameters() {
  std::vector<Stored> all;
  for (baleen_value_t id = 0; id < graph_.value_count(); ++id)
    if (is_source(graph_.value(id), BALEEN_ROLE_PARAMETER)) all.push_back(stored(id));
  return all;
}

std::vector<baleen_value_t> Values::origins(baleen_value_t id) {
  const auto op = graph_.op(graph_.value(id).producer);
  return {op->inputs().begin(), op->inputs().end()};
}

std::vector<Stored> Values::gradients() {
  std::vector<Stored> all;
  for (baleen_value_t id = 0; id < graph_.value_count(); ++id) {
    if (!is_source(graph_.value(id), BALEEN_ROLE_STATE) || late_of(id).empty()) continue;
    all.push_back(stored(id));
    all.back().name = late_of(id);
    all.back().waits = true;
    // What it is made of, where it is not the gradient itself, which lies in its place.
    const baleen_value_info_t late = graph_.value(id);
    const std::vector<baleen_op_t> users(late.users, late.users + late.user_count);
    for (const baleen_op_t user : users) {
      const auto op = graph_.op(user);
      if (op->kind() != "assign" || op->inputs()[0] != id) continue;
      const baleen_value_t next = op->inputs()[1];
      if (graph_.value(next).role != BALEEN_ROLE_GRADIENT) add_gradients(next, late_of(id), all);
    }
  }
  for (const Stored& parameter : parameters()) {
    const baleen_value_info_t info = graph_.value(parameter.value);
    const std::vector<baleen_op_t> users(info.users, info.users + info.user_count);
    for (const baleen_op_t user : users) {
      const auto op = graph_.op(user);
      if (op->kind() != "assign" || op->inputs()[0] != parameter.value) continue;
      const baleen_value_t updated = op->inputs()[1];
      add_gradients(updated, parameter.name, all);
    }
  }
  return all;
}

/// Whether `id` is put together of `part`: as the sum of several, or as one behind the other.
bool Values::consists_of(baleen_value_t id, baleen_value_t part) {
  const baleen_value_info_t whole = graph_.value(id), one = graph_.value(part);
  if (phase_of(id) != BALEEN_PHASE_BACKWARD || phase_of(part) != BALEEN_PHASE_BACKWARD) return false;
  const bool is_sum = (graph_.info(whole.producer).traits & BALEEN_TRAIT_POINTWISE) != 0 &&
                      std::ranges::equal(std::span(whole.shape, whole.rank), std::span(one.shape, one.rank));
  return is_sum || graph_.op(whole.producer)->kind() == "concat";
}

/// From the new value back through the update to what comes from the backward pass, and what that is put together of.
/// Not through single numbers, such as the norm, which come from all gradients.
void Values::add_gradients(baleen_value_t updated, const std::string& name, std::vector<Stored>& all) {
  struct Found {
    baleen_value_t value;
    bool is_gradient;  ///< it, or a part of one
  };
  std::set<baleen_value_t> seen{updated};
  std::vector<Found> todo{{updated, false}};
  while (!todo.empty()) {
    const Found found = todo.back();
    todo.pop_back();
    const std::vector<baleen_value_t> from = origins(found.value);
    const bool is_gradient = found.is_gradient || graph_.value(found.value).role == BALEEN_ROLE_GRADIENT;
    if (from.empty() || (phase_of(found.value) != BALEEN_PHASE_UPDATE && !is_gradient)) continue;
    if (is_gradient) {
      all.push_back(stored(found.value));
      all.back().name = name;
      all.back().is_part = graph_.value(found.value).role != BALEEN_ROLE_GRADIENT;
    }
    for (const baleen_value_t other : from) {
      const bool is_part = is_gradient && consists_of(found.value, other);
      const bool follows = !is_gradient || is_part || graph_.value(other).role == BALEEN_ROLE_GRADIENT;
      if (graph_.value(other).rank > 0 && follows && seen.insert(other).second) todo.push_back({other, is_part});
    }
  }
}

/// Whether it shows a value of the forward pass in other words: in the very bytes of that, mostly.
bool Values::is_view(baleen_op_t id) const { return (graph_.info(id).traits & BALEEN_TRAIT_VIEW) != 0; }

/// By the backward pass, itself or as a view.
bool Values::is_kept(baleen_value_t id) {
  const baleen_value_info_t value = graph_.value(id);
  const std::vector<baleen_op_t> users(value.users, value.users + value.user_count);
  return std::ranges::any_of(users, [&](baleen_op_t user) {
    if (graph_.info(user).phase == BALEEN_PHASE_BACKWARD) return true;
    return graph_.info(user).phase == BALEEN_PHASE_FORWARD && is_view(user) && is_kept(graph_.op(user)->outputs()[0]);
  });
}

std::vector<Stored> Values::activations() {
  std::vector<Stored> all;
  for (baleen_value_t id = 0; id < graph_.value_count(); ++id) {
    const baleen_value_info_t value = graph_.value(id);
    if (value.role != BALEEN_ROLE_ACTIVATION || value.rank == 0 ||
        scheduling_.position(value.producer) == BALEEN_NONE || phase_of(id) != BALEEN_PHASE_FORWARD)
      continue;
    if (!origins(id).empty() && !is_view(value.producer) && is_kept(id)) all.push_back(stored(id));
  }
  return all;
}

}  // namespace baleen::offload
