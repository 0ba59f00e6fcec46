/// \file Which results are views of others, which parts of a concat are computed in place, and the copies left over.
#include <algorithm>
#include <map>
#include <set>

#include "baleen/dtype.hpp"
#include "compiler/codegen/passes.hpp"

namespace baleen {
namespace {

/// Where in a concat's result a value is to lie.
struct Slot {
  LowValue whole = kNone;
  std::int64_t offset = 0;
  Strides strides;
};

/// Decides views and storages in the order of the ops, and rebuilds the sections with the copies that are needed.
class Placer {
 public:
  Placer(Lowered& lowered, const PersistentLayout& persistent) : lowered_(lowered), persistent_(persistent) {
    for (const LoweredAssign& assign : lowered.assigns) assigned_.insert(assign.value);
  }

  Status run() {
    for (LowValue v : lowered_.sources) place_source(v);
    find_slots();
    for (std::uint32_t s = 0; s < lowered_.sections.size(); ++s) {
      section_ = s;
      order_.clear();
      for (LowOp op : lowered_.sections[s].ops) {
        BALEEN_TRY(place_op(op));
        order_.push_back(op);
      }
      lowered_.sections[s].ops = order_;
    }
    BALEEN_TRY(separate_outputs());
    BALEEN_TRY(separate_assigns());
    return check_bytes();
  }

 private:
  LoweredValue& value(LowValue v) { return lowered_.values[v]; }

  /// Memory is planned with sums of 64 bits.
  Status check_bytes() const {
    double bytes = 0;
    for (const Storage& storage : lowered_.storages)
      bytes += static_cast<double>(storage.bytes) * static_cast<double>(storage.copies);
    if (bytes < 0x1p62) return {};
    return Error{BALEEN_NO_MEMORY, "its tensors take more bytes than can be counted, 2^62; make them smaller", {}};
  }

  void place_source(LowValue number) {
    LoweredValue& v = value(number);
    Storage storage{Storage::Kind::input, 0, v.role, v.name, 0, kNone};
    const Shape shape = lowered_.step_shape(number);
    storage.bytes = v.held ? static_cast<std::uint64_t>(element_count(shape)) * dtype_size(v.dtype) : 0;
    if (v.role == Role::parameter || v.role == Role::state) {
      const PersistentBuffer& buffer = *persistent_.find(v.name);
      storage.kind = buffer.is_offloaded() ? Storage::Kind::offloaded : Storage::Kind::persistent;
      storage.offset = buffer.offset;
      storage.slot = buffer.slot;
      storage.ahead = buffer.spec.offloaded_ahead.value_or(0);
      storage.piece_bytes = buffer.spec.offloaded_piece;
      storage.updated_on_host = buffer.is_offloaded() && buffer.spec.updated_on_host;
    }
    v.view = {lowered_.add_storage(std::move(storage)), 0, 0, contiguous_strides(shape)};
    if (v.micro.dim >= 0) {
      const auto dim = static_cast<std::size_t>(v.micro.dim);
      v.view.micro_step = v.shape[dim] * v.view.strides[dim];
    }
  }

  void own_storage(LowValue number) {
    LoweredValue& v = value(number);
    const auto storage = lowered_.add_storage({Storage::Kind::work, lowered_.bytes(number), v.role, v.name, 0, kNone});
    v.view = {storage, 0, 0, contiguous_strides(v.shape)};
  }

  /// Which values a kernel can compute where a concat wants them: its inputs, seen through reshapes and transposes.
  void find_slots() {
    const auto users = lowered_.users();
    for (const LoweredOp& concat : lowered_.ops) {
      if (concat.means != LoweringKind::join) continue;
      const auto dim = static_cast<std::size_t>(concat.op.attributes.integer("dim"));
      std::int64_t start = 0;
      for (LowValue x : concat.op.inputs) {
        Slot slot = slot_of(concat.op.outputs[0], dim, start);
        start += value(x).shape[dim];
        if (std::count(concat.op.inputs.begin(), concat.op.inputs.end(), x) != 1) continue;
        const LowValue base = look_through(x, slot);
        if (base != kNone && may_move(base, concat, users[base])) slots_.try_emplace(base, std::move(slot));
      }
    }
  }

  Slot slot_of(LowValue whole, std::size_t dim, std::int64_t start) {
    Strides strides = contiguous_strides(value(whole).shape);
    const std::int64_t offset = start * strides[dim];
    return {whole, offset, std::move(strides)};
  }

