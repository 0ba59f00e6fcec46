/// \file What an op could do along one mesh axis, from its letters and the strategies' offers.
#include "compiler/placement/candidates.hpp"

#include <algorithm>

namespace baleen {
namespace {

std::vector<Placement> placed(const std::vector<std::string>& operands, char letter, bool balanced,
                              const Placement& without) {
  std::vector<Placement> result;
  for (const std::string& operand : operands) {
    const auto dim = operand.find(letter);
    const int d = static_cast<int>(dim);
    result.push_back(dim == std::string::npos ? without : balanced ? Placement::balanced(d) : Placement::shard(d));
  }
  return result;
}

/// Every tensor is cut flat; scalar results are sums over the elements.
Candidate flat(const Decided& decided) {
  Candidate candidate{{Choice::Kind::shard, kAllLetters, 0}, {}, {}, nullptr, nullptr, 0};
  for (const std::string& letters : decided.letters.iteration->inputs)
    candidate.inputs.push_back(letters.empty() ? Placement::replicate() : Placement::flat());
  for (const std::string& letters : decided.letters.iteration->outputs)
    candidate.outputs.push_back(letters.empty() ? Placement::partial() : Placement::flat());
  return candidate;
}

/// Ops of the update, and sums of cotangents, work on any shard that their operands have.
bool is_free(const Op& op) {
  return op.phase == Phase::update || (op.phase == Phase::backward && op.forward_op == kNone);
}

const Offer* taken_offer(const Decided& decided, int axis) {
  for (const Candidate& candidate : decided.chosen)
    if (candidate.offer &&
        std::find(candidate.offer->axes.begin(), candidate.offer->axes.end(), axis) != candidate.offer->axes.end())
      return candidate.offer;
  return nullptr;
}

Candidate of_offer(const Offer& offer, std::uint32_t index, int axis) {
  const auto at = static_cast<std::size_t>(std::find(offer.axes.begin(), offer.axes.end(), axis) - offer.axes.begin());
  const bool first = at == 0;
  return {{Choice::Kind::offer, 0, index}, offer.inputs[at], offer.outputs[at], nullptr, &offer,
          first ? offer.bytes : 0};
}

}  // namespace

Candidates::Candidates(const Graph& graph, const PlacementRequest& request, const ValueCopies& copies)
    : graph_(graph), request_(request), copies_(copies) {
  for (std::uint32_t i = 0; i < request.offers.size(); ++i) offers_.emplace(request.offers[i].op, i);
  balanced_.resize(graph.mesh().axes.size());
  for (int axis = 0; axis < static_cast<int>(balanced_.size()); ++axis) {
    const auto at = static_cast<std::size_t>(axis);
    for (const auto& [value, pin] : request.pins)
      if (pin.placements[at]) note_balanced(value, axis, *pin.placements[at]);
    for (const auto& [value, layout] : request.used) note_balanced(value, axis, layout[at]);
  }
}

void Candidates::note_balanced(ValueId value, int axis, const Placement& placement) {
  if (placement.kind != Placement::Kind::shard_balanced) return;
  const std::string& name = graph_.value(value).axis(static_cast<std::size_t>(placement.argument));
  if (!name.empty()) balanced_[static_cast<std::size_t>(axis)].insert(name);
}

bool Candidates::may_cut(const Op& op, const Letter& letter, int axis) const {
  if (is_free(op)) return true;
  const auto& cuts = request_.cuts[static_cast<std::size_t>(axis)];
  return std::any_of(cuts.begin(), cuts.end(), [&](const std::string& name) {
    return name.empty() ? letter.axes.empty() : letter.has_axis(name);
  });
}

std::int64_t Candidates::parts(const Decided& decided, const Letter& letter, int axis) const {
  std::int64_t parts = graph_.mesh().size(axis) * (is_balanced(decided, letter, axis) ? 2 : 1);
  for (std::size_t i = 0; i < decided.chosen.size(); ++i) {
    const Choice& choice = decided.chosen[i].choice;
    if (choice.kind == Choice::Kind::shard && choice.letter == letter.name) parts *= graph_.mesh().axes[i].size;
  }
  return parts;
}

/// A letter is cut in balanced chunks where its logical axis is in some pin, or an operand that holds it is.
bool Candidates::is_balanced(const Decided& decided, const Letter& letter, int axis) const {
  for (const std::string& name : balanced_[static_cast<std::size_t>(axis)])
    if (letter.has_axis(name)) return true;
  for (std::size_t i = 0; i < decided.op.inputs.size(); ++i) {
    const auto dim = decided.letters.iteration->inputs[i].find(letter.name);
    if (dim == std::string::npos) continue;
    const Placement& own = copies_.layout(decided.op.inputs[i])[static_cast<std::size_t>(axis)];
    if (own.same_kind(Placement::balanced(static_cast<int>(dim)))) return true;
  }
  return false;
}

Candidate Candidates::shard(const Decided& decided, const Letter& letter, int axis) const {
  const Iteration& iteration = *decided.letters.iteration;
  Candidate candidate{{Choice::Kind::shard, letter.name, 0}, {}, {}, nullptr, nullptr, 0};
  for (const auto& internal : iteration.internal)
    if (internal.letter == letter.name) candidate.internal = &internal;
  const bool balanced = is_balanced(decided, letter, axis);
  candidate.inputs = placed(iteration.inputs, letter.name, balanced, Placement::replicate());
  candidate.outputs = placed(iteration.outputs, letter.name, balanced,
                             candidate.internal ? Placement::replicate() : Placement::partial());
  return candidate;
}

std::vector<Candidate> Candidates::list(const Decided& decided, int axis) const {
  std::vector<Candidate> list = list_without_forward(decided, axis);
  keep_forward_choice(decided, axis, list);
  return list;
}

std::vector<Candidate> Candidates::list_without_forward(const Decided& decided, int axis) const {
  if (const Offer* offer = taken_offer(decided, axis))
    return {of_offer(*offer, static_cast<std::uint32_t>(offer - request_.offers.data()), axis)};
  std::vector<Candidate> list;
  add_offers(decided, axis, list);
  const bool only = std::any_of(list.begin(), list.end(), [](const Candidate& c) { return c.offer->exclusive; });
  if (only) {
    std::erase_if(list, [](const Candidate& c) { return !c.offer->exclusive; });
    return list;
  }
  const std::size_t inputs = decided.op.inputs.size(), outputs = decided.op.outputs.size();
  const std::vector<Placement> whole(inputs, Placement::replicate());
  std::vector<Candidate> plain{
      {{}, whole, std::vector<Placement>(outputs, Placement::replicate()), nullptr, nullptr, 0}};
  if (decided.op.phase == Phase::update && decided.op.schedule->whole) return plain;
  for (const Letter& letter : decided.letters.letters)
    if (may_cut(decided.op, letter, axis) && letter.divides(parts(decided, letter, axis)))
      plain.push_back(shard(decided, letter, axis));
  if (is_free(decided.op) && decided.letters.is_elementwise()) plain.push_back(flat(decided));
  const auto& linear = decided.letters.iteration->linear;
  for (std::uint32_t s = 0; s < linear.size(); ++s) {
    Candidate pass{{Choice::Kind::partial, 0, s},
                   whole,
                   std::vector<Placement>(outputs, Placement::partial()),
                   nullptr,
                   nullptr,
                   0};
    for (std::uint32_t i : linear[s]) pass.inputs[i] = Placement::partial();
    plain.push_back(std::move(pass));
  }
  list.insert(list.begin(), std::make_move_iterator(plain.begin()), std::make_move_iterator(plain.end()));
  return list;
}

void Candidates::add_offers(const Decided& decided, int axis, std::vector<Candidate>& list) const {
  const auto [first, last] = offers_.equal_range(decided.op.id);
  for (auto it = first; it != last; ++it)
    if (request_.offers[it->second].axes.front() == axis)
      list.push_back(of_offer(request_.offers[it->second], it->second, axis));
}

void Candidates::keep_forward_choice(const Decided& decided, int axis, std::vector<Candidate>& list) const {
  if (!decided.forward_choices || decided.op.kind->has(kView) || is_cast(graph_, decided.op)) return;
  const Choice& forward = (*decided.forward_choices)[static_cast<std::size_t>(axis)];
  auto follows = [&](const Candidate& c) {
    switch (forward.kind) {
      case Choice::Kind::replicate:
      case Choice::Kind::partial: return c.choice.kind == Choice::Kind::replicate;
      case Choice::Kind::offer: return c.offer && c.offer->name == request_.offers[forward.index].name;
      case Choice::Kind::shard: break;
    }
    return c.choice.kind == Choice::Kind::shard &&
           c.choice.letter == same_letter(*decided.forward, forward.letter, decided.letters);
  };
  if (std::any_of(list.begin(), list.end(), follows))
    std::erase_if(list, [&](const Candidate& c) { return !follows(c); });
}

std::string Candidates::why_not(const Decided& decided, int axis, const Letter& letter) const {
  const std::string what = OpLetters::describe(letter);
  if (!may_cut(decided.op, letter, axis)) {
    std::string allowed;
    for (const std::string& name : request_.cuts[static_cast<std::size_t>(axis)])
      allowed += (allowed.empty() ? "" : ", ") + (name.empty() ? "dimensions without a logical axis" : name);
    return "nothing there lets it cut " + what + " (it may cut " + (allowed.empty() ? "nothing" : allowed) + ")";
  }
  const std::int64_t count = parts(decided, letter, axis);
  if (!letter.divides(count)) return what + " does not divide by " + std::to_string(count);
  return {};
}

}  // namespace baleen
