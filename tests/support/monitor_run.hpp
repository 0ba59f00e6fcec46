/// \file A monitor plugin as tests drive it: records and spans from plain C++ lists.
#pragma once
#include <variant>

#include "baleen/monitor.h"
#include "support/plugin_under_test.hpp"

namespace baleen::test {

/// A fact: a number or a text.
using TestFact = std::pair<std::string, std::variant<double, std::string>>;

/// A record that owns what it points to.
class TestRecord {
 public:
  TestRecord(baleen_record_kind_t kind, std::int64_t step, std::int64_t steps, double seconds,
             std::vector<TestFact> facts, std::int32_t rank = 0)
      : facts_(std::move(facts)) {
    for (const auto& [name, value] : facts_) {
      baleen_fact_t fact{abi(name), 0, {nullptr, 0}};
      if (const auto* number = std::get_if<double>(&value)) fact.number = *number;
      if (const auto* text = std::get_if<std::string>(&value)) fact.text = abi(*text);
      views_.push_back(fact);
    }
    record_ = {sizeof(baleen_record_t), kind, rank, step, steps, seconds, views_.data(), views_.size()};
  }
  TestRecord(const TestRecord&) = delete;
  const baleen_record_t* get() const { return &record_; }

 private:
  std::vector<TestFact> facts_;
  std::vector<baleen_fact_t> views_;
  baleen_record_t record_{};
};

/// Throws what the plugin reported.
class MonitorRun {
 public:
  MonitorRun(const PluginUnderTest<baleen_monitor_t>& plugin, const TestSettings& settings) : plugin_(plugin) {
    check(plugin_.table.create(plugin_.host->get(), settings.get(), &monitor_));
  }
  ~MonitorRun() {
    if (monitor_) plugin_.table.destroy(monitor_);
  }
  MonitorRun(const MonitorRun&) = delete;

  void record(baleen_record_kind_t kind, std::int64_t step, std::int64_t steps, double seconds,
              std::vector<TestFact> facts, std::int32_t rank = 0) {
    const TestRecord record(kind, step, steps, seconds, std::move(facts), rank);
    check(plugin_.table.record(monitor_, record.get()));
  }
  void spans(const std::vector<baleen_span_t>& spans) {
    check(plugin_.table.spans(monitor_, spans.data(), spans.size()));
  }

 private:
  void check(baleen_status_t status) const {
    if (status != BALEEN_OK) throw std::runtime_error(plugin_.host->failure());
  }

  const PluginUnderTest<baleen_monitor_t>& plugin_;
  void* monitor_ = nullptr;
};

}  // namespace baleen::test
