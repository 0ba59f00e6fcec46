/// \file What of an update runs during the backward pass.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "baleen/dtype.hpp"
#include "compiler/plan/passes.hpp"

namespace baleen {
namespace {

/// Collectives that may be under way when the squares of an earlier one's result are computed.
constexpr std::size_t kUnderWay = 2;

/// Moves ops from the section of the update into that of the backward pass. A place there is the number of its ops that
/// come before.
class UpdateAdvancer {
 public:
  UpdateAdvancer(Graph& graph, Section& backward, Section& update)
      : graph_(graph), backward_(backward), update_(update) {
    for (std::size_t i = 0; i < backward.ops.size(); ++i) {
      const Op& op = graph_.op(backward.ops[i]);
      places_[op.id] = i;
      if (!op.kind->has(kCollective)) continue;
      collectives_.push_back(i);
      if (op.schedule->bucket) last_of_[*op.schedule->bucket] = i;
    }
    for (std::size_t i = 0; i < update.ops.size(); ++i) numbers_[update.ops[i]] = i;
  }

  void run() {
    find_independent();
    advance_independent();
    advance_squares();
    if (!earlier_.empty()) weave();
  }

 private:
  const Op& op(std::size_t i) const { return graph_.op(update_.ops[i]); }

  /// Of the update; nothing: it is computed elsewhere, or given.
  std::optional<std::size_t> maker(ValueId v) const {
    const auto found = numbers_.find(graph_.value(v).producer);
    return found == numbers_.end() ? std::nullopt : std::optional(found->second);
  }
  /// A parameter, a state, or a number that the host gives; not the batch.
  bool is_kept(ValueId v) const {
    const Value& value = graph_.value(v);
    const Op& source = graph_.op(value.producer);
    return source.inputs.empty() && source.kind->has(kStructural) && value.role != Role::input;
  }
  static bool assigns(const Op& op) { return op.kind->has(kStructural) && op.kind->has(kSideEffect); }

  /// Ops that read nothing of this step.
  void find_independent() {
    is_independent_.assign(update_.ops.size(), 0);
    for (std::size_t i = 0; i < update_.ops.size(); ++i)
      is_independent_[i] = !assigns(op(i)) && std::ranges::all_of(op(i).inputs, [&](ValueId v) {
        const std::optional<std::size_t> made = maker(v);
        return made ? is_independent_[*made] != 0 : is_kept(v);
      });
  }

  /// Behind the last op of the backward pass that reads `v`: itself, as a view, or out of a collective, which is not
  /// over before its result is needed. Nothing: something of the update does that has to stay.
  std::optional<std::size_t> behind_readers(ValueId v) const {
    std::size_t place = 0;
    for (const OpId user : graph_.value(v).users) {
      const Op& reader = graph_.op(user);
      if (assigns(reader) && reader.inputs[0] == v) continue;
      if (const auto number = numbers_.find(user); number != numbers_.end() && !is_independent_[number->second])
        return std::nullopt;
      if (const auto found = places_.find(user); found != places_.end()) place = std::max(place, found->second + 1);
      if (!reader.kind->has(kView) && !reader.kind->has(kCollective)) continue;
      const std::optional<std::size_t> shown = behind_readers(reader.outputs[0]);
      if (!shown) return std::nullopt;
      place = std::max(place, *shown);
    }
    return place;
  }

  /// Behind what a value of this step comes from; 0: nothing of the backward pass.
  std::size_t made_at(ValueId v) const {
    const OpId producer = graph_.value(v).producer;
    if (const auto found = places_.find(producer); found != places_.end()) return found->second;
    std::size_t last = 0;
    if (numbers_.contains(producer))
      for (const ValueId from : graph_.op(producer).inputs)
        if (graph_.value(from).rank() > 0) last = std::max(last, made_at(from));
    return last;
  }

  /// Where the new value is made of a state that waits for this update; 0: no input of the op is one.
  std::size_t next_made_at(const Op& op) const {
    std::size_t last = 0;
    for (const ValueId v : op.inputs)
      for (const OpId user : graph_.value(v).users) {
        const Op& assign = graph_.op(user);
        if (!assigns(assign) || assign.inputs[0] != v) continue;
        const std::optional<std::size_t> made = maker(assign.inputs[1]);
        if (!made || !is_independent_[*made]) last = std::max(last, made_at(assign.inputs[1]));
      }
    return last;
  }

  /// Whether it handles so many pieces that these are to have the whole backward pass.
  bool is_large(const Op& op) const {
    return std::ranges::any_of(op.inputs, [&](ValueId v) {
      const Value& value = graph_.value(v);
      const auto bytes = static_cast<std::uint64_t>(element_count(value.shape)) * dtype_size(value.dtype);
      return value.offloaded_piece > 0 && bytes > kFewPieces * value.offloaded_piece;
    });
  }

