--- optimizer(name, options): the options of the optimizer's plugin, and `groups` of parameters with options of their own:
---   groups = { { match = { "*.bias", "*.gamma" }, weight_decay = 0 }, { match = "embedding.*", frozen = true } }
local core = require "baleen.core"
local options = require "baleen.options"

local Optimizer = {
  __tostring = function(self)
    return ("optimizer %q %s"):format(self.name, options.text(self.options))
  end,
}

local function read_patterns(what, match)
  if type(match) == "string" then return { match } end
  if type(match) ~= "table" or #match == 0 then
    core.fail(what .. ": `match` is " .. core.describe(match) .. "; it must be a pattern of parameter names, or a list of them")
  end
  for _, pattern in ipairs(match) do
    if type(pattern) ~= "string" then core.fail(what .. ": a pattern is " .. core.describe(pattern) .. ", not a string") end
  end
  return match
end

local function read_group(what, given)
  if type(given) ~= "table" then core.fail(what .. " is " .. core.describe(given) .. "; it must be a table") end
  local group = { match = read_patterns(what, given.match), frozen = false, options = {}, where = core.where() }
  for name, value in pairs(given) do
    if name == "frozen" then
      if type(value) ~= "boolean" then core.fail(what .. ": `frozen` is " .. core.describe(value) .. ", not true or false") end
      group.frozen = value
    elseif name ~= "match" then
      group.options[name] = value
    end
  end
  return group
end

return function(name, given)
  if type(name) ~= "string" then core.fail("optimizer: the name is " .. core.describe(name) .. "; it must be a string") end
  local what = "optimizer `" .. name .. "`"
  if given ~= nil and type(given) ~= "table" then
    core.fail(what .. ": the options are " .. core.describe(given) .. "; they must be a table")
  end
  local result = setmetatable({ name = name, options = {}, groups = {}, where = core.where() }, Optimizer)
  for key, value in pairs(given or {}) do
    if key ~= "groups" then result.options[key] = value end
  end
  local groups = given and given.groups or {}
  if type(groups) ~= "table" then core.fail(what .. ": `groups` is " .. core.describe(groups) .. "; it must be a list") end
  for i, group in ipairs(groups) do
    result.groups[i] = read_group(what .. ": group " .. i, group)
  end
  return result
end
