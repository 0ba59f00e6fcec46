/// \file The monitor plugin `console`: its options and its start.
#include <unistd.h>

#include "console.hpp"

BALEEN_DESCRIPTOR("monitor", "console", "1.0.0", "Apache-2.0", "The run on the terminal", 10, "",
                  BALEEN_OPTION("live", BALEEN_OPTION_STRING, 0, 1, 0, "auto", "auto|on|off", "",
                                "one line that is redrawn; auto: where the output is a terminal"),
                  BALEEN_OPTION("every", BALEEN_OPTION_INT, 0, 0, 1 << 30, "0", "", "",
                                "steps between plain lines; 0: about twenty lines in the whole run"));

namespace {

using namespace baleen;

struct Member : console::Console {
  using Console::Console;
  static Result<std::unique_ptr<Member>> create(const Host&, const Settings& settings) {
    const std::string_view live = settings.text("live");
    const auto choice = live == "on" ? console::Live::kOn : live == "off" ? console::Live::kOff : console::Live::kAuto;
    return std::make_unique<Member>(console::Screen(STDOUT_FILENO), choice, settings.integer("every"));
  }
};

}  // namespace

BALEEN_MONITOR(Member);
