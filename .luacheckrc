std = "lua54"
max_line_length = 120
ignore = { "211/_.+" } -- values that live for what closing them does
files["scripts/lua/baleen/sandbox.lua"] = { globals = { "dofile", "loadfile", "load", "pairs", "math", "string" } }
files["scripts/lua/meta"] = { ignore = { "2", "631" } } -- annotations: functions without bodies, long types
