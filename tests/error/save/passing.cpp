/// \file Rows as of a stream: those that lie more than 64 rows back cannot be read again.
#include <algorithm>
#include <atomic>

#include "baleen/data.hpp"
#include "support/endless_rows.hpp"

BALEEN_DESCRIPTOR("data", "passing", "1.0.0", "Apache-2.0", "Rows that pass, for tests", -1, "", BALEEN_NO_OPTIONS);

namespace {

using namespace baleen;
using namespace baleen::sdk;

class Passing : public Dataset, public Digested {
 public:
  static Result<std::unique_ptr<Passing>> create(const Host&, const Settings&) { return std::make_unique<Passing>(); }

  Result<baleen_dataset_info_t> info() const override { return test::endless_rows(); }
  std::uint64_t digest() const override { return 1; }
  Status read(baleen_split_t, std::int64_t first, std::int64_t count, void* const* buffers) const override {
    std::int64_t most = most_;
    while (most < first + count && !most_.compare_exchange_weak(most, first + count)) continue;
    if (first + 64 < most) return invalid("row " + std::to_string(first) + " has passed");
    std::fill_n(static_cast<float*>(buffers[0]), count, 0.5F);
    std::fill_n(static_cast<std::int32_t*>(buffers[1]), count, 1);
    return {};
  }

 private:
  mutable std::atomic<std::int64_t> most_ = 0;
};

}  // namespace

BALEEN_DATA(Passing);
