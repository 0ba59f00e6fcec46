/// \file A data set whose lists have their lengths where none can be.
#include "baleen/data.hpp"

#include <stdexcept>

BALEEN_DESCRIPTOR("data", "ragged", "1.0.0", "Apache-2.0", "Lists without lengths", 0, "",
                  BALEEN_OPTION("list", BALEEN_OPTION_INT, 0, 0, 2, "0", "", "", "the field that is said to be lists"),
                  BALEEN_OPTION("lengths", BALEEN_OPTION_INT, 0, -9, 9, "1", "", "", "the field of their lengths"));

namespace baleen::test {

using namespace sdk;

namespace {

class RaggedRows : public Dataset, public Ragged {
 public:
  static Result<std::unique_ptr<RaggedRows>> create(const Host&, const Settings& settings) {
    return std::make_unique<RaggedRows>(settings.integer("list"), settings.integer("lengths"));
  }
  RaggedRows(std::int64_t list, std::int64_t lengths) : list_(list), lengths_(lengths) {}

  Result<baleen_dataset_info_t> info() const override {
    baleen_dataset_info_t info{};
    info.size = sizeof(info);
    info.field_count = 3;
    info.fields[0] = make_field("items", BALEEN_I64, {3}, {""});
    info.fields[1] = make_field("weights", BALEEN_F32, {}, {});
    info.fields[2] = make_field("count", BALEEN_I32, {}, {});
    info.rows[BALEEN_TRAIN] = 5;
    info.units_per_row = 1;
    copy_text(info.unit, "rows");
    return info;
  }
  Status read(baleen_split_t, std::int64_t, std::int64_t, void* const*) const override {
    return internal("the job must not be reached");
  }
  std::int32_t length_field(std::uint32_t field) const override {
    if (lengths_ == kThrows) throw std::runtime_error("no lengths today");
    return field == list_ ? static_cast<std::int32_t>(lengths_) : -1;
  }

 private:
  static constexpr std::int64_t kThrows = 9;
  std::int64_t list_, lengths_;
};

}  // namespace
}  // namespace baleen::test

BALEEN_DATA(baleen::test::RaggedRows);
