/// \file A description's annotations: which ops they belong to, and whether they name anything at all.
#include <algorithm>
#include <set>

#include "baleen/pattern.hpp"
#include "compiler/plan/annotations.hpp"
#include "core/input/nearest.hpp"
#include "frontend/lua/description.hpp"

namespace baleen {

std::size_t Description::annotate(Annotation annotation) {
  const auto known = std::find(annotations_.begin(), annotations_.end(), annotation);
  if (known != annotations_.end()) return static_cast<std::size_t>(known - annotations_.begin());
  if (annotation.kind == Annotation::Kind::layout) check_first(annotation);
  annotations_.push_back(std::move(annotation));
  return annotations_.size() - 1;
}

void Description::check_first(const Annotation& layout) const {
  for (const Annotation& first : annotations_) {
    if (first.kind != layout.kind || first.pattern != layout.pattern || first.axis != layout.axis) continue;
    throw ScriptError(invalid("parallel.layout of `" + layout.pattern + "` along `" + layout.axis +
                                  "` is chosen already, at " + first.where + "; take one of the two away",
                              layout.where));
  }
}

std::size_t Description::enter(Annotation annotation, int depth) {
  Scope next = scope() ? *scope() : Scope{"", annotation.where, depth, {}};
  const std::size_t number = annotate(std::move(annotation));
  next.annotations.push_back(number);
  next.annotation = number;
  next.depth = depth;
  next.made.clear();
  return enter(std::move(next));
}

void Description::note_made(ValueId value) {
  for (Scope& scope : scopes_)
    if (scope.annotation) scope.made.push_back(value);
}

void Description::tag_parameter(ValueId parameter) {
  if (!scope() || scope()->annotations.empty()) return;
  Op& source = graph().op(graph().value(parameter).producer);
  if (std::ranges::find(source.schedule->annotations, scope()->annotations) == source.schedule->annotations.end())
    source.schedule.edit().annotations.push_back(scope()->annotations);
  note_made(parameter);
}

void Description::check_split(std::size_t mark) {
  if (mark >= scopes_.size() || !scopes_[mark].annotation) return;
  const Annotation& annotation = annotations_[*scopes_[mark].annotation];
  if (annotation.kind != Annotation::Kind::split) return;
  std::set<std::string> known;
  for (ValueId value : scopes_[mark].made)
    for (const std::string& axis : *graph().value(value).axes)
      if (!axis.empty()) known.insert(axis);
  if (known.contains(annotation.dim)) return;
  const std::vector<std::string> words(known.begin(), known.end());
  throw ScriptError(invalid("parallel.split: `dim`: nothing that is made inside has this logical axis; " +
                                (words.empty() ? "nothing inside has any; name dimensions with `axes`, as in nn.linear "
                                                 "{ out = 64, axes = { \"" +
                                                     annotation.dim + "\" } }"
                                               : unknown_word("logical axis", annotation.dim, words)),
                            annotation.where));
}

void Description::name_result(ValueId value) {
  const std::string name = path();
  if (name.empty()) return;
  results_.emplace(name, value);
  const bool wanted = std::any_of(annotations_.begin(), annotations_.end(), [&](const Annotation& a) {
    return a.kind == Annotation::Kind::layout && matches(a.pattern, name);
  });
  if (!wanted) return;
  const Value& made = graph().value(value);
  graph().op(made.producer).schedule.edit().names[made.result].push_back(name);
}

void Description::note_named() {
  for (const auto& [name, value] : results_) named_.emplace(name, graph_->value(value));
  for (std::size_t id = 0; id < graph_->value_count(); ++id) {
    const Value& value = graph_->value(static_cast<ValueId>(id));
    if (value.role == Role::parameter || value.role == Role::input) named_.insert_or_assign(value.name, value);
  }
}

void Description::check_layouts() const {
  for (const Annotation& annotation : annotations_) {
    if (annotation.kind != Annotation::Kind::layout) continue;
    bool any = false;
    for (const auto& [name, value] : named_) {
      if (!matches(annotation.pattern, name)) continue;
      any = true;
      if (auto fits = placement_on(annotation, value); !fits)
        throw ScriptError(invalid("parallel.layout of `" + name + "`: " + fits.error().message, annotation.where));
    }
    if (any) continue;
    std::vector<std::string> words;
    for (const auto& entry : named_) words.push_back(entry.first);
    throw ScriptError(invalid("parallel.layout: " + unknown_word("name", annotation.pattern, words) +
                                  "; a name is a parameter's, an input's, or the path of a layer for its result",
                              annotation.where));
  }
}

}  // namespace baleen
