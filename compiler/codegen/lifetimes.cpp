/// \file When each storage is live, loops included, and which results take the bytes of inputs that die.
#include <algorithm>
#include <set>

#include "compiler/codegen/passes.hpp"

namespace baleen {
namespace {

/// A position's loop and the loop's first and last position.
struct LoopRange {
  int loop = -1;
  std::int64_t first = 0, last = 0;
};

class LifetimeFinder {
 public:
  LifetimeFinder(Lowered& lowered, const std::vector<ProgramStep>& steps, const Kernels& kernels)
      : lowered_(lowered), steps_(steps), kernels_(kernels), lives_(lowered.storages.size()) {}

  Lifetimes run() {
    find_loops();
    find_lives();
    for (std::size_t s = 0; s < steps_.size(); ++s)
      if (steps_[s].in_place) reuse_inputs(s);
    return collect();
  }

 private:
  struct Life {
    std::int64_t first = -1, last = -1;
    int loop = -1;                          ///< inside which all accesses lie
    bool exchanged = false;                 ///< touched by a call that is no send or receive
    std::set<std::uint32_t> sections = {};  ///< of the pipelined loop that touch it, where no other does
    bool late = false;                      ///< a send of it ends in a later turn of its section
    std::int64_t sent = -1;                 ///< where the last such send has ended, behind the loop
    bool used() const { return first >= 0; }
    /// From one part of a micro-batch to another, which does not come next.
    bool crosses() const { return late || sections.size() > 1; }
  };

  static std::int64_t position(std::size_t step) { return static_cast<std::int64_t>(step) + 1; }
  std::int64_t end() const { return position(steps_.size()); }
  int loop_of(const ProgramStep& step) const { return lowered_.sections[step.section].loop; }

  void find_loops() {
    loops_.resize(steps_.size());
    for (std::size_t begin = 0; begin < steps_.size();) {
      std::size_t stop = begin + 1;
      const int loop = loop_of(steps_[begin]);
      if (loop >= 0)
        while (stop < steps_.size() && loop_of(steps_[stop]) == loop) ++stop;
      for (std::size_t s = begin; s < stop; ++s) loops_[s] = {loop, position(begin), position(stop - 1)};
      begin = stop;
    }
  }

  bool planned(std::uint32_t storage) const {
    const Storage::Kind kind = lowered_.storages[storage].kind;
    return kind != Storage::Kind::persistent && kind != Storage::Kind::slot;
  }

  /// Storages that must last from one micro-batch to the next, although all steps that touch them may be inside the
  /// loop: sums over micro-batches, and operands of calls that start in one micro-batch of a loop only.
  std::vector<std::uint32_t> kept_in_loops() const {
    std::vector<std::uint32_t> kept;
    for (const LoweredOp& op : lowered_.ops)
      if (op.means == LoweringKind::accumulate && lowered_.has_storage(op.op.outputs[0]))
        kept.push_back(lowered_.root_of(op.op.outputs[0]));
    for (const ProgramStep& step : steps_)
      if (step.guard != Guard::always && !step.late)
        for (const auto* list : {&step.reads, &step.writes})
          for (LowValue v : *list)
            if (!lowered_.storage_of(v).is_got) kept.push_back(lowered_.root_of(v));
    return kept;
  }

  /// Whether what touches a storage first is a call that begins in a loop's last turn, and nothing else of the loop
  /// touches it in an earlier one: there is nothing in it until then. The turns of a pipeline have no such order.
  bool is_made_last(std::uint32_t storage, const std::vector<std::size_t>& touches) const {
    const int loop = loops_[touches[0]].loop;
    const auto is_own = [&](LowValue v) { return lowered_.root_of(v) == storage; };
    if (loop < 0 || loop == lowered_.pipeline.loop || lowered_.storages[storage].kind == Storage::Kind::input)
      return false;
    return std::ranges::any_of(steps_[touches[0]].writes, is_own) && std::ranges::all_of(touches, [&](std::size_t s) {
             return loops_[s].loop != loop || steps_[s].guard == Guard::last;
           });
  }

