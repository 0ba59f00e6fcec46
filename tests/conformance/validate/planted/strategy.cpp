/// \file A strategy that cuts the batch and changes nothing else, which the option `defect` makes wrong in one way.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <stdexcept>
#include <string>
#include <thread>

#include "baleen/strategy_tools.hpp"

BALEEN_DESCRIPTOR("strategy", "planted", "1.0.0", "Apache-2.0", "Wrong on request", -1, "",
                  BALEEN_OPTION("axis", BALEEN_OPTION_STRING, 0, 1, 0, "planted", "", "",
                                "the mesh axis to work along"),
                  BALEEN_OPTION("width", BALEEN_OPTION_INT, 0, 1, 64, "1", "", "", "of nothing"),
                  BALEEN_OPTION("mode", BALEEN_OPTION_STRING, 0, 1, 0, "plain", "plain|doubled", "", "of nothing"),
                  BALEEN_OPTION("defect", BALEEN_OPTION_STRING, 0, 1, 0, "", "", "", "what is wrong"));

namespace {

using namespace baleen;
using namespace baleen::sdk;

class Planted : public Strategy {
 public:
  static Result<std::unique_ptr<Planted>> create(const Host&, const Settings& settings, MeshView mesh) {
    std::string defect(settings.text("defect"));
    if (defect == "doubles_in_mode" && settings.text("mode") == "doubled") defect = "doubles";
    if (defect == "refuses") return invalid("not today");
    if (defect == "breaks_at_maximum" && settings.integer("width") == 64) std::raise(SIGSEGV);
    BALEEN_TRY_ASSIGN(const std::uint32_t axis, axis_named(settings.text("axis"), mesh, "planted"));
    return std::make_unique<Planted>(axis, defect);
  }
  Planted(std::uint32_t axis, std::string defect) : axis_(axis), defect_(std::move(defect)) {}

  bool claims(std::uint32_t axis) const override { return axis == axis_; }
  Status place(GraphView graph, Placing placing) override {
    if (is("crashes")) std::raise(SIGSEGV);
    if (is("throws")) throw std::runtime_error("the place is on fire");
    if (is("hangs")) std::this_thread::sleep_for(std::chrono::hours(1));
    return cut_batch(graph, placing, axis_);
  }
  Status gradients(GraphView graph, Gradients gradients) override {
    double factor = 1;
    if (is("doubles")) factor = 2;
    if (is("draws")) factor = 1 + 1e-3 * (1 + getppid() % 1000);  // the same on all ranks of a run
    const auto all = gradients.all();
    if (factor == 1 || all.empty()) return {};
    const Value value{graph.table(), all[0].value};
    gradients.replace(0, all[0].gradient, (value * factor).id());
    return {};
  }

 private:
  bool is(std::string_view word) const { return defect_ == word; }
  std::uint32_t axis_;
  std::string defect_;
};

}  // namespace

BALEEN_STRATEGY(Planted);
