/// \file Finds the annotation that decides on each value, and puts it into the request.
#include "compiler/plan/annotations.hpp"

#include <algorithm>
#include <set>

#include "baleen/pattern.hpp"
#include "compiler/placement/op_letters.hpp"
#include "compiler/plan/passes.hpp"
#include "core/input/nearest.hpp"

namespace baleen {
namespace {

/// What a `layout` may call a value.
std::vector<std::string> names_of(const Graph& graph, const Value& value) {
  std::vector<std::string> names;
  if (value.role == Role::parameter || value.role == Role::input) names.push_back(value.name);
  const Op* producer = graph.producer(value.id);
  if (!producer) return names;
  const auto given = producer->schedule->names.find(value.result);
  if (given != producer->schedule->names.end()) names.insert(names.end(), given->second.begin(), given->second.end());
  return names;
}

/// In messages.
std::string title(const Graph& graph, const Value& value) {
  if (const std::vector<std::string> names = names_of(graph, value); !names.empty()) return "`" + names.front() + "`";
  const Op* producer = graph.producer(value.id);
  if (producer && producer->name.empty()) return "`" + producer->kind->name + "`";
  return "`" + (producer ? producer->name : value.name).str() + "`";
}

int find_axis(const Value& value, const std::string& logical_axis) {
  const auto at = std::ranges::find(*value.axes, logical_axis);
  return at == value.axes->end() ? -1 : static_cast<int>(at - value.axes->begin());
}

/// May an annotation lie on it? Gradients and the update follow from the rest.
bool is_forward(const Op& op, const Value& value) {
  return value.role == Role::parameter || value.role == Role::input ||
         (op.phase == Phase::forward && value.role == Role::activation && !op.inputs.empty());
}

void lay(std::map<ValueId, Layout>& layouts, ValueId value, int axis, const Placement& placement) {
  Layout& layout = layouts.at(value);
  layout = with_placement(layout, axis, placement);
}

/// A parameter is used as it is told; what strategies left whole between steps is stored alike.
void lay_parameter(const Graph& graph, PlacementRequest& request, ValueId value, int axis, const Placement& placement) {
  const auto at = static_cast<std::size_t>(axis);
  const auto used = request.used.try_emplace(value, Layout(request.cuts.size())).first;
  const Placement before = used->second[at];
  lay(request.used, value, axis, placement);
  const auto store = [&](ValueId stored, const Placement& as, const Placement& as_before) {
    const auto found = request.stored.find(stored);
    if (found == request.stored.end()) return;
    const Placement& now = found->second[at];
    if (now.is_replicate() || now.same_kind(as_before)) lay(request.stored, stored, axis, as);
  };
  store(value, placement, before);
  for (const TrainedParameter& trained : request.trained) {
    if (trained.parameter != value) continue;
    for (const ValueId state : trained.states)
      if (const auto as = following(graph, trained, state, placement))
        store(state, *as, *following(graph, trained, state, before));
  }
}

void allow(std::vector<std::string>& cuts, const std::string& logical_axis) {
  if (std::find(cuts.begin(), cuts.end(), logical_axis) == cuts.end()) cuts.push_back(logical_axis);
}

/// A letter's logical axis may come from another operand: then that is what the cut of a dimension without one allows.
void allow_unnamed(const Graph& graph, ValueId value, std::size_t dim, std::vector<std::string>& cuts,
                   std::set<std::pair<ValueId, std::size_t>>& seen) {
  if (!seen.insert({value, dim}).second) return;
  for (const OpId user : graph.value(value).users) {
    const Op& op = graph.op(user);
    if (op.phase != Phase::forward || !op.kind->iteration) continue;
    const OpLetters letters = letters_of(graph, op);
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const Letter* letter = op.inputs[i] == value ? letters.find(letters.iteration->inputs[i][dim]) : nullptr;
      if (!letter) continue;
      if (!letter->axes.empty()) allow(cuts, letter->axes.front());
      for (std::size_t o = 0; letter->axes.empty() && o < op.outputs.size(); ++o)
        if (const auto at = letters.iteration->outputs[o].find(letter->name); at != std::string::npos)
          allow_unnamed(graph, op.outputs[o], at, cuts, seen);
    }
  }
}

}  // namespace