  /// A storage that is touched inside and outside of a loop lives through all of the loop; what is made in its last
  /// turn alone, from there on.
  void find_lives() {
    std::vector<std::vector<std::size_t>> touches(lowered_.storages.size());
    for (std::size_t s = 0; s < steps_.size(); ++s)
      for (const auto* list : {&steps_[s].reads, &steps_[s].writes})
        for (LowValue v : *list) {
          Life& life = lives_[lowered_.root_of(v)];
          if (steps_[s].late && !lowered_.in_pipeline(steps_[s].section))
            life.sent = std::max(life.sent, position(s));
          else
            touches[lowered_.root_of(v)].push_back(s);
        }
    std::vector<char> outside(lowered_.storages.size(), 0);
    for (std::uint32_t storage = 0; storage < touches.size(); ++storage)
      outside[storage] = lowered_.storages[storage].kind == Storage::Kind::input;
    for (const auto& [name, v] : lowered_.outputs) outside[lowered_.root_of(v)] = 1;
    for (std::uint32_t storage : kept_in_loops()) outside[storage] = 1;
    for (std::uint32_t storage = 0; storage < touches.size(); ++storage) {
      const auto& list = touches[storage];
      if (!planned(storage) || list.empty()) continue;
      Life& life = lives_[storage];
      const int loop = loops_[list[0]].loop;
      const bool same = !outside[storage] &&
                        std::all_of(list.begin(), list.end(), [&](std::size_t s) { return loops_[s].loop == loop; });
      if (same) life.loop = loop;
      if (same && lowered_.pipeline.loop == loop && loop >= 0) {
        const auto any = [&](auto&& holds) { return std::any_of(list.begin(), list.end(), holds); };
        life.exchanged = any([&](std::size_t s) { return steps_[s].call && !is_pairwise(steps_[s].call->op); });
        life.late = any([&](std::size_t s) { return steps_[s].late; });
        for (const std::size_t s : list) life.sections.insert(steps_[s].section);
      }
      const bool late = is_made_last(storage, list);
      for (std::size_t s : list) {
        const bool through = !same && loops_[s].loop >= 0 && !(late && loops_[s].loop == loop);
        extend(life, through ? loops_[s].first : position(s));
        extend(life, through ? loops_[s].last : position(s));
      }
      if (!same && life.sent >= 0) extend(life, life.sent);
    }
    for (LowValue v : lowered_.sources)
      if (lowered_.storage_of(v).kind == Storage::Kind::input) extend(lives_[lowered_.root_of(v)], 0);
    for (const auto& [name, v] : lowered_.outputs)
      if (planned(lowered_.root_of(v))) extend(lives_[lowered_.root_of(v)], end());
  }

  static void extend(Life& life, std::int64_t position) {
    life.first = life.used() ? std::min(life.first, position) : position;
    life.last = std::max(life.last, position);
  }

  /// Only where the one launch of the step allows it.
  void reuse_inputs(std::size_t s) {
    const ProgramStep& step = steps_[s];
    for (const auto& [output, input] : kernels_.device[step.launches[0].kernel].aliases) {
      const std::uint32_t to = lowered_.root_of(input), from = lowered_.root_of(output);
      if (to == from || !may_share(s, output, input)) continue;
      lowered_.storages[from].merged_into = to;
      lives_[to].last = lives_[from].last;
      if (lives_[from].loop != lives_[to].loop) lives_[to].loop = -1;
      lives_[to].sections.merge(lives_[from].sections);
      lives_[to].late |= lives_[from].late;
      lives_[to].sent = std::max(lives_[to].sent, lives_[from].sent);
      lives_[to].exchanged |= lives_[from].exchanged;
      lives_[from] = {};
    }
  }

