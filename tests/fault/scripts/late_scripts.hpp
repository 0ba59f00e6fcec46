/// \file Scripts that describe their model as they should, and mean ill later.
#pragma once
#include "support/hostile_scripts.hpp"

namespace baleen::test {

/// `code` is a part of the job's table; {} is where it may have a loop.
inline std::string late_job(const std::string& code) {
  return "local baleen = require 'baleen'\nlocal rows, kept = {}, {}\n"
         "for i = 1, 40 do rows[i] = { i / 40, i % 3, i % 2 } end\n"
         "local function endless() while true do end end\n"
         "local function fill() while true do kept[#kept + 1] = ('x'):rep(1000) .. #kept end end\n"
         "local job = { model = baleen.nn.linear { name = 'l', out = 2 }, loss = baleen.nn.cross_entropy {},\n"
         "  data = baleen.data.table { rows = rows, held_out = 0.5 }, batch = 4, steps = 5,\n"
         "  optimizer = baleen.optimizer('sgd', { lr = 0.1 }) }\n" +
         code + "\nreturn baleen.job(job)\n";
}

inline constexpr const char* kRanOn = "has run for";

/// Each goes on for ever, or would: they end at the limit of callbacks.
inline const Hostile kEndlessLater[] = {
    {"loops_in_on_step", "job.on_step = endless", kRanOn},
    {"loops_in_on_evaluate", "job.on_evaluate = endless", kRanOn},
    {"loops_in_its_loop", "job.loop = endless", kRanOn},
    {"loops_in_a_schedule", "job.optimizer = baleen.optimizer('sgd', { lr = function() endless() end })", ""},
    {"catches_its_end_in_on_step", "job.on_step = function() while true do pcall(endless) end end", kRanOn},
    {"loops_in_a_coroutine_of_on_step", "job.on_step = function() coroutine.wrap(endless)() end", kRanOn},
    {"loops_in_a_handler_of_on_step", "job.on_step = function() xpcall(error, endless) end", kRanOn},
    {"matches_for_ever_in_on_step", "job.on_step = function() (('a'):rep(40)):find(('.-'):rep(40) .. 'b') end", kRanOn},
    {"loops_at_a_close_in_on_step",
     "job.on_step = function() local x <close> = setmetatable({}, { __close = endless }) end", kRanOn},
    {"loops_in_a_finaliser_of_on_step",
     "job.on_step = function() setmetatable({}, { __gc = endless }) collectgarbage() collectgarbage() end", kRanOn},
    {"catches_the_end_of_memory_in_on_step", "job.on_step = function() while true do pcall(fill) end end", kRanOn},
};

/// Each is refused when it happens.
inline const Hostile kLater[] = {
    {"fills_memory_in_on_step", "job.on_step = fill", kMemory},
    {"fills_memory_in_on_evaluate", "job.on_evaluate = fill", kMemory},
    {"fills_memory_in_its_loop", "job.loop = fill", kMemory},
    {"fills_memory_in_a_schedule", "job.optimizer = baleen.optimizer('sgd', { lr = function() fill() end })", kMemory},
    {"keeps_a_part_each_step",
     "job.steps = 1000000\njob.on_step = function() kept[#kept + 1] = ('x'):rep(1 << 24) .. #kept end", kMemory},
    {"repeats_a_text_in_on_step", "job.on_step = function() local s = ('x'):rep(2000000000) end", kMemory},
    {"calls_itself_in_on_step", "job.on_step = function(...) return 1 + job.on_step(...) end", "stack overflow"},
    {"throws_a_long_text_in_on_step", "job.on_step = function() error(('x'):rep(100000000)) end", "bytes more"},
    {"throws_a_table_in_on_step", "job.on_step = function() error({}) end", ""},
    {"throws_what_throws_in_on_step",
     "job.on_step = function() error(setmetatable({}, { __tostring = function() error('again') end })) end", ""},
    {"ends_the_process_in_on_step", "job.on_step = function() os.exit(0) end", "os"},
    {"opens_a_file_in_on_step", "job.on_step = function() io.open('/etc/passwd') end", "io"},
    {"takes_the_limit_off_in_on_step", "job.on_step = function() debug.sethook() end", "debug"},
    {"yields_in_on_step", "job.on_step = function() coroutine.yield() end", "yield"},
    {"steps_within_a_step", "job.loop = function(_, run) job.on_step = nil run:step(run) run.step() end", ""},
    {"saves_to_a_device", "job.loop = function(_, run) run:step() run:save('/dev/mem') end",
     "unknown ending of a checkpoint file"},
    {"saves_outside", "job.loop = function(_, run) run:step() run:save('/proc/self/x.safetensors') end", "/proc/self"},
    {"gives_no_number_in_a_schedule", "job.optimizer = baleen.optimizer('sgd', { lr = function() return {} end })",
     "lr"},
    {"gives_nan_in_a_schedule", "job.optimizer = baleen.optimizer('sgd', { lr = function() return 0 / 0 end })", "lr"},
    {"throws_in_a_schedule", "job.optimizer = baleen.optimizer('sgd', { lr = function() error('oh') end })", "oh"},
};

}  // namespace baleen::test
