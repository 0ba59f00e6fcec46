/// \file Chooses ops by block, kind, name and cost.
#include "selection.hpp"

#include <algorithm>
#include <set>

#include "baleen/pattern.hpp"

namespace baleen::recompute {

Chosen whole_blocks(const ForwardPass& pass, const Blocks& blocks, int interval) {
  Chosen wanted(pass.size(), 0);
  for (std::size_t i = 0; i < pass.size(); ++i)
    wanted[i] = blocks.of[i] >= 0 && (blocks.of[i] + 1) % interval == 0 && pass[i].eligible &&
                !is_read_outside(pass, blocks, i);
  const bool whole = std::ranges::none_of(pass.ops(), [](const ForwardOp& op) { return op.lowered; });
  return whole ? pass.needed(std::move(wanted)) : pass.without_useless(std::move(wanted));
}

Result<Chosen> cheap_ops(const ForwardPass& pass, const CheapOps& options) {
  const std::vector<std::string> usual{"attention"};
  const std::vector<std::string>& patterns = options.patterns.empty() ? usual : options.patterns;
  Chosen wanted(pass.size(), 0);
  std::set<std::string> kinds;
  std::vector<char> found(patterns.size(), 0);
  for (std::size_t i = 0; i < pass.size(); ++i) {
    const ForwardOp& op = pass[i];
    kinds.insert(op.kind);
    for (std::size_t p = 0; p < patterns.size(); ++p)
      if (matches(patterns[p], op.kind) || matches(patterns[p], op.name)) wanted[i] = found[p] = 1;
    if (op.flops <= options.flops_per_byte * static_cast<double>(pass.bytes(i))) wanted[i] = 1;
  }
  for (std::size_t p = 0; p < options.patterns.size(); ++p) {
    if (found[p]) continue;
    std::string all;
    for (const std::string& kind : kinds) all += (all.empty() ? "`" : ", `") + kind + "`";
    return invalid("`ops` names `" + patterns[p] +
                   "`, and no op of the forward pass is of that kind or belongs to a "
                   "layer of that path; the kinds are " +
                   all + ", and * stands for any text");
  }
  return pass.without_useless(std::move(wanted));
}

}  // namespace baleen::recompute
