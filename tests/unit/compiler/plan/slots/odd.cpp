/// \file An optimizer whose slots and results have every form that an optimizer's may have, and some that they may not.
#include "baleen/optimizer.hpp"

BALEEN_DESCRIPTOR("optimizer", "odd", "1.0.0", "Apache-2.0", "Slots of odd forms", 0, "",
                  BALEEN_OPTION("lr", BALEEN_OPTION_SCHEDULE, BALEEN_OPTION_PER_GROUP, 0, 1e9, "0.1", "", "", "rate"),
                  BALEEN_OPTION("form", BALEEN_OPTION_STRING, BALEEN_OPTION_PER_GROUP, 1, 0, "", "", "", "which"));

namespace {

using namespace baleen;
using namespace baleen::sdk;

Slot shaped(std::string name, std::vector<SlotDimension> dimensions, double initial = 0) {
  Slot slot{std::move(name), initial};
  slot.dimensions = std::move(dimensions);
  return slot;
}

class Odd : public Optimizer {
 public:
  static Result<std::unique_ptr<Odd>> create(const Host&, const Settings&) { return std::make_unique<Odd>(); }
  baleen_optimizer_traits_t traits() const override { return 0; }

  Result<std::vector<Slot>> slots_of(const SlotsFor& parameter) const override {
    const std::string form(parameter.settings().text("form"));
    const auto rows = parameter.dimension(0);
    if (form == "sides") {
      if (parameter.shape().size() < 2) return std::vector<Slot>{};
      const auto columns = parameter.dimension(1);
      return std::vector<Slot>{shaped("row", {rows, {1, -1}}),
                               shaped("column", {columns}),
                               shaped("left", {rows, {rows.extent, -1}}, 0.5),
                               shaped("all", {rows, columns}),
                               {"step", 2, true}};
    }
    if (form == "far") return std::vector<Slot>{shaped("s", {{3, 7}})};
    if (form == "extent") return std::vector<Slot>{shaped("s", {{rows.extent + 1, 0}})};
    if (form == "twice") return std::vector<Slot>{shaped("s", {rows, rows})};
    if (form == "empty") return std::vector<Slot>{shaped("s", {{0, -1}})};
    if (form == "nameless") return std::vector<Slot>{{""}};
    if (form == "same name") return std::vector<Slot>{{"s"}, {"s"}};
    if (form == "many") return std::vector<Slot>(9, Slot{"s"});
    return std::vector<Slot>{{"s", 3}, {"t", 4}};
  }

  Result<NewValues> update(const Update& update) override {
    const std::string form(update.settings().text("form"));
    const Value w = update.parameter(), next = w - update.schedule("lr") * update.gradient();
    std::vector<Value> old;
    for (std::uint32_t s = 0; s < update.slot_count(); ++s) old.push_back(update.slot(s));
    if (form == "sides") {
      if (old.empty()) return NewValues{next, {}};
      const std::int64_t last = 1, first = 0;
      const Value g = update.gradient();
      return NewValues{next,
                       {old[0] + sum(g, {&last, 1}, true), old[1] + sum(g, {&first, 1}),
                        old[2] + matmul("ij,kj->ik", g, g), old[3] + g, 2.0 * old[4]}};
    }
    if (form == "swapped") return NewValues{next, {old[1], old[0]}};
    if (form == "parameter kept") return NewValues{w, {old[0], w}};
    if (form == "gradient kept") return NewValues{next, {update.gradient(), old[1]}};
    if (form == "short") return NewValues{next, {old[0], update.count()}};
    if (form == "none") return NewValues{next, {old[0], Value()}};
    if (form == "letters") return NewValues{w - matmul("ij,jk->ik", w, w), old};
    if (form == "kind") {
      baleen_op_view_t op{};
      op.size = sizeof op;
      op.kind = abi("svd");
      if (const auto status = w.graph()->append(w.graph()->self, &op, nullptr, 0)) throw Failed(status);
    }
    if (form == "own state" || form == "assigns") {
      baleen_value_t state = BALEEN_NONE;
      if (w.graph()->add_state(w.graph()->self, abi(update.name()), BALEEN_F64, 0, nullptr, 5, &state))
        return internal("no state");
      const Value target = form == "assigns" ? w : Value(w.graph(), state);
      const baleen_value_t inputs[] = {target.id(), (target + 1.0).id()};
      baleen_op_view_t op{};
      op.size = sizeof op;
      op.kind = abi("assign");
      op.inputs = inputs;
      op.input_count = 2;
      if (const auto status = w.graph()->append(w.graph()->self, &op, nullptr, 0)) throw Failed(status);
    }
    return NewValues{next, {old[0] + 1.0, old[1]}};
  }
};

}  // namespace

BALEEN_OPTIMIZER(Odd);
