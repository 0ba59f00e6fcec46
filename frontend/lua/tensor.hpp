/// \file Symbolic tensors as Lua sees them: a value of the graph that is being described.
#pragma once
#include <cstdint>
#include <string>

#include "frontend/lua/arguments.hpp"

namespace baleen {

/// What the userdata holds.
struct TensorHandle {
  std::uint32_t serial;  ///< of the graph
  ValueId value;
};

/// Null for anything else.
const TensorHandle* to_tensor(lua_State* L, int index);
/// Refuses a tensor of another graph; `what` names it in the message.
ValueId value_of(lua_State* L, const TensorHandle& handle, const std::string& what);

/// Makes the type. The table of ops, whose functions are the tensors' methods, is on the top of the stack and stays
/// there.
void make_tensor_type(lua_State* L);

}  // namespace baleen