  /// What makes new values goes behind the readers of the old ones, and what that alone needs right before it. What is
  /// small stands where the next step's gradient is made, rather than all in a row where the pass begins. A collective
  /// stays: it writes in its result's place where nothing of its section reads that.
  void advance_independent() {
    std::map<std::size_t, std::size_t> own;  // places of what makes new values
    for (std::size_t i = 0; i < update_.ops.size(); ++i) {
      if (!assigns(op(i)) || graph_.value(op(i).inputs[0]).rank() == 0) continue;
      const std::optional<std::size_t> made = maker(op(i).inputs[1]);
      if (!made || !is_independent_[*made] || op(*made).kind->has(kCollective)) continue;
      const std::optional<std::size_t> place = behind_readers(op(i).inputs[0]);
      if (place) own[*made] = std::max(own[*made], *place);
    }
    for (auto& [i, place] : own)
      if (!is_large(op(i))) place = std::max(place, next_made_at(op(i)));
    std::vector<char> is_needed(update_.ops.size(), 0);
    for (std::size_t i = update_.ops.size(); i-- > 0;) {
      if (!own.contains(i) && !is_needed[i]) continue;
      is_needed[i] = 1;
      for (const ValueId v : op(i).inputs)
        if (const std::optional<std::size_t> made = maker(v)) is_needed[*made] = 1;
    }
    std::map<OpSchedule::Bucket, std::size_t> buckets;  // one call each: where the last of it may be
    bool changes = true;
    for (std::size_t round = 0; changes && round <= update_.ops.size(); ++round) {
      changes = false;
      for (std::size_t i = 0; i < update_.ops.size(); ++i) {
        if (!is_needed[i]) continue;
        std::size_t place = own.contains(i) ? own.at(i) : 0;
        for (const ValueId v : op(i).inputs)
          if (const std::optional<std::size_t> made = maker(v)) place = std::max(place, earlier_.at(*made));
        if (const auto& bucket = op(i).schedule->bucket) place = buckets[*bucket] = std::max(buckets[*bucket], place);
        const auto [it, is_new] = earlier_.try_emplace(i, place);
        changes |= !is_new && it->second != place;
        it->second = place;
      }
      changes |= round == 0 && !buckets.empty();
    }
    for (std::size_t i = update_.ops.size(); i-- > 0;) {
      if (!is_needed[i] || op(i).schedule->bucket) continue;
      std::optional<std::size_t> place;
      for (const ValueId v : op(i).outputs)
        for (const OpId user : graph_.value(v).users)
          if (const auto reader = numbers_.find(user); reader != numbers_.end() && is_needed[reader->second])
            place = std::min(place.value_or(backward_.ops.size()), earlier_.at(reader->second));
      if (place) earlier_[i] = std::max(earlier_[i], *place);
    }
  }

  /// Whether a late update keeps it.
  bool waits(ValueId v) const {
    return std::ranges::any_of(graph_.value(v).users, [&](OpId user) {
      const Op& reader = graph_.op(user);
      return assigns(reader) && reader.inputs[1] == v;
    });
  }

  /// Where a result of the backward pass is there without waiting: of a collective, when others have begun behind it
  /// and those of its bucket. Who reads a result sooner cuts a bucket short, and ranks whose part is empty do not read.
  std::size_t known_at(ValueId v) const {
    std::size_t made = places_.at(graph_.value(v).producer);
    const Op& maker = graph_.op(backward_.ops[made]);
    if (!maker.kind->has(kCollective)) return made + 1;
    if (maker.schedule->bucket) made = last_of_.at(*maker.schedule->bucket);
    const auto next = std::ranges::upper_bound(collectives_, made);
    const auto left = static_cast<std::size_t>(collectives_.end() - next);
    return left < kUnderWay ? backward_.ops.size() : next[kUnderWay - 1] + 1;
  }

  /// Sums over all elements of what waits, so that it need not be read once more when it may lie elsewhere.
  void advance_squares() {
    for (std::size_t i = 0; i < update_.ops.size(); ++i) {
      if (op(i).kind->name != "reduce" || graph_.value(op(i).outputs[0]).rank() > 0) continue;
      const std::optional<std::size_t> square = maker(op(i).inputs[0]);
      if (!square || !op(*square).kind->has(kPointwise) || op(*square).inputs.empty()) continue;
      const ValueId gradient = op(*square).inputs[0];
      const bool is_alone = std::ranges::all_of(op(*square).inputs, [&](ValueId v) { return v == gradient; }) &&
                            op(*square).outputs.size() == 1 && graph_.value(op(*square).outputs[0]).users.size() == 1;
      if (!is_alone || !places_.contains(graph_.value(gradient).producer) || !waits(gradient)) continue;
      earlier_[*square] = earlier_[i] = known_at(gradient);
    }
  }

  void weave() {
    std::multimap<std::size_t, OpId> moved;
    std::vector<OpId> stay;
    for (std::size_t i = 0; i < update_.ops.size(); ++i) {
      const auto found = earlier_.find(i);
      if (found == earlier_.end())
        stay.push_back(update_.ops[i]);
      else
        moved.emplace(found->second, update_.ops[i]);
    }
    std::vector<OpId> all;
    all.reserve(backward_.ops.size() + moved.size());
    auto next = moved.begin();
    for (std::size_t place = 0; place <= backward_.ops.size(); ++place) {
      for (; next != moved.end() && next->first == place; ++next) all.push_back(next->second);
      if (place < backward_.ops.size()) all.push_back(backward_.ops[place]);
    }
    backward_.ops = std::move(all);
    update_.ops = std::move(stay);
  }

  Graph& graph_;
  Section &backward_, &update_;
  std::unordered_map<OpId, std::size_t> places_, numbers_;  ///< by op, in the backward pass and in the update
  std::vector<std::size_t> collectives_;                    ///< of the backward pass: their places
  std::map<OpSchedule::Bucket, std::size_t> last_of_;       ///< where the last collective of a bucket stands
  std::vector<char> is_independent_;                        ///< by number of the update's op
  std::map<std::size_t, std::size_t> earlier_;              ///< likewise: its place
};

}  // namespace

void advance_updates(ScheduledGraph& scheduled) {
  if (scheduled.micro_batches > 1) return;
  for (std::size_t s = 1; s < scheduled.sections.size(); ++s) {
    Section &backward = scheduled.sections[s - 1], &update = scheduled.sections[s];
    if (backward.phase != Phase::backward || update.phase != Phase::update) continue;
    if (backward.loop < 0 && update.loop < 0) UpdateAdvancer(scheduled.graph, backward, update).run();
  }
}

}  // namespace baleen
