/// \file What a job has learned from its data, saved with its parameters, and found there again.
#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/runtime/dataset.hpp"
#include "frontend/checkpoint/checkpoints.hpp"

namespace baleen::app {

struct LearnedRecord {
  std::string plugin;  ///< of kind data
  std::string facts;   ///< as it gave them
  int number = 0;      ///< which of the data sets of that plugin that the script opens it was
};

/// For saving; empty where the data's plugin says nothing. `number`: as in LearnedRecord.
Result<std::string> learned_text(const Dataset& data, int number);

/// What a file or a checkpoint's folder says of it; nothing where that is one of another framework, or says nothing.
Result<std::optional<LearnedRecord>> read_learned(const Registry& plugins, const std::filesystem::path& loaded);

/// The first name that two facts differ in, for messages: "`/classes/0` was \"x\" and is \"p\"". Numbers may differ, as
/// means do; nothing where names are alike.
std::optional<std::string> unlike_names(const std::string& then, const std::string& now);

/// Which rows a command is for, and whether they mean what they meant in training.
struct DataUse {
  bool takes_learned = false;  ///< of what is loaded
  std::string source;          ///< in place of the script's; empty: its own
  baleen_learned_use_t rows = BALEEN_LEARNED_PARTS;
};

/// Opens the data sets of one script so.
class DataOpener {
 public:
  DataOpener(const Registry& plugins, std::optional<LearnedRecord> record, DataUse use)
      : plugins_(plugins), record_(std::move(record)), use_(std::move(use)) {}

  /// Where what is loaded says nothing and there is another source, the script's own data is asked what it teaches.
  /// UNSUPPORTED where its plugin cannot read another source, or where nothing says whose place that is to take.
  Result<std::shared_ptr<Dataset>> open(const MemberSpec& spec, std::uint64_t seed, const std::string& folder);
  /// The number of a data set that was opened here.
  int number_of(const Dataset& data) const { return numbers_.at(&data); }
  /// INVALID where the job's data set has not got the rows that were asked for.
  Status check(const Dataset& data, const std::string& where) const;

 private:
  const Registry& plugins_;
  std::optional<LearnedRecord> record_;
  DataUse use_;
  std::map<std::string, std::vector<std::string>> places_;  ///< in the script, by plugin: each opens one
  std::map<const Dataset*, int> numbers_;
  std::set<const Dataset*> taught_;  ///< those that took facts
};

}  // namespace baleen::app
