/// \file A monitor: a line of numbers for each step, for spreadsheets.
#include <cstdio>
#include <string>

#include "baleen/monitor.hpp"
#include "baleen/output_file.hpp"

BALEEN_DESCRIPTOR("monitor", "csv", "1.0.0", "Apache-2.0", "A line for each step, an example", -1, "",
                  BALEEN_OPTION("path", BALEEN_OPTION_STRING, BALEEN_OPTION_REQUIRED | BALEEN_OPTION_PATH, 1, 0, "", "",
                                "", "the file to write; old contents are replaced"));

namespace {

using namespace baleen;
using namespace baleen::sdk;

class Csv : public Monitor {
 public:
  /// What cannot be written is said here, before the run begins.
  static Result<std::unique_ptr<Csv>> create(const Host&, const Settings& settings) {
    BALEEN_TRY_ASSIGN(OutputFile file, OutputFile::open(settings.text("path"), settings.folder()));
    BALEEN_TRY(file.restart());
    BALEEN_TRY(file.write("step,seconds,loss\n"));
    auto made = std::make_unique<Csv>();
    made->file_ = std::move(file);
    return made;
  }

  /// Told in order, on one thread. Kinds of records and facts that it does not know are no reason to fail.
  Status record(const Record& record) override {
    if (record.kind() != BALEEN_RECORD_STEP) return {};
    const baleen_fact_t* const loss = record.find("loss");
    if (!loss || is_text(*loss)) return {};
    char line[128];
    std::snprintf(line, sizeof line, "%lld,%.3f,%.9g\n", static_cast<long long>(record.step()), record.seconds(),
                  loss->number);
    return file_.write(line);
  }

 private:
  OutputFile file_;
};

}  // namespace

BALEEN_MONITOR(Csv);
