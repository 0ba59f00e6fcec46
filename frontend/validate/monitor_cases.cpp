/// \file What every monitor must do: take whatever it is told, and say so where it cannot write.
#include <fcntl.h>
#include <unistd.h>

#include <cmath>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "baleen/host.hpp"
#include "baleen/monitor.h"
#include "frontend/validate/cases.hpp"
#include "frontend/validate/lent.hpp"

namespace baleen::validate {
namespace {

using Fact = std::pair<std::string, std::variant<double, std::string>>;

/// A monitor in the hands of a case, writing into the case's folder.
class Watch {
 public:
  Watch(const Subject& subject, const Opened& plugin, const std::string& file)
      : plugin_(plugin), settings_(settings_in(subject, file)), made_(plugin, settings_.get()) {}

  static SettingsStorage settings_in(const Subject& subject, const std::string& file) {
    const Option* const option = file_option(subject.descriptor, subject.values);
    if (!option || file.empty()) return settings_of(subject);
    return settings_of(subject, {{option->name, UserValue{file, kOwnValue}}});
  }

  baleen_status_t tell(baleen_record_kind_t kind, std::int64_t step, std::int64_t steps, double seconds,
                       const std::vector<Fact>& facts, std::int32_t rank = 0) {
    std::size_t bytes = sizeof(baleen_record_t) + facts.size() * sizeof(baleen_fact_t);
    for (const auto& [name, value] : facts) {
      const auto* const text = std::get_if<std::string>(&value);
      bytes += name.size() + (text ? text->size() : 0);
    }
    Lent lent(bytes + 2 * alignof(std::max_align_t));
    auto* const record = lent.things<baleen_record_t>(1);
    auto* const views = lent.things<baleen_fact_t>(facts.size());
    for (std::size_t i = 0; i < facts.size(); ++i) {
      const auto& [name, value] = facts[i];
      views[i].name = lent.text(name);
      if (const auto* number = std::get_if<double>(&value)) views[i].number = *number;
      if (const auto* text = std::get_if<std::string>(&value)) views[i].text = lent.text(*text);
    }
    *record = {sizeof *record, kind, rank, step, steps, seconds, views, facts.size()};
    return plugin_.call("`record`", made_.table().record, made_.get(), static_cast<const baleen_record_t*>(record));
  }
  void must_take(baleen_record_kind_t kind, std::int64_t step, std::int64_t steps, double seconds,
                 const std::vector<Fact>& facts, std::int32_t rank = 0) {
    const baleen_status_t status = tell(kind, step, steps, seconds, facts, rank);
    if (status != BALEEN_OK) throw Failure("`record` fails: " + plugin_.refusal("`record`", status).message);
  }
  const baleen_monitor_t& table() const { return made_.table(); }
  void* handle() const { return made_.get(); }

