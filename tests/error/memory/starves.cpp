/// \file Rows for which a thread of this plugin's own finds no memory, and nobody there catches that.
#include <cstdlib>
#include <new>
#include <thread>

#include "baleen/data.hpp"
#include "support/endless_rows.hpp"

BALEEN_DESCRIPTOR("data", "starves", "1.0.0", "Apache-2.0", "Its own thread finds no memory, for tests", -1, "",
                  BALEEN_NO_OPTIONS);

namespace {

using namespace baleen;
using namespace baleen::sdk;

class Starves : public Dataset, public Digested {
 public:
  static Result<std::unique_ptr<Starves>> create(const Host&, const Settings&) { return std::make_unique<Starves>(); }

  Result<baleen_dataset_info_t> info() const override { return test::endless_rows(); }
  std::uint64_t digest() const override { return 1; }
  Status read(baleen_split_t, std::int64_t, std::int64_t, void* const*) const override {
    std::thread([] { throw std::bad_alloc(); }).join();
    return {};
  }
};

}  // namespace

BALEEN_DATA(Starves);
