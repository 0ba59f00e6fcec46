/// \file A data set that is not alike on all ranks: the odd one gets another answer than the others.
#include <unistd.h>

#include <csignal>

#include "baleen/data.hpp"
#include "mark.hpp"

BALEEN_DESCRIPTOR("data", "odd", "1.0.0", "Apache-2.0", "Rows that one rank sees otherwise", 0, "",
                  BALEEN_OPTION("mark", BALEEN_OPTION_STRING, BALEEN_OPTION_REQUIRED, 1, 0, "", "", "",
                                "a file; who makes it is the odd one"),
                  BALEEN_OPTION("how", BALEEN_OPTION_STRING, 0, 1, 0, "classes",
                                "fails|dies|stops|classes|rows|held_out|values|summary", "",
                                "the odd one fails, dies, stops, has more or other ones of these, or none held out"));

namespace baleen::test {

using namespace sdk;

namespace {

class Odd : public Dataset {
 public:
  static Result<std::unique_ptr<Odd>> create(const Host&, const Settings& settings) {
    const bool odd = first_to_make(settings.text("mark"));
    const std::string_view how = settings.text("how");
    if (odd && how == "fails") return invalid("this rank has no data");
    if (odd && how == "dies") kill(getpid(), SIGKILL);
    if (odd && how == "stops") kill(getpid(), SIGSTOP);
    const auto more = [&](const char* what, std::int64_t by) { return odd && how == what ? by : 0; };
    auto made = std::make_unique<Odd>(4 + more("classes", 1), 40 + more("rows", 8), 8 - more("held_out", 8));
    made->first_value_ = more("values", 1);
    made->summary_ = odd && how == "summary" ? "other" : "odd rows";
    return made;
  }
  Odd(std::int64_t classes, std::int64_t rows, std::int64_t held_out)
      : classes_(classes), rows_(rows), held_out_(held_out) {}

  Result<baleen_dataset_info_t> info() const override {
    baleen_dataset_info_t info{};
    info.size = sizeof(info);
    info.field_count = 2;
    info.fields[0] = make_field("x", BALEEN_F32, {3}, {""});
    info.fields[1] = make_field("label", BALEEN_I32, {}, {});
    info.rows[BALEEN_TRAIN] = rows_;
    info.rows[BALEEN_HELD_OUT] = held_out_;
    info.classes = classes_;
    info.units_per_row = 1;
    copy_text(info.unit, "rows");
    copy_text(info.summary, summary_);
    return info;
  }
  Status read(baleen_split_t, std::int64_t first, std::int64_t count, void* const* buffers) const override {
    for (std::int64_t i = 0; i < count; ++i) {
      for (int k = 0; k < 3; ++k)
        static_cast<float*>(buffers[0])[3 * i + k] = static_cast<float>((first_value_ + first + i + k) % 7);
      static_cast<std::int32_t*>(buffers[1])[i] = static_cast<std::int32_t>((first + i) % 4);
    }
    return {};
  }

 private:
  std::int64_t classes_, rows_, held_out_, first_value_ = 0;
  std::string summary_;
};

}  // namespace
}  // namespace baleen::test

BALEEN_DATA(baleen::test::Odd);
