/// \file Rows for which a thread of this plugin's own finds no memory, and nobody there catches that.
#include <cstdlib>
#include <new>
#include <thread>

#include "baleen/data.hpp"

BALEEN_DESCRIPTOR("data", "starves", "1.0.0", "Apache-2.0", "Its own thread finds no memory, for tests", -1, "",
                  BALEEN_NO_OPTIONS);

namespace {

using namespace baleen;
using namespace baleen::sdk;

class Starves : public Dataset, public Digested {
 public:
  static Result<std::unique_ptr<Starves>> create(const Host&, const Settings&) { return std::make_unique<Starves>(); }

  Result<baleen_dataset_info_t> info() const override {
    baleen_dataset_info_t info{};
    info.size = sizeof info;
    info.field_count = 2;
    info.fields[0] = make_field("features", BALEEN_F32, {1}, {""});
    info.fields[1] = make_field("label", BALEEN_I32, {}, {});
    info.rows[BALEEN_TRAIN] = 1 << 20;
    info.classes = 2;
    info.units_per_row = 1;
    copy_text(info.unit, "rows");
    return info;
  }
  std::uint64_t digest() const override { return 1; }
  Status read(baleen_split_t, std::int64_t, std::int64_t, void* const*) const override {
    std::thread([] { throw std::bad_alloc(); }).join();
    return {};
  }
};

}  // namespace

BALEEN_DATA(Starves);