  bool may_share(std::size_t s, LowValue output, LowValue input) const {
    const std::uint32_t to = lowered_.root_of(input), from = lowered_.root_of(output);
    if (lowered_.storages[to].kind != Storage::Kind::work || lowered_.storages[from].kind != Storage::Kind::work)
      return false;
    if (!lowered_.fills_storage(output) || !lowered_.fills_storage(input)) return false;
    const LoweredValue &x = lowered_.values[input], &y = lowered_.values[output];
    if (x.dtype != y.dtype || x.shape != y.shape || lowered_.storages[to].bytes != lowered_.storages[from].bytes)
      return false;
    const Life &old = lives_[to], &made = lives_[from];
    if (old.late) return false;  // it may still be on its way when its last reader is done
    if (old.last != position(s) || made.first != position(s)) return false;
    if (loops_[s].loop >= 0 && (old.loop != loops_[s].loop || made.loop != loops_[s].loop)) return false;
    return touches_once(steps_[s], to, input) && touches_once(steps_[s], from, output);
  }

  /// No other value of the step has the storage's bytes.
  bool touches_once(const ProgramStep& step, std::uint32_t storage, LowValue value) const {
    for (const auto* list : {&step.reads, &step.writes})
      for (LowValue v : *list)
        if (v != value && lowered_.root_of(v) == storage) return false;
    return true;
  }

  /// Those of collectives change with the slots of the calls, which are as many on all ranks. What is sent lasts until
  /// it has surely been received: what the forward pass sends, until the backward pass of its chunk is done here; what
  /// the backward pass sends, until its micro-batch is over here.
  std::int64_t copies_of(const Life& life) const {
    if (life.exchanged) return lowered_.pipeline.slots;
    std::int64_t most = life.late ? copies_to_send(*life.sections.begin()) : 1;
    for (const std::uint32_t last : life.sections)
      if (last != *life.sections.begin())
        most = std::max(most, lowered_.pipeline.between(*life.sections.begin(), last));
    return most;
  }

  std::int64_t copies_to_send(std::uint32_t section) const {
    const MicroPart part = lowered_.sections[section].part;
    for (std::uint32_t other = 0; other < lowered_.sections.size(); ++other)
      if (part.pass == MicroPart::Pass::forward && lowered_.in_pipeline(other) &&
          lowered_.sections[other].part == MicroPart{MicroPart::Pass::backward, part.chunk})
        return lowered_.pipeline.between(section, other);
    return lowered_.pipeline.in_flight;
  }

  /// A storage that lives from one part to the other lives through the whole loop, with a copy per micro-batch in
  /// flight.
  void multiply(std::uint32_t number, const Life& life, Lifetimes& result) {
    const auto inside =
        std::find_if(loops_.begin(), loops_.end(), [&](const LoopRange& l) { return l.loop == life.loop; });
    Storage& storage = lowered_.storages[number];
    storage.copies = copies_of(life);
    storage.copy_bytes = align_up(storage.bytes, lowered_.alignment);
    const std::uint64_t bytes = static_cast<std::uint64_t>(storage.copies) * storage.copy_bytes;
    result.items.push_back({number, {bytes, inside->first, std::max(inside->last, life.sent)}, -1});
  }

  Lifetimes collect() {
    Lifetimes result;
    for (std::uint32_t storage = 0; storage < lives_.size(); ++storage) {
      const Life& life = lives_[storage];
      if (life.used() && planned(storage) && life.crosses())
        multiply(storage, life, result);
      else if (life.used() && planned(storage))
        (lowered_.storages[storage].kind == Storage::Kind::pinned ? result.pinned : result.items)
            .push_back({storage, {lowered_.storages[storage].bytes, life.first, life.last}, life.loop});
    }
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      std::uint64_t scratch = 0;
      for (const Launch& launch : steps_[s].launches)
        if (!launch.beside) scratch = std::max(scratch, kernels_.of(launch).scratch_bytes);
      result.scratch_of.push_back(scratch ? result.items.size() : kNone);
      if (scratch) result.items.push_back({kNone, {scratch, position(s), position(s)}, loops_[s].loop});
    }
    return result;
  }

  Lowered& lowered_;
  const std::vector<ProgramStep>& steps_;
  const Kernels& kernels_;
  std::vector<Life> lives_;  ///< by root storage
  std::vector<LoopRange> loops_;
};

}  // namespace

Lifetimes find_lifetimes(Lowered& lowered, const std::vector<ProgramStep>& steps, const Kernels& kernels) {
  return LifetimeFinder(lowered, steps, kernels).run();
}

}  // namespace baleen