Result<Placement> placement_on(const Annotation& annotation, const Value& value) {
  if (annotation.dim.empty() && annotation.number == 0) return Placement::replicate();
  const int rank = static_cast<int>(value.rank());
  if (rank == 0) return invalid("it is a single number, which cannot be cut; take the name away", annotation.where);
  if (!annotation.dim.empty()) {
    if (const int dim = find_axis(value, annotation.dim); dim >= 0) return Placement::shard(dim);
    std::vector<std::string> known;
    std::ranges::copy_if(*value.axes, std::back_inserter(known), [](const auto& axis) { return !axis.empty(); });
    return invalid(known.empty() ? "no dimension of the shape " + to_string(value.shape) +
                                       " has a logical axis; give `dim` as a number from 1 to " + std::to_string(rank)
                                 : unknown_word("logical axis", annotation.dim, known),
                   annotation.where);
  }
  const int dim = annotation.number > 0 ? annotation.number - 1 : rank + annotation.number;
  if (dim >= 0 && dim < rank) return Placement::shard(dim);
  return invalid("there is no dimension " + std::to_string(annotation.number) + " in the shape " +
                     to_string(value.shape) + "; give `dim` from 1 to " + std::to_string(rank),
                 annotation.where);
}

std::vector<std::string> Annotations::notes(const std::function<bool(int axis)>& has_strategy) const {
  std::vector<std::string> notes;
  std::set<std::string> said;
  std::vector<std::string> known;
  for (const MeshAxis& axis : mesh_.axes) known.push_back(axis.name);
  for (const Annotation& annotation : all_) {
    if (!said.insert(annotation.axis).second) continue;
    const int axis = mesh_.find(annotation.axis);
    if (axis < 0) {
      const auto near = nearest(annotation.axis, known);
      notes.push_back(annotation.where + ": the mesh has no axis `" + annotation.axis +
                      "`: what the script lays out along it stays whole" +
                      (near ? "; did you mean `" + *near + "`?" : ""));
    } else if (mesh_.size(axis) > 1 && !has_strategy(axis)) {
      notes.push_back(annotation.where + ": only the script's annotations work along the mesh axis `" +
                      annotation.axis + "`; for rules besides, name a strategy for it in the plan");
    }
  }
  return notes;
}

Result<Annotations> Annotations::create(const std::vector<Annotation>& annotations, const Mesh& mesh) {
  for (const Annotation& annotation : annotations) {
    if (mesh.find(annotation.axis) >= 0) continue;
    for (const MeshAxis& axis : mesh.axes)
      if (axis.name.starts_with(annotation.axis + "."))
        return invalid("a strategy of the plan has split the mesh axis `" + annotation.axis +
                           "` into parts; name one of them, as in axis = \"" + axis.name +
                           "\", or take the strategy out of the plan",
                       annotation.where);
  }
  return Annotations(annotations, mesh);
}

bool Annotations::claims(const std::string& axis) const {
  return std::any_of(all_.begin(), all_.end(), [&](const Annotation& a) { return a.axis == axis; });
}

bool Annotations::cuts(const Graph& graph, const Op& op) const {
  for (ValueId id : op.outputs)
    for (int axis = 0; axis < static_cast<int>(mesh_.axes.size()); ++axis) {
      if (mesh_.size(axis) == 1 || !claims(mesh_.axes[static_cast<std::size_t>(axis)].name)) continue;
      const auto wanted = wish(graph, graph.value(id), axis);
      if (wanted && *wanted && (*wanted)->placement.is_shard()) return true;
    }
  return false;
}