 private:
  const Opened& plugin_;
  SettingsStorage settings_;
  Made<baleen_monitor_t> made_;
};

void tell_a_run(Watch& watch, int steps) {
  watch.must_take(BALEEN_RECORD_START, 0, steps, 0, {{"script", std::string("train.lua")}, {"parameters", 100.0}});
  for (int step = 1; step <= steps; ++step)
    watch.must_take(BALEEN_RECORD_STEP, step, steps, step, {{"loss", 1.0 / step}, {"lr", 0.1}});
  watch.must_take(BALEEN_RECORD_EVALUATE, steps, steps, steps, {{"held_out_loss", 0.5}});
  watch.must_take(BALEEN_RECORD_NOTE, steps, steps, steps, {{"message", std::string("saved")}});
  watch.must_take(BALEEN_RECORD_FINISH, steps, steps, steps + 1, {{"seconds", 4.0}});
}

void takes_a_run(const Subject& subject, Mark& mark) {
  const Opened plugin(subject, mark);
  Watch watch(subject, plugin, subject.scratch / "out");
  tell_a_run(watch, 100);
}

void takes_no_records(const Subject& subject, Mark& mark) {
  const Opened plugin(subject, mark);
  const Watch watch(subject, plugin, subject.scratch / "out");
}

void takes_strange_facts(const Subject& subject, Mark& mark) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr int kLaterKind = 99;
  const Opened plugin(subject, mark);
  Watch watch(subject, plugin, subject.scratch / "out");
  watch.must_take(BALEEN_RECORD_STEP, 1, 0, 0, {});
  watch.must_take(BALEEN_RECORD_STEP, 2, 0, 1,
                  {{"loss", std::nan("")},
                   {"gradient_norm", kInfinity},
                   {"lr", -kInfinity},
                   {"units_per_second", 1e300},
                   {"step_ms", -1.0},
                   {"", 5.0},
                   {"quote\"\n", std::string("\"\\\n\t")}});
  watch.must_take(BALEEN_RECORD_STEP, 3, 10, 1, {{"loss", std::string("a text")}, {"bad", std::string("\xff\xfe")}});
  watch.must_take(BALEEN_RECORD_STEP, 4, 10, 1, {{"long", std::string(1 << 20, 'x')}});
  watch.must_take(BALEEN_RECORD_STEP, 5, 10, 1, {{"%s%n%s%n", std::string("%s%n%s%n")}});
  watch.must_take(BALEEN_RECORD_STEP, std::numeric_limits<std::int64_t>::max(), 10, 1e300, {{"loss", 1.0}}, 4095);
  watch.must_take(BALEEN_RECORD_NOTE, 3, 10, 1, {});
  watch.must_take(BALEEN_RECORD_NOTE, 3, 10, 1, {{"message", 5.0}});
  watch.must_take(BALEEN_RECORD_FINISH, 3, 10, 1, {});
  watch.must_take(kLaterKind, 3, 10, 1, {{"of", std::string("a later core")}});
}

void takes_spans(const Subject& subject, Mark& mark) {
  const Opened plugin(subject, mark);
  Watch watch(subject, plugin, subject.scratch / "out");
  if (!watch.table().spans) throw Skip("it takes no spans");
  const std::string strange = "\xff\"\n", name = "blocks.0.mlp";
  const baleen_span_t spans[] = {
      {abi(name), abi("compute"), 1000, 3500, 1, 0, 0, 2e9, 4096},
      {abi(name), abi("begin"), 5, 5, 1, 0, 3, 0, 0},
      {abi(strange), abi(strange), -7, std::numeric_limits<std::int64_t>::max(), -1, 4095, -1, std::nan(""), 0},
      {abi(""), abi(""), 9, 3, 0, 0, 0, 0, 0},
  };
  plugin.ok("`spans` of none", watch.table().spans, watch.handle(), static_cast<const baleen_span_t*>(nullptr),
            std::uint64_t{0});
  for (int turn = 0; turn < 2; ++turn) {
    Lent lent(sizeof spans + 64 * std::size(spans));
    auto* const lent_spans = lent.things<baleen_span_t>(std::size(spans));
    for (std::size_t i = 0; i < std::size(spans); ++i) {
      lent_spans[i] = spans[i];
      lent_spans[i].name = lent.text(view(spans[i].name));
      lent_spans[i].category = lent.text(view(spans[i].category));
    }
    plugin.ok("`spans`", watch.table().spans, watch.handle(), static_cast<const baleen_span_t*>(lent_spans),
              std::uint64_t{std::size(spans)});
  }
}

/// Throws Skip where the user has set the option that a case would set.
void needs_no_users_file(const Subject& subject) {
  const Option* const option = file_option(subject.descriptor, {});
  if (option && !file_option(subject.descriptor, subject.values))
    throw Skip("`--set` says which file it has; try without `" + option->name + "`");
}

void refuses_a_file_it_cannot_write(const Subject& subject, Mark& mark) {
  needs_no_users_file(subject);
  if (!file_option(subject.descriptor, subject.values)) throw Skip("it has no option for a file");
  const Opened plugin(subject, mark);
  const SettingsStorage settings = Watch::settings_in(subject, subject.scratch / "missing" / "out");
  void* handle = nullptr;
  const auto& table = plugin.table<baleen_monitor_t>();
  const baleen_status_t status = plugin.call("`create`", table.create, plugin.host(), settings.get(), &handle);
  if (status == BALEEN_OK && std::filesystem::is_directory(subject.scratch / "missing")) {
    plugin.call("`destroy`", table.destroy, handle);
    return;  // it makes the folder
  }
  if (status == BALEEN_OK) throw Failure("`create` returns OK where the file's folder is missing");
  const Error why = plugin.refusal("`create`", status);
  if (why.message.find("missing") == why.message.npos)
    throw Failure("does not name the file that it cannot write: " + why.message);
}

/// Where a device is full, some record fails, or the plugin says so in its last words.
void tells_of_a_full_disk(const Subject& subject, Mark& mark) {
  constexpr int kRecords = 5000;
  const Opened plugin(subject, mark);
  needs_no_users_file(subject);
  const bool has_file = file_option(subject.descriptor, subject.values) != nullptr;
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  if (full < 0) throw Skip("this machine has no /dev/full");
  if (!has_file) ::dup2(full, STDOUT_FILENO);
  const SettingsStorage settings = Watch::settings_in(subject, has_file ? "/dev/full" : "");
  void* handle = nullptr;
  const auto& table = plugin.table<baleen_monitor_t>();
  baleen_status_t status = plugin.call("`create`", table.create, plugin.host(), settings.get(), &handle);
  if (status != BALEEN_OK) {
    plugin.refusal("`create`", status);
    return;
  }
  plugin.call("`destroy`", table.destroy, handle);
  Watch watch(subject, plugin, has_file ? "/dev/full" : "");
  const std::string note(64, 'x');
  for (int step = 1; step <= kRecords + 2; ++step) {
    const baleen_record_kind_t kind = step <= kRecords       ? BALEEN_RECORD_STEP
                                      : step == kRecords + 1 ? BALEEN_RECORD_EVALUATE
                                                             : BALEEN_RECORD_FINISH;
    status = watch.tell(kind, step, kRecords, step, {{"loss", 1.0 / step}, {"note", note}});
    if (status == BALEEN_OK) continue;
    plugin.refusal("`record`", status);
    return;
  }
  if (has_file) throw Failure("takes " + std::to_string(kRecords) + " records for a full device without a word");
}

}  // namespace

