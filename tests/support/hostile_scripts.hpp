/// \file Scripts that mean ill, or run away, while they describe their model.
#pragma once
#include <ostream>
#include <string>
#include <utility>

namespace baleen::test {

struct Hostile {
  const char* name;
  const char* code;
  const char* says = "";  ///< a part of the message
};
inline void PrintTo(const Hostile& script, std::ostream* out) { *out << script.name; }

inline constexpr const char* kEndless = "did not finish describing its model";
inline constexpr const char* kMemory = "holds more than 960 MiB of memory";
inline constexpr const char* kStuck = "sits in one call";

inline const Hostile kHostileScripts[] = {
    // Loops, wherever a script can hide one.
    {"loops", "while true do end", kEndless},
    {"repeats", "repeat local a = 1 until false", kEndless},
    {"goes_back", "::again:: goto again", kEndless},
    {"counts_by_nothing", "for i = 0, 1, 1e-300 do end", kEndless},
    {"catches_its_end", "while true do pcall(function() while true do end end) end", kEndless},
    {"catches_its_end_again", "local function f() while true do pcall(f2) end end f2 = f pcall(f) f()", kEndless},
    {"loops_in_a_handler", "xpcall(error, function() while true do end end)", kStuck},
    {"loops_in_handlers_of_handlers", "local function h() xpcall(error, h) while true do end end xpcall(error, h)"},
    {"loops_in_a_coroutine", "coroutine.wrap(function() while true do end end)()", kEndless},
    {"yields_for_ever",
     "local c = coroutine.wrap(function() while true do coroutine.yield() end end) "
     "while true do c() end",
     kEndless},
    {"hides_coroutines_in_coroutines", "local function f() coroutine.wrap(f)() end f()"},
    {"loops_in_a_finaliser",
     "setmetatable({}, {__gc = function() while true do end end}) collectgarbage() "
     "collectgarbage()"},
    {"finalises_for_ever", "local function f() setmetatable({}, {__gc = f}) end f() while true do collectgarbage() end",
     kEndless},
    {"loops_at_a_close", "do local x <close> = setmetatable({}, {__close = function() while true do end end}) end",
     kEndless},
    {"loops_in_an_index", "local t = setmetatable({}, {__index = function() while true do end end}) print(t.x)",
     kEndless},
    {"loops_in_a_comparison", "table.sort({1, 2, 3}, function() while true do end end)", kEndless},
    {"loops_in_a_replacement", "local s = ('a'):gsub('a', function() while true do end end)", kEndless},
    {"loops_as_a_text", "print(setmetatable({}, {__tostring = function() while true do end end}))", kEndless},
    {"loops_in_a_module", "require 'endless'", kEndless},
    // Calls that take for ever.
    {"moves_for_ever", "table.move({}, 1, math.maxinteger - 1, 2)", kStuck},
    {"matches_for_ever", "print((('a'):rep(40)):find(('.-'):rep(40) .. 'b'))", kStuck},
    {"matches_for_ever_caught", "pcall(string.find, ('a'):rep(40), ('.-'):rep(40) .. 'b')", kStuck},
    {"matches_in_a_coroutine", "coroutine.wrap(function() (('a'):rep(40)):match(('.-'):rep(40) .. 'b') end)()", kStuck},
    // Memory.
    {"doubles_a_text", "local s = 'x' while true do s = s .. s end", kMemory},
    {"repeats_a_text", "print(#('x'):rep(2e9))", kMemory},
    {"repeats_beyond_all", "('x'):rep(1e18)", "resulting string too large"},
    {"repeats_with_separators", "('x'):rep(1.5e8, 'separator')", kMemory},
    {"fills_a_table", "local t = {} for i = 1, 1e9 do t[i] = i end", kMemory},
    {"fills_a_table_without_collection", "collectgarbage('stop') local t = {} while true do t[#t + 1] = {} end"},
    {"catches_the_end_of_memory",
     "local t = {} while true do pcall(function() while true do t[#t + 1] = {} end end) "
     "end"},
    {"keeps_coroutines", "local t = {} while true do t[#t + 1] = coroutine.create(function() end) end"},
    {"joins_a_large_table", "local s, t = ('x'):rep(2000), {} for i = 1, 1e6 do t[i] = s .. i end table.concat(t)",
     kMemory},
    {"packs_a_large_table", "local t = {} for i = 1, 5e6 do t[i] = i end print(table.unpack(t))",
     "too many results to unpack"},
    {"takes_a_text_to_pieces", "('x'):rep(1e8):byte(1, -1)", "string slice too long"},
    {"packs_numbers", "string.pack(('i16'):rep(1e7), 1)"},
    {"formats_widely", "string.format('%99999d', 1)", "invalid conversion"},
    // Depth.
    {"calls_itself", "local function f() return 1 + f() end f()", "stack overflow"},
    {"calls_itself_in_an_index",
     "local t = setmetatable({}, {}) getmetatable(t).__index = function(_, k) return t[k] end "
     "print(t.x)",
     "stack overflow"},
    {"indexes_in_a_ring",
     "local a, b = {}, {} setmetatable(a, {__index = b}) setmetatable(b, {__index = a}) "
     "print(a.x)",
     "loop"},
    {"is_its_own_text", "local t t = setmetatable({}, {__tostring = function() return tostring(t) end}) print(t)"},
    {"requires_itself", "require 'ring'"},
    {"writes_deep_code",
     "return {{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{"
     "{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{"
     "{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{"},
    // What a script has not.
    {"ends_the_process", "os.exit(0)"},
    {"runs_a_program", "os.execute('true')"},
    {"opens_a_file", "io.open('/etc/passwd')"},
    {"loads_a_library", "package.loadlib('libc.so.6', '*')"},
    {"takes_the_limit_off", "debug.sethook() while true do end"},
    {"reads_a_file_as_code", "dofile('/etc/passwd')"},
    {"requires_outside", "require '../../../../etc/passwd'"},
    {"loads_bytes_as_code", "load(string.dump(function() end), 'x', 'b')()"},
    // What we are given.
    {"throws_a_long_text", "error(('x'):rep(1e8))"},
    {"throws_control_characters", "error('\\27[2J\\0\\7')"},
    {"throws_a_text_that_throws", "error(setmetatable({}, {__tostring = function() error('again') end}))"},
    {"gives_a_model_in_a_ring", "local nn = require 'baleen'.nn local t = {} t[1] = t return nn.sequential(t)"},
    {"gives_a_model_without_end",
     "local nn = require 'baleen'.nn local m = nn.linear { out = 3 } "
     "for i = 1, 1e9 do m = nn.sequential { m } end",
     kEndless},
    {"gives_a_layer_beyond_all", "return require 'baleen'.nn.linear { out = 1e30 }"},
    {"gives_functions_for_numbers", "return require 'baleen'.nn.linear { out = function() while true do end end }"},
    {"gives_rows_in_a_ring", "local r = {} r[1] = r require 'baleen'.data.table { rows = r }"},
};

/// Modules that they require, beside them.
inline const std::pair<const char*, const char*> kHostileModules[] = {
    {"endless.lua", "while true do end"},
    {"ring.lua", "require 'ring'"},
};

}  // namespace baleen::test
