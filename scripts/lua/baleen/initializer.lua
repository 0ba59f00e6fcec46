--- How parameters start: plain tables that layers pass on to the core.
local core = require "baleen.core"
local options = require "baleen.options"

local initializer = {}

local Initializer = {
  __tostring = function(self)
    if self.kind == "constant" then return ("constant(%g)"):format(self.value) end
    if self.kind == "uniform" then return ("uniform(%g, %g)"):format(self.low, self.high) end
    if self.kind == "fan_in" then return ("fan_in(%g)"):format(self.gain) end
    return ("normal(%g)"):format(self.deviation)
  end,
}

local largest = 3.4028234663852886e38 -- of fp32

local function check(kind, name, value, least)
  local what = ("baleen.init.%s: `%s`"):format(kind, name)
  options.expect(what, value, "number")
  if value ~= value or math.abs(value) > largest then
    core.fail(("%s is %s; it must be a finite number of fp32"):format(what, value))
  elseif least and value < least then
    core.fail(("%s is %s; it must be at least %s"):format(what, value, least))
  end
  return value
end

local function define(kind, example, make)
  initializer[kind] = options.maker(kind .. example, core.entry(function(...)
    return setmetatable(make(...), Initializer)
  end))
end

define("constant", "(0)", function(value)
  return { kind = "constant", value = check("constant", "value", value) }
end)

initializer.zeros = initializer.constant(0)
initializer.ones = initializer.constant(1)

--- Normally distributed; the mean is 0 unless given.
define("normal", "(0.02)", function(deviation, mean)
  check("normal", "deviation", deviation, 0)
  return { kind = "normal", mean = check("normal", "mean", mean or 0), deviation = deviation }
end)

define("uniform", "(-0.1, 0.1)", function(low, high)
  check("uniform", "low", low)
  return { kind = "uniform", low = low, high = check("uniform", "high", high, low) }
end)

--- Normal with deviation gain / sqrt(number of inputs of one output); gain sqrt(2) suits ReLU (arXiv 1502.01852).
define("fan_in", "()", function(gain)
  return { kind = "fan_in", gain = check("fan_in", "gain", gain or 1, 0) }
end)

--- The initialiser itself, with the number of inputs put in.
function initializer.resolve(init, inputs)
  if init.kind ~= "fan_in" then return init end
  return initializer.normal(init.gain / math.sqrt(inputs))
end

--- A normal one with its deviation scaled; others as they are.
function initializer.scaled(init, factor)
  if init.kind ~= "normal" then return init end
  return initializer.normal(init.deviation * factor, init.mean)
end

local known = { "constant", "fan_in", "normal", "ones", "uniform", "zeros" }

return setmetatable(initializer, {
  __index = function(_, name)
    core.fail("baleen.init: " .. core.unknown_word("initialiser", tostring(name), known))
  end,
})
