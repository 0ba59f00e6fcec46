/// \file A sound monitor that writes a line for each record, which the option `defect` makes wrong in one way, or sound
/// in another: `writes_at_finish`, `makes_folder`.
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "baleen/monitor.hpp"

BALEEN_DESCRIPTOR("monitor", "planted", "1.0.0", "Apache-2.0", "Wrong on request", -1, "",
                  BALEEN_OPTION("config", BALEEN_OPTION_STRING, BALEEN_OPTION_PATH, 1, 0, "", "", "", "a file to read"),
                  BALEEN_OPTION("path", BALEEN_OPTION_STRING, BALEEN_OPTION_REQUIRED, 1, 0, "", "", "", "the file"),
                  BALEEN_OPTION("every", BALEEN_OPTION_INT, 0, 0, 100, "1", "", "", "steps between two lines; 0: none"),
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
    made->every_ = settings.integer("every");
    const std::string path(settings.text("path")), config(settings.text("config"));
    if (!config.empty() && !std::ifstream(config)) return invalid(config + ": cannot be read");
    if (made->is("makes_folder")) std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    if (made->is("leaves_process") && ::fork() == 0) {
      ::setsid();
      for (;;) ::pause();
    }
    made->file_ = std::fopen(path.c_str(), "w");
    if (!made->file_ && made->is("hides_file")) return invalid("cannot open it");
    if (!made->file_ && !made->is("silent_file")) return invalid(path + ": cannot be written");
    return made;
  }
  ~Planted() override {
    if (file_) std::fclose(file_);
  }

  Status record(const Record& record) override {
    if (is("keeps_facts") && !kept_.empty() && kept_.front().name.size == 0) return invalid("no name");
    kept_ = record.facts();
    if (is("writes_at_finish") && record.kind() != BALEEN_RECORD_FINISH) return {};
    if ((every_ > 0 || is("divides")) && record.kind() == BALEEN_RECORD_STEP && record.step() % every_ != 0) return {};
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
    if (is("keeps_spans") && !kept_spans_.empty() && kept_spans_.front().name.size == 0) return invalid("no name");
    kept_spans_ = spans;
    if (is("expects_spans") && spans.front().step == 7) return invalid("seven");
    return {};
  }

 private:
  bool is(std::string_view word) const { return defect_ == word; }
  std::string defect_;
  std::int64_t every_ = 1;
  std::FILE* file_ = nullptr;
  std::span<const baleen_fact_t> kept_;
  std::span<const baleen_span_t> kept_spans_;
};

}  // namespace

BALEEN_MONITOR(Planted);
