-- Calls of one op of a plugin, on numbers of this script: the slope of a sum over its results along a random
-- direction, by differences and by the op's gradient. Each call is written "OPERANDS;ATTRIBUTES;ALONG;IDS", with '|'
-- between calls: operands f8x6,i8 with the type (f, i: class numbers) and the shape of each, attributes
-- scale:n:0.5,dim:n:1, the number of the one operand that has a direction (0: each has), and how many class numbers
-- there are. `--gradient false`: the op has none. `--range` says of which range numbers are; without it each call has
-- the first of `ranges` in which its results are finite.
local baleen = require "baleen"
local nn, ops = baleen.nn, baleen.ops

local kind, differentiable = baleen.arg("kind", ""), baleen.arg("gradient", true)
local batch, only_range = baleen.arg("batch", 8), baleen.arg("range", "")

-- From a number of 0 to 1 and a sign.
local ranges = {
  { name = "signed", draw = function(u, sign) return sign * (u + 0.25) end },
  { name = "positive", draw = function(u) return u + 0.25 end },
  { name = "low", draw = function(u) return 0.25 + 0.5 * u end },
}

local function read_attributes(text)
  local attributes = {}
  for name, type, value in text:gmatch "([^,:]+):(%a):([^,]*)" do
    if type == "n" then attributes[name] = tonumber(value) end
    if type == "b" then attributes[name] = value == "true" end
    if type == "t" then attributes[name] = value end
  end
  return attributes
end

local function read_operands(text, along)
  local operands = {}
  for letter, dims in text:gmatch "(%a)([^,]*)" do
    local operand = { floating = letter == "f", shape = {}, axes = {}, count = 1 }
    for extent in dims:gmatch "%d+" do
      operand.shape[#operand.shape + 1] = math.tointeger(extent)
      operand.count = operand.count * math.tointeger(extent)
    end
    operand.axes[1] = operand.shape[1] == batch and "batch" or ""
    operands[#operands + 1] = operand
    operand.moves = operand.floating and (along == 0 or along == #operands)
  end
  return operands
end

-- The numbers of each operand, and directions.
local function draw(operands, ids)
  for _, operand in ipairs(operands) do
    operand.uniform, operand.signs, operand.direction = {}, {}, {}
    for k = 1, operand.count do
      operand.uniform[k] = operand.floating and math.random() or math.random(0, ids - 1)
      operand.signs[k] = math.random(0, 1) * 2 - 1
      operand.direction[k] = math.random() - 0.5
    end
  end
end

local function numbers_of(operands, range)
  local numbers = {}
  for i, operand in ipairs(operands) do
    local values = {}
    for k, u in ipairs(operand.uniform) do values[k] = operand.floating and range.draw(u, operand.signs[k]) or u end
    numbers["x" .. i] = values
    if operand.moves then numbers["d" .. i] = operand.direction end
  end
  return numbers
end

local calls, programs = {}, {}

local function total(call, given, t)
  local arguments = {}
  for i, operand in ipairs(call.operands) do
    local x = given["x" .. i]
    arguments[i] = operand.moves and x + given["d" .. i] * t or x
  end
  if next(call.attributes) then arguments[#arguments + 1] = call.attributes end
  local sum
  for _, result in ipairs { ops[kind](table.unpack(arguments)) } do
    local own = (result * result * 0.5 + result):sum()
    sum = sum and sum + own or own
  end
  return sum
end

local function add_programs(call)
  local inputs = {}
  for i, operand in ipairs(call.operands) do
    inputs["x" .. i] = { shape = operand.shape, axes = operand.axes, dtype = not operand.floating and "int32" or nil }
    if operand.moves then inputs["d" .. i] = { shape = operand.shape, axes = operand.axes } end
  end
  local stepped = { h = { shape = { 1 } } }
  for name, input in pairs(inputs) do stepped[name] = input end
  programs["value" .. call.number] = {
    inputs = stepped, run = function(given) return { total = total(call, given, given.h:sum()) } end,
  }
  if not differentiable then return end
  -- How far along the direction: what is learnt.
  local way = nn.layer { kind = "way", forward = function(self)
    return self:parameter("t", { 1 }, { init = baleen.init.zeros })
  end } {}
  programs["slope" .. call.number] = {
    inputs = inputs, optimizer = baleen.optimizer("sgd", { lr = 1.0 }),
    run = function(given) return { loss = total(call, given, way(given.x1):sum()) } end,
  }
  programs["where" .. call.number] = { inputs = { one = { shape = { 1 } } },
                                       run = function(given) return { t = way(given.one) * given.one } end }
end

for operands, attributes, along, ids in baleen.arg("calls", ""):gmatch "([^;|]*);([^;|]*);(%d+);(%d+)" do
  local call = { number = #calls + 1, attributes = read_attributes(attributes),
                 operands = read_operands(operands, math.tointeger(along)) }
  draw(call.operands, math.tointeger(ids))
  add_programs(call)
  calls[#calls + 1] = call
end

local function try_call(run, call)
  local numbers, range
  local function at(h)
    numbers.h = { h }
    local value = run:run("value" .. call.number, numbers).total[1]
    numbers.h = nil
    return value
  end
  local here
  for _, one in ipairs(ranges) do
    if only_range == "" or only_range == one.name then
      range, numbers = one, numbers_of(call.operands, one)
      here = at(0)
      if here - here == 0 then break end
    end
  end
  local text = ("call %d range %s total %.17g"):format(call.number, range.name, here)
  if here - here ~= 0 then return print(text) end
  local h = 1e-4
  local slope, longer = (at(h) - at(-h)) / (2 * h), (at(2 * h) - at(-2 * h)) / (4 * h)
  text = ("%s slope %.17g longer %.17g"):format(text, slope, longer)
  if not differentiable then return print(text) end
  run:run("slope" .. call.number, numbers)
  print(("%s gradient %.17g"):format(text, -run:run("where" .. call.number, { one = { 1 } }).t[1]))
end

return baleen.job {
  steps = 1, seed = 1, programs = programs,
  loop = function(_, run)
    for _, call in ipairs(calls) do try_call(run, call) end
  end,
}
