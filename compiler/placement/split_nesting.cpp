/// \file In which order the splits of one letter by several axes nest.
#include "compiler/placement/split_nesting.hpp"

#include <algorithm>

namespace baleen {
namespace {

/// The letter of the dimension that is cut; '\0' for none.
char letter_of(const Placement& placement, const std::string& letters) {
  const auto dim = placement.cut();
  return dim && *dim >= 0 && static_cast<std::size_t>(*dim) < letters.size() ? letters[static_cast<std::size_t>(*dim)]
                                                                             : '\0';
}

}  // namespace

SplitNesting::SplitNesting(const Mesh& mesh, const Decided& decided, Cost cost)
    : mesh_(mesh), decided_(decided), cost_(std::move(cost)) {
  hold_letters_of_offers();
}

void SplitNesting::hold_letters_of_offers() {
  const auto hold = [&](const std::vector<Placement>& placements, const std::vector<std::string>& letters) {
    for (std::size_t i = 0; i < placements.size() && i < letters.size(); ++i)
      if (const char letter = letter_of(placements[i], letters[i]); letter != '\0') held_.insert(letter);
  };
  for (const Candidate& candidate : decided_.chosen) {
    if (candidate.choice.kind != Choice::Kind::offer) continue;
    hold(candidate.inputs, decided_.letters.iteration->inputs);
    hold(candidate.outputs, decided_.letters.iteration->outputs);
  }
}

Layout SplitNesting::layout(bool input, std::size_t index, const Orders& orders) const {
  Layout layout;
  for (const Candidate& candidate : decided_.chosen)
    layout.push_back(input ? candidate.inputs[index] : candidate.outputs[index]);
  for (const auto& [letter, axes] : orders)
    for (std::size_t i = 0; i < axes.size(); ++i)
      if (Placement& p = layout[static_cast<std::size_t>(axes[i])]; p.cut()) p.depth = static_cast<int>(i);
  return canonical(std::move(layout));
}

double SplitNesting::cost(const Orders& orders) const {
  double sum = 0;
  for (std::size_t i = 0; i < decided_.op.inputs.size(); ++i) sum += cost_(i, layout(true, i, orders));
  return sum;
}

bool SplitNesting::improve(Orders& orders) const {
  bool is_better = false;
  double least = cost(orders);
  for (auto& [letter, axes] : orders) {
    std::vector<int> best = axes;
    std::ranges::sort(axes);
    do {
      if (const double now = axes == best ? least : cost(orders); now < least) {
        least = now;
        best = axes;
        is_better = true;
      }
    } while (std::next_permutation(axes.begin(), axes.end()));
    axes = best;
  }
  return is_better;
}

void SplitNesting::run(OpPlacement& placed) {
  Orders orders;
  for (std::size_t a = 0; a < decided_.chosen.size(); ++a)
    if (const Choice& choice = decided_.chosen[a].choice; choice.kind == Choice::Kind::shard)
      orders[choice.letter].push_back(static_cast<int>(a));
  std::erase_if(orders, [&](const auto& one) { return one.second.size() < 2 || held_.contains(one.first); });
  // One letter's order may be of no use before another's is right.
  for (bool again = !orders.empty() && improve(orders); again && orders.size() > 1; again = improve(orders)) {
  }
  for (std::size_t i = 0; i < decided_.op.inputs.size(); ++i) placed.inputs.push_back(layout(true, i, orders));
  for (std::size_t i = 0; i < decided_.op.outputs.size(); ++i) placed.outputs.push_back(layout(false, i, orders));
}

}  // namespace baleen
