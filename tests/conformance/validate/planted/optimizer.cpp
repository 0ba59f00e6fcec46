/// \file A sound optimizer with momentum, which the option `defect` makes wrong in one way.
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>

#include "baleen/graph_view.hpp"
#include "baleen/optimizer.hpp"

BALEEN_DESCRIPTOR("optimizer", "planted", "1.0.0", "Apache-2.0", "Wrong on request", -1, "",
                  BALEEN_OPTION("lr", BALEEN_OPTION_SCHEDULE, BALEEN_OPTION_PER_GROUP, 0, 1e9, "0.1", "", "", "rate"),
                  BALEEN_OPTION("power", BALEEN_OPTION_INT, 0, 1, 64, "1", "", "", "breaks at its maximum on request"),
                  BALEEN_OPTION("momentum", BALEEN_OPTION_FLOAT, 0, 0, 0.99, "0.9", "", "", "0: none"),
                  BALEEN_OPTION("defect", BALEEN_OPTION_STRING, 0, 1, 0, "", "", "", "what is wrong"));

namespace {

using namespace baleen;
using namespace baleen::sdk;

int steps_of_all = 0;

class Planted : public Optimizer {
 public:
  static Result<std::unique_ptr<Planted>> create(const Host&, const Settings& settings) {
    auto made = std::make_unique<Planted>();
    made->defect = settings.text("defect");
    made->keeps_ = settings.number("momentum");
    if (made->is("exits")) std::exit(0);
    if (made->is("gives_nothing")) return std::unique_ptr<Planted>();
    if (made->is("breaks_at_maximum") && settings.integer("power") == 64) std::raise(SIGSEGV);
    return made;
  }
  bool is(std::string_view word) const { return defect == word; }

  baleen_optimizer_traits_t traits() const override { return BALEEN_OPTIMIZER_ELEMENTWISE; }

  Result<std::vector<Slot>> slots(const Settings&) const override {
    std::vector<Slot> all = {{"momentum"}};
    if (is("no_slot") && keeps_ == 0) return std::vector<Slot>();
    if (is("renews_rarely")) all.push_back({"still"});
    if (is("still_slot")) all.push_back({"still"});
    if (is("same_names")) all.push_back({"momentum"});
    return all;
  }

  Status begin(std::span<const Update> updates) override {
    if (is("mixes")) shared_ = std::make_unique<Value>(sum(updates.back().parameter()));
    return {};
  }

  Result<NewValues> update(const Update& update) override {
    if (is("hangs"))
      for (;;) ::pause();
    if (is("crashes")) std::raise(SIGSEGV);
    ++steps_;
    ++steps_of_all;
    Value gradient = update.gradient();
    if (is("whole_norm")) gradient = gradient / norm(gradient);
    if (is("climbs")) gradient = -gradient;
    if (is("counts_itself")) gradient = gradient * (1.0 / steps_);
    if (is("counts_for_all")) gradient = gradient * (1.0 / steps_of_all);
    if (is("mixes")) gradient = gradient + 0.01 * *shared_;
    if (is("own_states")) gradient = with_error(update, gradient);
    const Value momentum = keeps_ * update.slot(0) + gradient;
    Value next = update.parameter() - update.schedule("lr") * momentum;
    if (is("decays_without_rate")) next = next * 0.99;
    if (is("divides_by_root")) next = update.parameter() - update.schedule("lr") * momentum / sqrt(momentum * momentum);
    if (is("divides_by_norm")) next = update.parameter() - update.schedule("lr") * momentum / norm(update.parameter());
    if (is("divides_by_count")) next = next + 0.0 / (3 - update.count());
    if (is("rests")) next = update.parameter();
    if (is("another_shape")) next = sum(next);
    NewValues values{next, {momentum}};
    if (is("still_slot")) values.slots.push_back(update.slot(1));
    if (is("renews_rarely")) values.slots.push_back(0.0 * update.slot(1) + floor((update.count() + 1) * 0.1));
    if (is("infinite")) values.parameter = log(0.0 * next);
    return values;
  }

  std::string defect;

 private:
  /// Adds a half of what was left out before. Sound: each parameter has a state of its own name.
  static Value with_error(const Update& update, Value gradient) {
    const baleen_value_info_t info = gradient.info();
    GraphView graph(gradient.graph());
    const Value error(gradient.graph(),
                      graph.add_state(std::string(update.name()) + ".error", info.dtype, 0, {info.shape, info.rank}));
    const Value whole = gradient + 0.5 * error;
    graph.assign(error.id(), (0.5 * gradient).id());
    return whole;
  }

  double keeps_ = 0;
  int steps_ = 0;
  std::unique_ptr<Value> shared_;
};

const Planted& member(void* self) { return dynamic_cast<const Planted&>(*Instance<Optimizer>::of(self).member); }

/// What the SDK's classes do not let through is done to the table.
baleen_optimizer_t planted_table() {
  baleen_optimizer_t table = optimizer_table<Planted>();
  table.slots_of = nullptr;
  table.create = [](const baleen_host_t* host, const baleen_settings_t* settings, void** out) -> baleen_status_t {
    const std::string_view defect = Settings(settings).text("defect");
    if (defect == "null_object") return BALEEN_OK;
    if (defect == "without_reason") return BALEEN_INVALID;
    if (defect == "no_status") return 77;
    return optimizer_table<Planted>().create(host, settings, out);
  };
  table.traits = [](void* self) -> baleen_optimizer_traits_t {
    if (member(self).is("throws")) throw std::runtime_error("the traits are on fire");
    return member(self).traits();
  };
  table.begin = [](void* self, const baleen_graph_t* graph, const baleen_update_t* updates,
                   std::uint64_t count) -> baleen_status_t {
    if (member(self).is("own_stride"))
      for (std::uint64_t i = 0; i < count; ++i)
        if (updates[i].size < sizeof(baleen_update_t) || updates[i].size > 4096) std::raise(SIGSEGV);
    return optimizer_table<Planted>().begin(self, graph, updates, count);
  };
  table.update = [](void* self, const baleen_graph_t* graph, baleen_update_t* update) -> baleen_status_t {
    const baleen_status_t status = optimizer_table<Planted>().update(self, graph, update);
    if (member(self).is("writes_behind")) std::memset(update + 1, 0, update->size - sizeof *update);
    if (member(self).is("forgets_slot")) update->new_slots[0] = BALEEN_NONE;
    if (member(self).is("swallows_refusals") && status != BALEEN_OK) {
      update->new_parameter = update->parameter;
      update->new_slots[0] = update->slots[0];
      return BALEEN_OK;
    }
    return status;
  };
  return table;
}

}  // namespace

BALEEN_EXPORT_TABLE(planted_table());
