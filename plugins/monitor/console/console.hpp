/// \file The run on a screen: one live line on a terminal, plain lines elsewhere.
#pragma once
#include <string>

#include "baleen/monitor.hpp"
#include "screen.hpp"

namespace baleen::console {

using namespace sdk;

enum class Live { kAuto, kOn, kOff };

/// Shows the records of rank 0.
class Console : public Monitor {
 public:
  /// `every`: steps between plain lines; 0 prints about twenty in the whole run.
  Console(Screen screen, Live live, std::int64_t every);
  ~Console() override;

  Status record(const Record& record) override;

 private:
  void start(const Record& record);
  void step(const Record& record);
  void draw(const Record& record);
  /// Lines above the live one, which stays.
  void print_above(const std::string& lines);
  /// Lines in the place of the live one.
  void print_line(const std::string& line);
  void print_facts(const Record& record);
  std::string remaining(const Record& record);
  bool is_due(const Record& record) const;

  Screen screen_;
  bool live_;
  std::string drawn_;  // the live line that is on the screen
  std::int64_t every_;
  std::string unit_ = "rows";
  std::int64_t first_step_ = -1, last_printed_ = -1;
  double first_seconds_ = 0, last_drawn_ = -1;
};

}  // namespace baleen::console