  /// The value that `x` is a view of, with the strides that put `x` into `slot`; kNone where there are none.
  LowValue look_through(LowValue x, Slot& slot) {
    while (value(x).producer != kNone && lowered_.ops[value(x).producer].means == LoweringKind::view) {
      const Op& view = lowered_.ops[value(x).producer].op;
      const LowValue from = view.inputs[0];
      if (view.kind->name == "transpose") {
        Strides strides(slot.strides.size());
        const auto& permutation = view.attributes.integers("permutation");
        for (std::size_t i = 0; i < strides.size(); ++i)
          strides[static_cast<std::size_t>(permutation[i])] = slot.strides[i];
        slot.strides = std::move(strides);
      } else if (view.kind->name == "reshape") {
        auto strides = reshape_strides(value(x).shape, slot.strides, value(from).shape);
        if (!strides) return kNone;
        slot.strides = std::move(*strides);
      } else {
        return kNone;
      }
      x = from;
    }
    return x;
  }

  bool may_move(LowValue x, const LoweredOp& concat, const std::vector<LowOp>& users) {
    const LoweredValue& v = value(x);
    if (v.producer == kNone || v.is_output) return false;
    const LoweredOp& producer = lowered_.ops[v.producer];
    if (producer.means != LoweringKind::kernel || producer.section != concat.section) return false;
    return !assigned_.contains(x) && std::none_of(users.begin(), users.end(), [&](LowOp user) {
      return lowered_.ops[user].means == LoweringKind::accumulate;
    });
  }

  void place_in(LowValue number, const Slot& slot) {
    if (value(slot.whole).view.storage == kNone) own_storage(slot.whole);
    value(number).view = {value(slot.whole).view.storage, slot.offset, 0, slot.strides};
  }

  bool lies_in(LowValue number, const Slot& slot) {
    const LoweredValue& v = value(number);
    if (v.view.storage != value(slot.whole).view.storage || v.view.offset != slot.offset) return false;
    for (std::size_t d = 0; d < v.shape.size(); ++d)
      if (v.shape[d] != 1 && v.view.strides[d] != slot.strides[d]) return false;
    return true;
  }

  Status place_op(LowOp number) {
    LoweredOp& lowered = lowered_.ops[number];
    switch (lowered.means) {
      case LoweringKind::view: return place_view(lowered);
      case LoweringKind::join: return place_join(lowered);
      case LoweringKind::accumulate: own_storage(lowered.op.outputs[0]); return {};
      case LoweringKind::collective: make_contiguous(lowered); break;
      case LoweringKind::kernel:
      case LoweringKind::empty: break;
    }
    for (LowValue v : lowered.op.outputs) {
      if (auto it = slots_.find(v); it != slots_.end())
        place_in(v, it->second);
      else
        own_storage(v);
    }
    return {};
  }

  /// Inputs of a call of the transport must be contiguous, and at one address in all micro-batches.
  void make_contiguous(LoweredOp& lowered) {
    for (LowValue& v : lowered.op.inputs)
      if (value(v).view.micro_step != 0 || !is_contiguous(value(v).shape, value(v).view.strides))
        v = add_copy(v, kNone);
  }

  Status place_view(LoweredOp& lowered) {
    const Op& op = lowered.op;
    LoweredValue& y = value(op.outputs[0]);
    const LoweredValue& x = value(op.inputs[0]);
    View view = x.view;
    const std::string& kind = op.kind->name;
    if (kind == "transpose") {
      view.strides = transpose_strides(x.view.strides, op.attributes.integers("permutation"));
    } else if (kind == "slice") {
      const auto dim = static_cast<std::size_t>(op.attributes.integer("dim"));
      view.offset += op.attributes.integer("start") * view.strides[dim];
    } else if (kind == "reshape") {
      if (element_count(x.shape) != element_count(y.shape))
        return internal("a piece of " + to_string(x.shape) + " is no reshape of one of " + to_string(y.shape),
                        op.where);
      auto strides = reshape_strides(x.shape, x.view.strides, y.shape);
      if (!strides) {
        lowered.op.inputs[0] = add_copy(op.inputs[0], kNone);
        return place_view(lowered);
      }
      view.strides = std::move(*strides);
    } else if (kind != "after") {
      return internal("`" + kind + "` claims to be a view, but no rule says which", op.where);
    }
    value(op.outputs[0]).view = std::move(view);
    // A local region knows no gradients: what one leaves it as was made as such.
    Storage& storage = lowered_.storages[lowered_.root_of(op.outputs[0])];
    if (storage.kind == Storage::Kind::work && storage.role == Role::activation &&
        value(op.outputs[0]).role == Role::gradient)
      storage.role = Role::gradient;
    return {};
  }

  Status place_join(LoweredOp& lowered) {
    const LowValue whole = lowered.op.outputs[0];
    if (value(whole).view.storage == kNone) own_storage(whole);
    const auto dim = static_cast<std::size_t>(lowered.op.attributes.integer("dim"));
    std::int64_t start = 0;
    for (LowValue& x : lowered.op.inputs) {
      const Slot slot = slot_of(whole, dim, start);
      start += value(x).shape[dim];
      if (lies_in(x, slot)) continue;
      x = add_copy(x, kNone);
      place_in(x, slot);
    }
    return {};
  }

