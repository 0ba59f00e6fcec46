--- optimizer(name, options): the options of the optimizer's plugin, and `groups` of parameters with their own:
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
    core.fail(("%s: `match` is %s; it must be a pattern of parameter names, or a list of them"):format(
      what, core.describe(match)))
  end
  options.expect_list(what .. ": `match`", match, '{ "*.bias", "*.gamma" }')
  for i, pattern in ipairs(match) do
    options.expect(("%s: pattern %d"):format(what, i), pattern, "string")
  end
  return match
end

local function read_group(what, given)
  options.expect(what, given, "table")
  local group = { match = read_patterns(what, given.match), frozen = false, options = {}, where = core.where() }
  for name, value in pairs(given) do
    if name == "frozen" then
      options.expect(what .. ": `frozen`", value, "boolean")
      group.frozen = value
    elseif name ~= "match" then
      options.expect_made(("%s: `%s`"):format(what, name), value)
      group.options[name] = value
    end
  end
  return group
end

return core.entry(function(name, given)
  if type(name) == "table" then
    core.fail('optimizer: the name stands before the table, as in baleen.optimizer("NAME", { lr = 1e-3 })')
  end
  options.expect("optimizer: the name", name, "string")
  local what = "optimizer `" .. name .. "`"
  given = given or {}
  options.expect(what .. ": the options", given, "table")
  local result = setmetatable({ name = name, options = {}, groups = {}, where = core.where() }, Optimizer)
  for key, value in pairs(given) do
    options.expect_made(("%s: `%s`"):format(what, tostring(key)), value)
    if key ~= "groups" then result.options[key] = value end
  end
  local groups = given.groups or {}
  options.expect_list(what .. ": `groups`", groups, "groups = { { match = \"*.bias\", ... } }")
  for i, group in ipairs(groups) do
    result.groups[i] = read_group(what .. ": group " .. i, group)
  end
  return result
end)
