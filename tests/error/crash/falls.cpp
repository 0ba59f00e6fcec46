/// \file An optimizer that ends the process while a job is planned, in a way of its option's choice.
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "baleen/optimizer.hpp"

BALEEN_DESCRIPTOR(
    "optimizer", "falls", "1.0.0", "Apache-2.0", "Crashes", -1, "",
    BALEEN_OPTION(
        "how", BALEEN_OPTION_STRING, 0, 1, 0, "null", "null|call|abort|library|exit", "",
        "null: writes to no address; call: calls none; abort; library: in a call of libc; exit: with code 0"));

namespace {

using namespace baleen;
using namespace baleen::sdk;

class Falls : public Optimizer {
 public:
  static Result<std::unique_ptr<Falls>> create(const Host&, const Settings& settings) {
    return std::make_unique<Falls>(std::string(settings.text("how")));
  }
  explicit Falls(std::string how) : how_(std::move(how)) {}

  baleen_optimizer_traits_t traits() const override { return BALEEN_OPTIMIZER_ELEMENTWISE; }
  Result<std::vector<Slot>> slots(const Settings&) const override { return std::vector<Slot>{}; }
  Result<NewValues> update(const Update& update) override {
    static volatile std::uintptr_t nowhere = 0;  // of which the compiler knows nothing
    if (how_ == "abort") std::abort();
    if (how_ == "exit") std::exit(0);
    if (how_ == "library") std::memset(reinterpret_cast<void*>(nowhere), 1, 1000 + nowhere);
    if (how_ == "call") reinterpret_cast<void (*)()>(nowhere)();
    *reinterpret_cast<volatile int*>(nowhere) = 1;
    return NewValues{update.parameter(), {}};
  }

 private:
  std::string how_;
};

}  // namespace

BALEEN_OPTIMIZER(Falls);
