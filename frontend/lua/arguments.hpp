/// \file Reading what Lua code passes to our functions, and pushing what it gets; with messages for the user.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "frontend/lua/description.hpp"
#include "frontend/lua/lua_state.hpp"

namespace baleen {

/// A short text for a Lua value in a message: `a string ("x")`, `nil`, `a tensor`.
std::string describe_value(lua_State* L, int index);

/// The arguments of one call of the function `name`; missing ones are nil. Every getter throws a ScriptError that
/// names function and argument.
class Arguments {
 public:
  Arguments(lua_State* L, std::string name) : L_(L), name_(std::move(name)) {}

  ValueId tensor(int index, const char* what) const;
  std::int64_t integer(int index, const char* what) const;
  double number(int index, const char* what) const;
  std::string text(int index, const char* what) const;
  /// A list of integers; one integer is a list of one.
  std::vector<std::int64_t> integers(int index, const char* what) const;
  std::vector<ValueId> tensors(int index, const char* what) const;
  std::vector<std::string> texts(int index, const char* what) const;
  bool absent(int index) const { return lua_isnoneornil(L_, index); }
  bool boolean(int index) const { return lua_toboolean(L_, index) != 0; }
  /// Dimension as Lua counts (from 1, or -1 for the last) of a tensor, from 0.
  std::int64_t dimension(int index, const char* what, ValueId of) const;
  std::vector<std::int64_t> dimensions(int index, const char* what, ValueId of) const;
  [[noreturn]] void refuse(int index, const char* what, const std::string& expected) const;

  lua_State* lua() const { return L_; }
  const std::string& name() const { return name_; }

 private:
  std::int64_t checked_dimension(std::int64_t number, const char* what, ValueId of) const;

  lua_State* L_;
  std::string name_;
};

/// The description that runs; throws where none does (in a callback of the training loop).
Description& description_of(lua_State* L);
/// The line of the script that a new op belongs to: the user's own code inside the present layer, else where the
/// layer was made.
std::string place_of_op(lua_State* L);

/// "baleen.tensor" userdata.
void push_tensor(lua_State* L, ValueId value);
void push_tensors(lua_State* L, std::span<const ValueId> values);
bool is_tensor(lua_State* L, int index);

void push_text(lua_State* L, std::string_view text);
void push_integers(lua_State* L, std::span<const std::int64_t> numbers);
void push_texts(lua_State* L, std::span<const std::string> texts);

/// Sets functions in the table on the top of the stack, all behind the gate.
struct Function {
  const char* name;
  lua_CFunction function;
};
void set_functions(lua_State* L, std::span<const Function> functions);

}  // namespace baleen
