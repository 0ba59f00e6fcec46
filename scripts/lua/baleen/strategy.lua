--- strategy(name, options): one entry of a job's plan.
local core = require "baleen.core"
local options = require "baleen.options"

local Strategy = {
  __tostring = function(self)
    return ("strategy %q %s"):format(self.name, options.text(self.options))
  end,
}

return core.entry(function(name, given)
  if type(name) == "table" then
    core.fail('strategy: the name stands before the table, as in baleen.strategy("NAME", { ... })')
  end
  given = given or {}
  options.expect("strategy: the name", name, "string")
  options.expect("strategy `" .. name .. "`: the options", given, "table")
  return setmetatable({ name = name, options = given, where = core.where() }, Strategy)
end)
