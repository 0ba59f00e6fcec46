--- strategy(name, options): one entry of a job's plan.
local core = require "baleen.core"
local options = require "baleen.options"

local Strategy = {
  __tostring = function(self)
    return ("strategy %q %s"):format(self.name, options.text(self.options))
  end,
}

return function(name, given)
  if type(name) ~= "string" then core.fail("strategy: the name is " .. core.describe(name) .. "; it must be a string") end
  if given ~= nil and type(given) ~= "table" then
    core.fail("strategy `" .. name .. "`: the options are " .. core.describe(given) .. "; they must be a table")
  end
  return setmetatable({ name = name, options = given or {}, where = core.where() }, Strategy)
end
