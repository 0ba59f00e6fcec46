/// \file A data set that is not alike on all ranks: one process, the first to make the file `mark`, gets another answer than the others.
#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "baleen/data.hpp"

BALEEN_DESCRIPTOR("data", "odd", "1.0.0", "Apache-2.0", "Rows that one rank sees otherwise", 0, "",
                  BALEEN_OPTION("mark", BALEEN_OPTION_STRING, BALEEN_OPTION_REQUIRED, 1, 0, "", "", "",
                                "a file; who makes it is the odd one"),
                  BALEEN_OPTION("fails", BALEEN_OPTION_BOOL, 0, 0, 1, "false", "", "",
                                "the odd one fails; else it has a class more"));

namespace baleen::test {
namespace {

class Odd : public Dataset {
 public:
  static Result<std::unique_ptr<Odd>> create(const Host&, const Settings& settings) {
    const int mark = open(std::string(settings.text("mark")).c_str(), O_CREAT | O_EXCL | O_WRONLY, 0600);
    const bool odd = mark >= 0;
    if (odd) close(mark);
    if (odd && settings.boolean("fails")) return invalid("this rank has no data");
    return std::make_unique<Odd>(odd ? 5 : 4);
  }
  explicit Odd(std::int64_t classes) : classes_(classes) {}

  Result<baleen_dataset_info_t> info() const override {
    baleen_dataset_info_t info{};
    info.size = sizeof(info);
    info.field_count = 2;
    info.fields[0] = make_field("x", BALEEN_F32, {3}, {""});
    info.fields[1] = make_field("label", BALEEN_I32, {}, {});
    info.rows[BALEEN_TRAIN] = 40;
    info.classes = classes_;
    info.units_per_row = 1;
    copy_text(info.unit, "rows");
    copy_text(info.summary, "odd rows");
    return info;
  }
  Status read(baleen_split_t, std::int64_t first, std::int64_t count, void* const* buffers) const override {
    for (std::int64_t i = 0; i < count; ++i) {
      for (int k = 0; k < 3; ++k) static_cast<float*>(buffers[0])[3 * i + k] = static_cast<float>((first + i + k) % 7);
      static_cast<std::int32_t*>(buffers[1])[i] = static_cast<std::int32_t>((first + i) % 4);
    }
    return {};
  }

 private:
  std::int64_t classes_;
};

}  // namespace
}  // namespace baleen::test

BALEEN_DATA(baleen::test::Odd);
