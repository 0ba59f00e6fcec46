--- The arguments that stand after `--` on the command line: `--data PATH`, `--data=PATH`, `--fast`.
local core = require "baleen.core"

local given, order, asked = {}, {}, {}

local function read(list)
  local i = 1
  while i <= #list do
    local name, value = list[i]:match("^%-%-([%w_%-]+)=(.*)$")
    name = name or list[i]:match("^%-%-([%w_%-]+)$")
    if not name then
      core.fail(("script argument `%s`: write --name VALUE or --name=VALUE"):format(list[i]), "command line")
    end
    if not value and list[i + 1] and not list[i + 1]:match("^%-%-") then
      i = i + 1
      value = list[i]
    end
    if given[name] == nil then order[#order + 1] = name end
    given[name] = value or true
    i = i + 1
  end
end

read(core.arguments)

local function convert(name, value, default)
  local kind = type(default)
  if kind == "number" then
    local number = type(value) == "string" and tonumber(value)
    if not number then core.fail(("argument --%s is `%s`; it must be a number"):format(name, value), "command line") end
    return number
  elseif kind == "boolean" then
    if value == true or value == "true" then return true end
    if value == "false" then return false end
    core.fail(("argument --%s is `%s`; it must be true or false"):format(name, value), "command line")
  end
  if value == true and kind ~= "nil" then
    core.fail(("argument --%s needs a value"):format(name), "command line")
  end
  return value
end

local arg = {}

--- arg(name, default): what the user gave, as a value of the default's type. Without a default it must be given.
function arg.get(name, default)
  asked[#asked + 1] = name
  local value = given[name]
  if value ~= nil then return convert(name, value, default) end
  if default ~= nil then return default end
  core.fail(("the script needs the argument --%s; give it after `--`, as in: -- --%s VALUE"):format(name, name))
end

--- Refuses arguments that the script never asked for. Called when it has described its job.
function arg.check()
  local known = {}
  for _, name in ipairs(asked) do known[name] = true end
  for _, name in ipairs(order) do
    if not known[name] then core.fail(core.unknown_word("script argument", name, asked), "command line") end
  end
end

return arg
