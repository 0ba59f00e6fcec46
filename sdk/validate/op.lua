-- One op of a plugin, on numbers of this script: the slope of a sum over its results along a random direction, by
-- differences and by the op's gradient. `--operands f8x6,i8` says the type (f, i: class numbers) and the shape of each
-- operand, `--attributes scale:n:0.5,dim:n:1` the attributes; `--gradient false`: the op has none.
local baleen = require "baleen"
local nn, ops = baleen.nn, baleen.ops

local kind, differentiable = baleen.arg("kind", ""), baleen.arg("gradient", true)
local batch = baleen.arg("batch", 8)

local attributes = {}
for name, type, text in baleen.arg("attributes", ""):gmatch "([^,:]+):(%a):([^,]*)" do
  attributes[name] = type == "n" and tonumber(text) or type == "b" and text == "true" or type == "t" and text or nil
end

local operands = {}
for letter, dims in baleen.arg("operands", ""):gmatch "(%a)([^,]*)" do
  local operand = { floating = letter == "f", shape = {}, axes = {}, count = 1 }
  for extent in dims:gmatch "%d+" do
    operand.shape[#operand.shape + 1] = math.tointeger(extent)
    operand.count = operand.count * math.tointeger(extent)
  end
  operand.axes[1] = operand.shape[1] == batch and "batch" or ""
  operands[#operands + 1] = operand
end

local inputs, numbers = {}, {}
for i, operand in ipairs(operands) do
  local name, direction, values, slopes = "x" .. i, "d" .. i, {}, {}
  for k = 1, operand.count do
    values[k] = operand.floating and math.random() + 0.25 or math.random(0, 4)
    slopes[k] = math.random() - 0.5
  end
  inputs[name] = { shape = operand.shape, axes = operand.axes, dtype = not operand.floating and "int32" or nil }
  numbers[name] = values
  if operand.floating then
    inputs[direction] = { shape = operand.shape, axes = operand.axes }
    numbers[direction] = slopes
  end
end

-- How far along the direction: what is learnt.
local way = nn.layer { kind = "way", forward = function(self)
  return self:parameter("t", { 1 }, { init = baleen.init.zeros })
end } {}

local function total(given, t)
  local arguments = {}
  for i, operand in ipairs(operands) do
    local x = given["x" .. i]
    arguments[i] = operand.floating and x + given["d" .. i] * t or x
  end
  if next(attributes) then arguments[#arguments + 1] = attributes end
  local sum
  for _, result in ipairs { ops[kind](table.unpack(arguments)) } do
    local own = (result * result * 0.5 + result):sum()
    sum = sum and sum + own or own
  end
  return sum
end

local stepped = { h = { shape = { 1 } } }
for name, input in pairs(inputs) do stepped[name] = input end

local programs = {
  value = { inputs = stepped, run = function(given) return { total = total(given, given.h:sum()) } end },
}
if differentiable then
  programs.slope = {
    inputs = inputs, optimizer = baleen.optimizer("sgd", { lr = 1.0 }),
    run = function(given) return { loss = total(given, way(given.x1):sum()) } end,
  }
  programs.where = { inputs = { one = { shape = { 1 } } },
                     run = function(given) return { t = way(given.one) * given.one } end }
end

return baleen.job {
  steps = 1, seed = 1, programs = programs,
  loop = function(_, run)
    local function at(h)
      numbers.h = { h }
      local value = run:run("value", numbers).total[1]
      numbers.h = nil
      return value
    end
    print(("total %.17g"):format(at(0)))
    if not differentiable then return end
    local h = 1e-4
    local slope = (at(h) - at(-h)) / (2 * h)
    run:run("slope", numbers)
    local found = -run:run("where", { one = { 1 } }).t[1]
    print(("slope %.17g gradient %.17g"):format(slope, found))
  end,
}