void Annotations::keep_apart(Graph& graph) const {
  const auto reads_cut = [&](const Op& op, bool deep, const auto& again) -> bool {
    return std::any_of(op.inputs.begin(), op.inputs.end(), [&](ValueId id) {
      const Op* producer = graph.producer(id);
      return producer && (cuts(graph, *producer) || (deep && again(*producer, false, again)));
    });
  };
  for (OpId id : graph.ops())
    if (graph.op(id).kind->fuse && reads_cut(graph.op(id), true, reads_cut))
      graph.op(id).schedule.edit().no_fuse = true;
}

std::optional<Annotations::Wish> Annotations::innermost(const std::vector<std::size_t>& stack, const Value& value,
                                                        int axis) const {
  for (auto number = stack.rbegin(); number != stack.rend(); ++number) {
    const Annotation& annotation = all_[*number];
    if (mesh_.find(annotation.axis) != axis) continue;
    if (annotation.kind == Annotation::Kind::replicate) return Wish{Placement::replicate(), &annotation};
    if (const int dim = find_axis(value, annotation.dim); dim >= 0) return Wish{Placement::shard(dim), &annotation};
  }
  return std::nullopt;
}

Result<std::optional<Annotations::Wish>> Annotations::wish(const Graph& graph, const Value& value, int axis) const {
  for (const std::string& name : names_of(graph, value))
    for (const Annotation& annotation : all_) {
      if (annotation.kind != Annotation::Kind::layout || mesh_.find(annotation.axis) != axis) continue;
      if (!matches(annotation.pattern, name)) continue;
      BALEEN_TRY_ASSIGN(const Placement placement, placement_on(annotation, value));
      return std::optional(Wish{placement, &annotation});
    }
  std::optional<Wish> result;
  for (const auto& stack : graph.producer(value.id)->schedule->annotations) {
    const std::optional<Wish> next = innermost(stack, value, axis);
    if (result && next && !result->placement.same_kind(next->placement))
      return invalid(title(graph, value) + " is to be " + in_words(result->placement) + " along `" +
                         mesh_.axes[static_cast<std::size_t>(axis)].name + "` here, and " + in_words(next->placement) +
                         " at " + next->annotation->where + "; name it in one parallel.layout, which stands above both",
                     result->annotation->where);
    if (next) result = next;
  }
  return result;
}

Status Annotations::check_extent(const Value& value, int axis, const Wish& wish) const {
  if (!wish.placement.is_shard()) return {};
  const auto dim = static_cast<std::size_t>(wish.placement.argument);
  const std::int64_t extent = value.shape[dim], ranks = mesh_.size(axis);
  if (extent >= ranks) return {};
  const std::string what =
      value.axis(dim).empty() ? "dimension " + std::to_string(dim + 1) : "`" + value.axis(dim) + "`";
  return invalid(what + " = " + std::to_string(extent) + " of " + to_string(value.shape) + " cannot be cut over the " +
                     std::to_string(ranks) + " ranks along `" + wish.annotation->axis + "`; make it " +
                     std::to_string(ranks) + " or more, or the axis " + std::to_string(extent) + " or less",
                 wish.annotation->where);
}

/// Operands that are cut together, one extent being a multiple of another's (heads that share keys), must have their
/// cuts at the same places.
Status Annotations::check_shared(const Graph& graph, const Op& op, int axis) const {
  const std::int64_t ranks = mesh_.size(axis);
  if (op.schedule->annotations.empty()) return {};
  const std::vector<std::size_t>& stack = op.schedule->annotations.front();
  for (const std::size_t number : stack) {
    const Annotation& annotation = all_[number];
    if (annotation.kind != Annotation::Kind::split || mesh_.find(annotation.axis) != axis) continue;
    std::set<std::int64_t> extents;
    for (ValueId id : op.inputs) {
      const Value& value = graph.value(id);
      const auto wanted = innermost(stack, value, axis);
      if (!wanted || wanted->annotation != &annotation) continue;
      extents.insert(value.shape[static_cast<std::size_t>(wanted->placement.argument)]);
    }
    extents.erase(1);  // broadcast
    if (extents.size() < 2) continue;
    if (std::all_of(extents.begin(), extents.end(), [&](std::int64_t e) { return e % ranks == 0; })) continue;
    std::string all;
    for (std::int64_t extent : extents) all += (all.empty() ? "" : " and ") + std::to_string(extent);
    return invalid(op.name + ": `" + annotation.dim + "` = " + all + " cannot be cut together over the " +
                       std::to_string(ranks) + " ranks along `" + annotation.axis + "`; make each a multiple of " +
                       std::to_string(ranks),
                   annotation.where);
  }
  return {};
}

