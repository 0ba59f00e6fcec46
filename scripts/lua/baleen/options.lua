--- Checks tables of options: unknown names (with the nearest known one), types, ranges, what is required.
local core = require "baleen.core"

local options = {}

--- What a rule's `type` accepts, and what it is called in a message.
local types = {
  integer = { "an integer", function(v) return math.type(v) == "integer" end },
  number = { "a number", function(v) return type(v) == "number" end },
  boolean = { "true or false", function(v) return type(v) == "boolean" end },
  string = { "a string", function(v) return type(v) == "string" end },
  table = { "a table", function(v) return type(v) == "table" end },
  ["function"] = { "a function", function(v) return options.callable(v) end },
  any = { "any value", function() return true end },
}

--- Can it be called, as a function or a layer can?
function options.callable(value)
  if type(value) == "function" then return true end
  local meta = getmetatable(value)
  return type(meta) == "table" and meta.__call ~= nil
end

local makers = setmetatable({}, { __mode = "k" })  -- how each is called: "linear { ... }"

--- `make`, known as a function that a script has to call, as in `example`.
function options.maker(example, make)
  makers[make] = example
  return make
end

--- Fails where `value` is a function that makes what is wanted, and was not called.
function options.expect_made(what, value, where)
  local example = makers[value]
  if example then
    core.fail(("%s is a function that makes one; call it, as in %s"):format(what, example), where)
  end
end

--- Fails unless `value` is a table of the entries 1, 2, ... and nothing else.
function options.expect_list(what, value, example)
  options.expect(what, value, "table")
  local count = 0
  for key in pairs(value) do
    if math.type(key) ~= "integer" or key < 1 then
      core.fail(("%s has a field `%s`, and must be a list, as in %s"):format(what, tostring(key), example))
    end
    count = math.max(count, key)
  end
  for i = 1, count do
    if value[i] == nil then
      core.fail(("%s: entry %d of the list is nil, and there is one behind it; is its name misspelt?"):format(what, i))
    end
  end
end

--- Fails unless `value` is of that type; `what` names it: "optimizer: the name".
function options.expect(what, value, kind)
  if not types[kind][2](value) then
    core.fail(("%s is %s; it must be %s"):format(what, core.describe(value), types[kind][1]))
  end
end

local function names_of(rules)
  local names = {}
  for name in pairs(rules) do names[#names + 1] = name end
  return names
end

local function check_range(what, name, value, rule)
  if value ~= value or value == math.huge or value == -math.huge then
    local text = value ~= value and "no number (NaN)" or value > 0 and "infinite" or "minus infinity"
    core.fail(("%s: `%s` is %s; it must be a finite number"):format(what, name, text))
  end
  if rule.min and value < rule.min then
    core.fail(("%s: `%s` is %s; it must be at least %s"):format(what, name, value, rule.min))
  elseif rule.max and value > rule.max then
    core.fail(("%s: `%s` is %s; it must be at most %s"):format(what, name, value, rule.max))
  end
end

local function check_choice(what, name, value, rule)
  for _, word in ipairs(rule.choices) do
    if word == value then return end
  end
  core.fail(("%s: `%s`: %s"):format(what, name, core.unknown_word("choice", value, rule.choices)))
end

local function check_value(what, name, value, rule)
  options.expect_made(("%s: `%s`"):format(what, name), value)
  local expected = {}
  for word in rule.type:gmatch("[^|]+") do
    local kind = types[word]
    if kind[2](value) then
      if type(value) == "number" then check_range(what, name, value, rule) end
      if rule.choices and type(value) == "string" then check_choice(what, name, value, rule) end
      return
    end
    expected[#expected + 1] = kind[1]
  end
  core.fail(("%s: `%s` is %s; it must be %s"):format(what, name, core.describe(value), table.concat(expected, " or ")))
end

--- `given` with today's names in the place of earlier ones (a rule's `earlier`).
local function renamed(what, given, rules)
  local result = {}
  for key, value in pairs(given) do result[key] = value end
  for name, rule in pairs(rules) do
    local old = rule.earlier
    if old and given[old] ~= nil then
      if given[name] ~= nil then
        core.fail(("%s: `%s` is an earlier name of `%s`, which is given too; leave out one"):format(what, old, name))
      end
      result[name], result[old] = given[old], nil
    end
  end
  return result
end

--- Returns a table with the value of every rule's option. A rule is { type = "integer|table", default =, required
--- =, min =, max =, choices =, earlier = }; `earlier` is another name that scripts may still use. With `list` the
--- entries 1, 2, … of `given` are kept too.
function options.check(what, given, rules, list)
  if given == nil then given = {} end
  if core.is_tensor(given) then
    core.fail(("%s: it is called with a tensor, and must be made first, as in %s { ... } (x)"):format(what, what))
  elseif options.callable(given) then
    local shown = type(given) == "table" and given.kind and ("a layer, %s,"):format(given.kind) or core.describe(given)
    core.fail(("%s: it is given %s in place of a table; write %s { ... }, with that inside"):format(what, shown, what))
  elseif type(given) ~= "table" then
    core.fail(what .. ": the options are " .. core.describe(given) .. "; they must be a table, as in { name = value }")
  end
  given = renamed(what, given, rules)
  local result, entries = {}, {}
  for key, value in pairs(given) do
    if list and math.type(key) == "integer" then
      result[key], entries[key] = value, value
    elseif type(key) ~= "string" then
      core.fail(what .. ": options are given by name, but " .. core.describe(value) .. " has none")
    elseif not rules[key] then
      core.fail(what .. ": " .. core.unknown_word("option", key, names_of(rules)))
    end
  end
  options.expect_list(what, entries, "{ a, b }")
  for name, rule in pairs(rules) do
    local value = given[name]
    if value == nil then
      if rule.required then core.fail(what .. ": option `" .. name .. "` is missing") end
      value = rule.default
    else
      check_value(what, name, value, rule)
    end
    result[name] = value
  end
  return result
end

--- "name = value, ..." of the options that are set, for tostring.
function options.text(values)
  local parts = {}
  for name, value in pairs(values) do
    if type(name) == "string" then
      parts[#parts + 1] = name .. " = " .. (type(value) == "string" and ("%q"):format(value) or tostring(value))
    end
  end
  return #parts == 0 and "{}" or "{ " .. table.concat(parts, ", ") .. " }"
end

return options