  /// Appends `copy` of a value to the order; its result has a storage of its own.
  LowValue add_copy(LowValue from, std::uint32_t section) {
    const LowValue result = make_copy(from, section == kNone ? section_ : section);
    (section == kNone ? order_ : lowered_.sections[section].ops).push_back(value(result).producer);
    return result;
  }

  /// Made anew where that reads nothing. Without a place among the ops of the section.
  LowValue make_copy(LowValue from, std::uint32_t section) {
    const LoweredValue& x = value(from);
    const LoweringKind means = element_count(x.shape) == 0 ? LoweringKind::empty : LoweringKind::kernel;
    LoweredValue y = x;
    y.is_output = false;
    y.producer = kNone;
    if (y.role != Role::gradient) y.role = Role::activation;
    const LoweredOp* maker = x.producer == kNone ? nullptr : &lowered_.ops[x.producer];
    const bool is_constant = maker && maker->op.kind->has(kPointwise) && maker->op.inputs.empty() &&
                             maker->op.outputs.size() == 1 && maker->means == LoweringKind::kernel;
    Op op;
    op.name = x.name;
    if (is_constant) {
      op.kind = maker->op.kind;
      op.attributes = maker->op.attributes;
    } else {
      op.kind = lowered_.registry->find("copy");
      op.inputs = {from};
    }
    op.outputs = {lowered_.add_value(std::move(y))};
    const LowValue result = op.outputs[0];
    own_storage(result);
    lowered_.add_op(std::move(op), means, section);
    return result;
  }

  bool is_persistent(LowValue v) const { return lowered_.storage_of(v).is_stored(); }

  /// An output stays as it is until the end of the run: contiguous, and not the old value of something that is
  /// assigned.
  Status separate_outputs() {
    for (auto& [name, v] : lowered_.outputs) {
      auto assigned = [&, out = v](const LoweredAssign& a) {
        return lowered_.root_of(a.target) == lowered_.root_of(out);
      };
      // What is offloaded is there for those who read it; the copy does.
      const bool old = lowered_.storage_of(v).kind == Storage::Kind::offloaded ||
                       (is_persistent(v) && std::any_of(lowered_.assigns.begin(), lowered_.assigns.end(), assigned));
      if (!old && is_contiguous(value(v).shape, value(v).view.strides)) continue;
      value(v).is_output = false;
      v = add_copy(v, lowered_.closing_section());
      value(v).is_output = true;
    }
    for (auto& [name, v] : lowered_.outputs) value(v).is_output = true;
    return {};
  }

  /// Whether a kernel or a call writes it, as itself or as what it is a view of.
  bool is_computed(const LoweredValue& v) {
    if (v.producer == kNone) return false;
    const LoweredOp& producer = lowered_.ops[v.producer];
    if (producer.means == LoweringKind::view) return is_computed(value(producer.op.inputs[0]));
    return producer.means == LoweringKind::kernel || producer.means == LoweringKind::collective;
  }

  /// An assigned value fills a work storage that no other assign wants. A copy stands right behind what it copies, so
  /// that what this was made in is free for the next.
  Status separate_assigns() {
    std::map<std::uint32_t, LowValue> taken;
    std::map<LowOp, std::vector<LowOp>> behind;
    for (LoweredAssign& assign : lowered_.assigns) {
      if (!value(assign.value).micro.whole())
        return internal("`" + assign.name + "` is assigned a value of one micro-batch");
      const LoweredValue& v = value(assign.value);
      const bool own = lowered_.storage_of(assign.value).kind == Storage::Kind::work &&
                       lowered_.fills_storage(assign.value) && is_computed(v);
      if (!own || !taken.emplace(lowered_.root_of(assign.value), assign.value).second) {
        const bool once = lowered_.sections[assign.section].loop < 0;
        const std::uint32_t section = once ? assign.section : lowered_.closing_section();
        const LowOp maker = v.producer;
        const bool is_here = maker != kNone && lowered_.ops[maker].section == section;
        assign.value = is_here ? make_copy(assign.value, section) : add_copy(assign.value, section);
        if (is_here) behind[maker].push_back(value(assign.value).producer);
        taken.emplace(lowered_.root_of(assign.value), assign.value);
      }
    }
    if (behind.empty()) return {};
    for (LoweredSection& section : lowered_.sections) {
      std::vector<LowOp> ops;
      for (const LowOp op : std::exchange(section.ops, {})) {
        ops.push_back(op);
        const auto copies = behind.find(op);
        if (copies != behind.end()) ops.insert(ops.end(), copies->second.begin(), copies->second.end());
      }
      section.ops = std::move(ops);
    }
    return {};
  }

  Lowered& lowered_;
  const PersistentLayout& persistent_;
  std::map<LowValue, Slot> slots_;
  std::set<LowValue> assigned_;
  std::vector<LowOp> order_;
  std::uint32_t section_ = 0;
};

}  // namespace

Status place(Lowered& lowered, const PersistentLayout& persistent) { return Placer(lowered, persistent).run(); }

}  // namespace baleen