Status Annotations::check_offers(const Graph& graph, const PlacementRequest& request, int axis) const {
  std::set<std::pair<OpId, std::size_t>> kept;
  const auto each = [&](auto&& visit) -> Status {
    for (const Offer& offer : request.offers) {
      const auto at = std::find(offer.axes.begin(), offer.axes.end(), axis);
      if (!offer.exclusive || at == offer.axes.end()) continue;
      const Op& op = graph.op(offer.op);
      for (std::size_t i = 0; i < op.inputs.size(); ++i) {
        if (graph.value(op.inputs[i]).role != Role::parameter) continue;
        BALEEN_TRY_ASSIGN(const auto wanted, wish(graph, graph.value(op.inputs[i]), axis));
        const Placement& demanded = offer.inputs[static_cast<std::size_t>(at - offer.axes.begin())][i];
        if (wanted) BALEEN_TRY(visit(offer, i, *wanted, demanded));
      }
    }
    return {};
  };
  BALEEN_TRY(each([&](const Offer& offer, std::size_t i, const Wish& wanted, const Placement& demanded) -> Status {
    if (demanded.same_kind(wanted.placement)) kept.insert({offer.op, i});
    return {};
  }));
  return each([&](const Offer& offer, std::size_t i, const Wish& wanted, const Placement& demanded) -> Status {
    if (kept.contains({offer.op, i})) return {};
    const Op& op = graph.op(offer.op);
    return invalid("`" + graph.value(op.inputs[i]).name + "` is to be " + in_words(wanted.placement) + " along `" +
                       wanted.annotation->axis + "`, but strategy `" + offer.strategy + "` demands it " +
                       in_words(demanded) + " for its own form of " + op.name +
                       "; take the annotation away, or the strategy off that axis",
                   wanted.annotation->where);
  });
}

/// Where one coordinate alone computes an op, a result that is cut or whole along the axis would call all others to it.
Status Annotations::check_coordinates(const Graph& graph, const PlacementRequest& request, int axis) const {
  const auto staged = std::ranges::find_if(request.offers, [&](const Offer& offer) {
    const auto at = std::find(offer.axes.begin(), offer.axes.end(), axis);
    if (!offer.exclusive || at == offer.axes.end()) return false;
    return std::ranges::any_of(offer.outputs[static_cast<std::size_t>(at - offer.axes.begin())], &Placement::is_at);
  });
  if (staged == request.offers.end()) return {};
  for (OpId id : graph.ops())
    for (ValueId output : graph.op(id).outputs) {
      const Value& value = graph.value(output);
      if (value.role == Role::parameter || !is_forward(graph.op(id), value)) continue;
      BALEEN_TRY_ASSIGN(const auto wanted, wish(graph, value, axis));
      if (!wanted) continue;
      return invalid(
          title(graph, value) + " is to be " + in_words(wanted->placement) + " along `" + wanted->annotation->axis +
              "`, where strategy `" + staged->strategy +
              "` has each op on the ranks of one coordinate; take the annotation away, or the strategy off " +
              "that axis",
          wanted->annotation->where);
    }
  return {};
}

