/// \file Optimizers that are wrong before anything is made of them; DEFECT says how.
#include <csignal>
#include <cstring>
#include <stdexcept>

#include "baleen/optimizer.hpp"

#define WORD_(x) #x
#define WORD(x) WORD_(x)

BALEEN_DESCRIPTOR("optimizer", WORD(DEFECT), "1.0.0", "Apache-2.0", "Wrong before it starts", -1, "",
                  BALEEN_OPTION("lr", BALEEN_OPTION_SCHEDULE, BALEEN_OPTION_PER_GROUP, 0, 1e9, "0.1", "", "", "rate"));

namespace {

using namespace baleen;
using namespace baleen::sdk;

enum Defect {
  overruns,
  lies_about_size,
  any_kind,
  lacks_function,
  throws_at_start,
  dies_at_end,
  exports_more,
  imports_core
};
constexpr Defect kDefect = DEFECT;

class Descent : public Optimizer {
 public:
  static Result<std::unique_ptr<Descent>> create(const Host&, const Settings&) { return std::make_unique<Descent>(); }
  baleen_optimizer_traits_t traits() const override { return BALEEN_OPTIMIZER_ELEMENTWISE; }
  Result<NewValues> update(const Update& update) override {
    return NewValues{update.parameter() - update.schedule("lr") * update.gradient(), {}};
  }
};

struct DiesAtEnd {
  ~DiesAtEnd() {
    if (kDefect == dies_at_end) std::raise(SIGSEGV);
  }
} const kLast;

}  // namespace

namespace baleen {
/// Of the core, and not of the SDK.
__attribute__((weak)) void register_builtin_ops();
}  // namespace baleen

extern "C" BALEEN_EXPORT void an_own_symbol() {
  if (kDefect == imports_core && baleen::register_builtin_ops) baleen::register_builtin_ops();
}

extern "C" BALEEN_EXPORT baleen_status_t baleen_plugin_start(const baleen_host_t* host, void* out) {
  baleen_optimizer_t table = optimizer_table<Descent>();
  table.size = sizeof table;
  if (kDefect == throws_at_start) throw std::runtime_error("no start today");
  if (kDefect == overruns) {
    std::memcpy(out, &table, sizeof table);
    return BALEEN_OK;
  }
  if (kDefect == any_kind) {
    fill_table(out, table);
    return BALEEN_OK;
  }
  const baleen_status_t status = give_table(host, out, table);
  if (kDefect == lies_about_size) {
    const std::uint64_t size = sizeof table + 8;
    std::memcpy(out, &size, sizeof size);
  }
  if (kDefect == lacks_function) std::memset(static_cast<char*>(out) + offsetof(baleen_optimizer_t, update), 0, 8);
  return status;
}
