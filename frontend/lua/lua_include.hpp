/// \file The headers of Lua, compiled as C++, with C linkage. Only files of this folder include this one.
#pragma once
extern "C" {
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
}
