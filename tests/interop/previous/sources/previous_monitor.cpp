/// \file A monitor of ABI 1.0: a line per record, with its kind, its step and its loss where it has one.
#include <cstdio>

#include "baleen/monitor.hpp"

BALEEN_DESCRIPTOR("monitor", "previous_lines", "1.0.0", "Apache-2.0", "Lines, of ABI 1.0", -1, "",
                  BALEEN_OPTION("path", BALEEN_OPTION_STRING, BALEEN_OPTION_PATH, 1, 0, "", "", "log-previous",
                                "file to write"));

namespace {

using namespace baleen;

class Lines : public Monitor {
 public:
  static Result<std::unique_ptr<Lines>> create(const Host&, const Settings& settings) {
    auto made = std::make_unique<Lines>();
    const std::string path(settings.text("path"));
    made->file_ = std::fopen(path.c_str(), "w");
    if (!made->file_) return invalid("cannot write " + path);
    return made;
  }
  ~Lines() override {
    if (file_) std::fclose(file_);
  }
  Status record(const Record& record) override {
    const baleen_fact_t* loss = record.find("loss");
    std::fprintf(file_, "%d %lld %.17g\n", record.kind(), static_cast<long long>(record.step()),
                 loss ? loss->number : -1.0);
    return {};
  }

 private:
  std::FILE* file_ = nullptr;
};

}  // namespace

BALEEN_MONITOR(Lines);
