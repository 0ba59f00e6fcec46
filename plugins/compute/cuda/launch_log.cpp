/// \file Words for errors that show after the launch.
#include "launch_log.hpp"

namespace baleen::cuda {

unsigned LaunchLog::begin(const std::shared_ptr<const Label>& label, std::uint64_t step, std::uint64_t micro) {
  if (++last_ == 0) last_ = 1, settled_ = 0;  // 0 means none
  Entry& entry = entries_[last_ % kKept];
  entry.label = label;
  entry.step = step;
  entry.micro = micro;
  return last_;
}

const LaunchLog::Entry* LaunchLog::find(unsigned number) const {
  if (number == 0 || number > last_ || last_ - number >= kKept) return nullptr;
  return &entries_[number % kKept];
}

std::shared_ptr<const Label> LaunchLog::keep(const std::vector<unsigned>& launches) {
  auto all = std::make_shared<Label>();
  all->text = "a sequence of " + std::to_string(launches.size()) + " launches";
  for (const unsigned number : launches) {
    const Entry* entry = find(number);
    if (!entry) continue;  // of a sequence longer than the log
    if (entry->label->range.limit > 0) kept_[number] = entry->label;
    if (number == launches.front()) all->text += " from " + entry->label->text;
    if (number == launches.back()) all->text += " to " + entry->label->text;
  }
  return all;
}

std::string LaunchLog::pending() const {
  const unsigned count = last_ - settled_;
  const Entry *first = find(settled_ + 1), *last = find(last_);
  if (count == 0 || !last) return "outside of any kernel";
  const std::string step = "in step " + std::to_string(last->step) + ", micro-batch " + std::to_string(last->micro);
  if (count == 1) return step + ", in " + last->label->text;
  return step + ", in one of " + std::to_string(count) + " launches" +
         (first ? " from " + first->label->text : std::string()) + " to " + last->label->text +
         "; the option `checked` makes the next run name it";
}

Error LaunchLog::wrong_id(const IdRecord& record) const {
  const unsigned long long key = ~0ull - record.key;
  const auto id = static_cast<std::int32_t>(static_cast<std::uint32_t>(key));
  const auto kept = kept_.find(record.launch);
  const Entry* entry = kept == kept_.end() ? find(record.launch) : find(last_);
  std::string text = "id " + std::to_string(id) + " at position " + std::to_string(key >> 32);
  if (!entry) return invalid(text + " is outside its range; its op is too long ago to be named");
  const Label& label = kept == kept_.end() ? *entry->label : *kept->second;
  text += " is outside [0, " + std::to_string(label.range.limit) + ")";
  if (label.range.ignore != INT64_MIN) text += " and is not the ignored " + std::to_string(label.range.ignore);
  return invalid(text + " in step " + std::to_string(entry->step), label.op);
}

}  // namespace baleen::cuda
