/// \file Which updates can be done piece by piece, and the steps that do it.
#include "compiler/codegen/update_pieces.hpp"

#include <algorithm>
#include <set>

#include "baleen/dtype.hpp"
#include "compiler/codegen/ranges.hpp"

namespace baleen {
namespace {

/// Of one update. More of them cost time to plan, and hide no more of the transfers.
constexpr std::int64_t kMostPieces = 2048;

/// Operands of a step, each once.
std::set<LowValue> operands_of(const ProgramStep& step) {
  std::set<LowValue> all(step.reads.begin(), step.reads.end());
  all.insert(step.writes.begin(), step.writes.end());
  return all;
}

/// Random numbers and coordinates come from where an element lies in the whole.
bool depends_on_places(const Op& op) {
  const Expression& e = op.attributes.expression("expression");
  return std::ranges::any_of(e.code, [](const auto& i) {
    return i.opcode == BALEEN_X_INDEX || i.opcode == BALEEN_X_UNIFORM || i.opcode == BALEEN_X_NORMAL;
  });
}

}  // namespace

bool is_elementwise_update(const Lowered& lowered, const ProgramStep& step) {
  const LoweredSection& section = lowered.sections[step.section];
  if (section.loop >= 0 || step.launches.size() != 1 || step.call || step.wait_for != kNone || !step.zeros.empty() ||
      step.launches[0].guard != Guard::always)
    return false;
  const Op& op = lowered.ops[step.op].op;
  if (op.phase != Phase::update || !op.kind->has(kPointwise) || depends_on_places(op)) return false;
  const std::set<LowValue> operands = operands_of(step);
  std::set<LowValue> own(op.inputs.begin(), op.inputs.end());
  own.insert(op.outputs.begin(), op.outputs.end());
  if (own != operands) return false;  // other ops are computed with it
  const std::int64_t all = lowered.elements(op.outputs[0]);
  return std::ranges::all_of(operands, [&](LowValue v) {
    const bool is_number = lowered.elements(v) == 1 && std::ranges::find(op.inputs, v) != op.inputs.end();
    return is_number || (lowered.elements(v) == all && lowered.is_dense(v));
  });
}

Status UpdatePieces::split(const std::vector<StoredValue>& stored) {
  values_ = stored;
  for (std::size_t n = 0; n < stored.size(); ++n) stored_.emplace(lowered_.root_of(stored[n].old), n);
  count_users();
  std::vector<ProgramStep> result;
  result.reserve(steps_.size());
  std::vector<char> is_split(stored.size(), 0);
  for (const ProgramStep& step : steps_) {
    numbers_.push_back(result.size());
    const std::optional<Cut> cut = cut_of(step);
    if (!cut) {
      result.push_back(step);
      continue;
    }
    for (const LowValue v : operands_of(step))
      if (is_alone(v)) is_split[stored_.at(lowered_.root_of(v))] = 1;
    BALEEN_TRY(split(step, *cut, result));
  }
  numbers_.push_back(result.size());
  for (std::size_t n = 0; n < stored.size(); ++n)
    if (!is_split[n]) parts_.push_back({n, stored[n]});
  steps_ = std::move(result);
  return {};
}

void UpdatePieces::count_users() {
  for (const ProgramStep& step : steps_) {
    std::set<std::uint32_t> roots;
    for (const LowValue v : operands_of(step)) roots.insert(lowered_.root_of(v));
    for (const std::uint32_t root : roots)
      if (stored_.contains(root)) ++users_[root];
  }
}

/// Whether its buffer is this step's alone, so that a piece of it may have one of its own.
bool UpdatePieces::is_alone(LowValue operand) const {
  const std::uint32_t root = lowered_.root_of(operand);
  const auto found = stored_.find(root);
  if (found == stored_.end() || users_.at(root) != 1 || lowered_.storages[root].piece_bytes == 0) return false;
  const StoredValue& value = values_[found->second];
  return value.next == kNone || lowered_.root_of(value.next) == root;
}

/// Nothing: it is done at once.
std::optional<UpdatePieces::Cut> UpdatePieces::cut_of(const ProgramStep& step) const {
  if (!is_elementwise_update(lowered_, step)) return std::nullopt;
  const std::int64_t all = lowered_.elements(lowered_.ops[step.op].op.outputs[0]);
  std::uint64_t bytes = 0, widest = 1;
  for (const LowValue v : operands_of(step)) {
    if (lowered_.elements(v) != all) continue;
    if (!step.on_host && !lowered_.fills_storage(v)) return std::nullopt;
    if (!is_alone(v)) continue;
    const std::uint64_t piece = lowered_.storage_of(v).piece_bytes;
    bytes = bytes == 0 ? piece : std::min(bytes, piece);
    widest = std::max<std::uint64_t>(widest, dtype_size(lowered_.values[v].dtype));
  }
  if (bytes == 0) return std::nullopt;
  const std::int64_t asked = std::max(static_cast<std::int64_t>(bytes / widest), all / kMostPieces);
  const Cut cut{std::max<std::int64_t>(1, asked / kStoredElements) * kStoredElements, all};
  return cut.piece < all ? std::optional(cut) : std::nullopt;
}

/// `own`: by root, the piece's storage.
LowValue UpdatePieces::piece_of(LowValue operand, std::int64_t first, std::int64_t count,
                                std::map<std::uint32_t, std::uint32_t>& own) {
  const std::uint32_t root = lowered_.root_of(operand);
  first += lowered_.values[operand].view.offset;
  if (!is_alone(operand)) return add_stretch(lowered_, operand, root, first, count);
  const auto [storage, is_new] = own.try_emplace(root, 0);
  if (is_new) storage->second = add_part(lowered_, operand, first, count);
  return add_stretch(lowered_, operand, storage->second, 0, count);
}

Status UpdatePieces::split(const ProgramStep& step, const Cut& cut, std::vector<ProgramStep>& result) {
  std::map<std::int64_t, std::pair<std::uint32_t, std::map<LowValue, LowValue>>> kernels;  // by elements of a piece
  const bool beside = step.on_host && host_.by == HostKernels::By::host;
  KernelStore& store = beside ? *host_.kernels : kernels_;
  for (std::int64_t first = 0; first < cut.all; first += cut.piece) {
    const std::int64_t count = std::min(cut.piece, cut.all - first);
    std::map<std::uint32_t, std::uint32_t> own;
    std::map<LowValue, LowValue> pieces;
    for (const LowValue v : operands_of(step))
      pieces[v] = lowered_.elements(v) == 1 && cut.all > 1 ? v : piece_of(v, first, count, own);
    const auto change = [&](auto& values) {
      for (LowValue& v : values)
        if (v != kNone) v = pieces.at(v);
    };
    ProgramStep part = step;
    part.in_place = false;
    change(part.reads);
    change(part.writes);
    const auto [kernel, is_new] = kernels.try_emplace(count);
    if (is_new) {
      Op op = lowered_.ops[step.op].op;
      change(op.inputs);
      change(op.outputs);
      if (op.attributes.has("shape")) op.attributes.set("shape", Shape{count});
      BALEEN_TRY_ASSIGN(kernel->second.first, store.compile(RegionView(lowered_, {&op}), op));
      for (const auto& [whole, piece] : pieces) kernel->second.second[piece] = whole;
    }
    // The kernel's operands are those of the first piece of so many elements.
    Launch& launch = part.launches[0];
    launch.kernel = kernel->second.first;
    launch.beside = beside;
    launch.operands = store[launch.kernel].operands;
    for (LowValue& v : launch.operands)
      if (v != kNone) v = pieces.at(kernel->second.second.at(v));
    for (const auto& [root, own_storage] : own) {
      const std::uint32_t storage = own_storage;
      const std::size_t number = stored_.at(root);
      const StoredValue& whole = values_[number];
      const auto piece = [&](LowValue v) { return v == kNone ? kNone : piece_of(v, first, count, own); };
      parts_.push_back({number, {piece(whole.old), piece(whole.next)}});
      if (whole.next != kNone && is_new) BALEEN_TRY(check_aliases(part, whole, storage));
    }
    result.push_back(std::move(part));
  }
  return {};
}

/// The first piece of so many elements, whose values are the kernel's.
Status UpdatePieces::check_aliases(const ProgramStep& part, const StoredValue& whole, std::uint32_t storage) const {
  const Launch& launch = part.launches[0];
  const auto has = [&](LowValue v) { return lowered_.root_of(v) == storage; };
  const auto read = std::ranges::find_if(part.reads, has), written = std::ranges::find_if(part.writes, has);
  const KernelStore& store = launch.beside ? *host_.kernels : kernels_;
  if (read == part.reads.end() || written == part.writes.end() || store.may_alias(launch.kernel, *written, *read))
    return {};
  return unsupported("`" + lowered_.values[whole.old].name + "` cannot be updated in pieces: " + store.whose() +
                     " no kernel that does it in place");
}

}  // namespace baleen