const Option* file_option(const Descriptor& descriptor, const UserValues& values) {
  const auto is_said = [&](const Option& option) {
    const auto value = values.find(option.name);
    return value != values.end() && value->second.where != kOwnValue;
  };
  const Option* first = nullptr;
  bool is_any_said = false;
  for (const Option& option : descriptor.options) {
    if (option.type != BALEEN_OPTION_STRING) continue;
    if (option.name == "path") return is_said(option) ? nullptr : &option;
    if (!option.path()) continue;
    if (is_said(option))
      is_any_said = true;
    else if (!first || (option.required() && !first->required()))
      first = &option;
  }
  return first && (!is_any_said || first->required()) ? first : nullptr;
}

std::vector<Case> monitor_cases() {
  return {
      {"monitor.run", "takes the records of a whole run", &takes_a_run},
      {"monitor.nothing", "ends without any record", &takes_no_records},
      {"monitor.strange_facts", "takes facts and kinds of records that nobody foresaw", &takes_strange_facts},
      {"monitor.strange_spans", "takes spans that nobody foresaw", &takes_spans},
      {"monitor.no_folder", "names the file that it cannot write, at the start", &refuses_a_file_it_cannot_write},
      {"monitor.full_disk", "fails with a reason where the disk is full", &tells_of_a_full_disk},
  };
}

}  // namespace baleen::validate
