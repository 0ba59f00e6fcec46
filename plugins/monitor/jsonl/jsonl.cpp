/// \file The monitor plugin `jsonl`: every record of rank 0 as one JSON object on a line of its own.
#include <cmath>
#include <nlohmann/json.hpp>

#include "baleen/monitor.hpp"
#include "baleen/output_file.hpp"

BALEEN_DESCRIPTOR("monitor", "jsonl", "1.0.0", "Apache-2.0", "Records as JSON lines in a file", -1, "",
                  BALEEN_OPTION("path", BALEEN_OPTION_STRING, BALEEN_OPTION_REQUIRED | BALEEN_OPTION_PATH, 1, 0, "", "",
                                "log-json", "the file to write; old contents are replaced"));

namespace {

using namespace baleen;
using namespace baleen::sdk;
using Json = nlohmann::ordered_json;

const char* kind_name(baleen_record_kind_t kind) {
  switch (kind) {
    case BALEEN_RECORD_START: return "start";
    case BALEEN_RECORD_STEP: return "step";
    case BALEEN_RECORD_EVALUATE: return "evaluate";
    case BALEEN_RECORD_NOTE: return "note";
    case BALEEN_RECORD_FINISH: return "finish";
    default: return "other";
  }
}

/// JSON has no NaN and no infinities; they become the texts that Python's and C's parsers of numbers read.
Json json_of(const baleen_fact_t& fact) {
  if (is_text(fact)) return std::string(view(fact.text));
  const double number = fact.number;
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  constexpr double kExact = 9007199254740992;  // 2^53
  if (std::floor(number) == number && std::abs(number) < kExact) return static_cast<std::int64_t>(number);
  return number;
}

class JsonLines : public Monitor {
 public:
  static Result<std::unique_ptr<JsonLines>> create(const Host&, const Settings& settings) {
    auto monitor = std::make_unique<JsonLines>();
    BALEEN_TRY_ASSIGN(monitor->file_, OutputFile::open(settings.text("path"), settings.folder()));
    return monitor;
  }

  Status record(const Record& record) override {
    if (record.rank() != 0) return {};
    if (!started_) BALEEN_TRY(file_.restart());
    started_ = true;
    Json line = {{"kind", kind_name(record.kind())},
                 {"rank", record.rank()},
                 {"step", record.step()},
                 {"steps", record.steps()},
                 {"elapsed", record.seconds()}};
    for (const baleen_fact_t& fact : record.facts()) {
      const std::string name(view(fact.name));
      if (!line.contains(name)) line[name] = json_of(fact);
    }
    BALEEN_TRY(file_.write(line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"));
    return record.kind() == BALEEN_RECORD_FINISH ? file_.sync() : Status();
  }

 private:
  OutputFile file_;
  bool started_ = false;
};

}  // namespace

BALEEN_MONITOR(JsonLines);
