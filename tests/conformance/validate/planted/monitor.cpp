/// \file A sound monitor that writes a line for each record, which the option `defect` makes wrong in one way.
#include <cmath>
#include <csignal>
#include <cstdio>
#include <string>

#include "baleen/monitor.hpp"

BALEEN_DESCRIPTOR("monitor", "planted", "1.0.0", "Apache-2.0", "Wrong on request", -1, "",
                  BALEEN_OPTION("path", BALEEN_OPTION_STRING, BALEEN_OPTION_REQUIRED, 1, 0, "", "", "", "the file"),
                  BALEEN_OPTION("defect", BALEEN_OPTION_STRING, 0, 1, 0, "", "", "", "what is wrong"));

namespace {

using namespace baleen;
using namespace baleen::sdk;

class Planted : public Monitor {
 public:
  static constexpr bool kWantsSpans = true;

  static Result<std::unique_ptr<Planted>> create(const Host&, const Settings& settings) {
    auto made = std::make_unique<Planted>();
    made->defect_ = settings.text("defect");
    const std::string path(settings.text("path"));
    made->file_ = std::fopen(path.c_str(), "w");
    if (!made->file_ && made->is("hides_file")) return invalid("cannot open it");
    if (!made->file_ && !made->is("silent_file")) return invalid(path + ": cannot be written");
    return made;
  }
  ~Planted() override {
    if (file_) std::fclose(file_);
  }

  Status record(const Record& record) override {
    for (const baleen_fact_t& fact : record.facts()) {
      if (is("expects_finite") && !is_text(fact) && !std::isfinite(fact.number)) return invalid("no number");
      if (is("expects_names") && fact.name.size == 0) std::raise(SIGSEGV);
      if (file_ &&
          (std::fprintf(file_, "%.*s\n", static_cast<int>(fact.name.size), fact.name.data) < 0 ||
           std::fflush(file_) != 0) &&
          !is("silent_disk"))
        return Error{BALEEN_IO, "the file cannot be written", {}};
    }
    return {};
  }
  Status spans(std::span<const baleen_span_t> spans) override {
    if (is("expects_spans") && spans.front().step == 7) return invalid("seven");
    return {};
  }

 private:
  bool is(std::string_view word) const { return defect_ == word; }
  std::string defect_;
  std::FILE* file_ = nullptr;
};

}  // namespace

BALEEN_MONITOR(Planted);
