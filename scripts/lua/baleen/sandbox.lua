-- Runs first in every script's state: takes away files and binary chunks, and makes what is left the same on every
-- rank. Returns the function that seeds math.random: anew by a number, or by the last one and how far the run is.
local error, getmetatable, next, type = error, getmetatable, next, type -- whatever a script makes of these names
local sort, number_type = table.sort, math.type

dofile, loadfile = nil, nil
string.dump = nil

local load_any = load
--- As in Lua, for text only: a crafted binary chunk can crash the interpreter.
function load(chunk, name, _, ...)
  return load_any(chunk, name, "t", ...)
end

local random_seed, seed = math.randomseed, 0
--- As in Lua, but a seed must be given: every rank draws the same numbers. A run seeds with it before each step again,
--- together with the number of the step.
function math.randomseed(number)
  if number_type(number) == nil then error("math.randomseed: give a number; every rank must draw the same", 2) end
  random_seed(number)
  seed = number
end

local rank = { number = 1, string = 2, boolean = 3 }

local function before(a, b)
  local kind_a, kind_b = type(a), type(b)
  if kind_a ~= kind_b then return rank[kind_a] < rank[kind_b] end
  if kind_a == "boolean" then return not a and b end
  return a < b
end

local function sorted_keys(t)
  local keys = {}
  for key in next, t do
    if not rank[type(key)] then
      error("pairs: a key that is a " .. type(key) .. " has no order that all ranks share; iterate over a list", 3)
    end
    keys[#keys + 1] = key
  end
  sort(keys, before)
  return keys
end

--- As in Lua, in the order of the keys: numbers, strings, then booleans.
function pairs(t)
  local meta = getmetatable(t)
  if type(meta) == "table" and meta.__pairs then return meta.__pairs(t) end
  if type(t) ~= "table" then error("pairs: expected a table, got a " .. type(t), 2) end
  local keys, position = sorted_keys(t), 0
  return function()
    local key, value
    repeat -- a key may have been removed meanwhile
      position = position + 1
      key = keys[position]
      value = key ~= nil and t[key]
    until key == nil or value ~= nil
    return key, value
  end, t, nil
end

return function(number, updates)
  seed = number or seed
  random_seed(seed, updates)
end