/// A rank reads rows of the batch, with all their fields.
Status Annotations::check_rows(const Graph& graph, const PlacementRequest& request, int axis) const {
  const Value *cut = nullptr, *whole = nullptr;
  const Annotation* by = nullptr;
  for (OpId id : graph.ops())
    for (ValueId output : graph.op(id).outputs) {
      const Value& value = graph.value(output);
      if (value.role != Role::input || find_axis(value, "batch") != 0) continue;
      const auto pin = request.pins.find(output);
      const auto placed =
          pin == request.pins.end() ? std::nullopt : pin->second.placements[static_cast<std::size_t>(axis)];
      (placed && placed->cut() == 0 ? cut : whole) = &value;
      BALEEN_TRY_ASSIGN(const auto wanted, wish(graph, value, axis));
      if (wanted && !by) by = wanted->annotation;
    }
  if (!cut || !whole || !by) return {};
  return invalid("`" + cut->name + "` is to be cut along `batch` over the ranks of `" + by->axis + "`, and `" +
                     whole->name + "` whole: a rank reads all fields of the same rows; lay out both alike, as in " +
                     "name = { \"" + cut->name + "\", \"" + whole->name + "\" }",
                 by->where);
}

Status Annotations::apply(const Graph& graph, PlacementRequest& request) const {
  for (int axis = 0; axis < static_cast<int>(mesh_.axes.size()); ++axis) {
    const auto at = static_cast<std::size_t>(axis);
    if (mesh_.size(axis) == 1 || !claims(mesh_.axes[at].name)) continue;
    for (OpId id : graph.ops()) {
      const Op& op = graph.op(id);
      for (ValueId output : op.outputs) {
        const Value& value = graph.value(output);
        if (!is_forward(op, value)) continue;
        BALEEN_TRY_ASSIGN(const auto wanted, wish(graph, value, axis));
        if (!wanted) continue;
        if (Status fits = check_extent(value, axis, *wanted); !fits)
          return invalid(title(graph, value) + ": " + fits.error().message, fits.error().where);
        if (wanted->placement.is_shard()) {
          const auto dim = static_cast<std::size_t>(wanted->placement.argument);
          allow(request.cuts[at], value.axis(dim));
          std::set<std::pair<ValueId, std::size_t>> seen;
          if (value.axis(dim).empty()) allow_unnamed(graph, output, dim, request.cuts[at], seen);
        }
        if (value.role == Role::parameter) {
          lay_parameter(graph, request, output, axis, wanted->placement);
        } else {
          Pin& pin = request.pins[output];
          pin.placements.resize(mesh_.axes.size());
          pin.placements[at] = wanted->placement;
        }
      }
      if (op.phase == Phase::forward) BALEEN_TRY(check_shared(graph, op, axis));
    }
    BALEEN_TRY(check_rows(graph, request, axis));
    BALEEN_TRY(check_offers(graph, request, axis));
    BALEEN_TRY(check_coordinates(graph, request, axis));
  }
  return {};
}

Error Annotations::explain(Error error, const Graph& graph) const {
  for (std::size_t id = 0; id < graph.value_count(); ++id) {
    const Value& value = graph.value(static_cast<ValueId>(id));
    if (value.role != Role::parameter || error.message.find("`" + value.name + "`") == std::string::npos) continue;
    for (int axis = 0; axis < static_cast<int>(mesh_.axes.size()); ++axis) {
      const std::string& name = mesh_.axes[static_cast<std::size_t>(axis)].name;
      if (error.message.find("`" + name + "`") == std::string::npos) continue;
      const auto wanted = wish(graph, value, axis);
      if (!wanted || !*wanted) continue;
      error.message += "; the script wants `" + value.name + "` " + in_words((*wanted)->placement) + " along `" +
                       (*wanted)->annotation->axis + "` at " + (*wanted)->annotation->where +
                       ": choose another dimension there, or take it away";
      return error;
    }
  }
  return error;
}

}  // namespace baleen
