--- How parameters start: plain tables that layers pass on to the core.
local initializer = {}

local Initializer = {
  __tostring = function(self)
    if self.kind == "constant" then return ("constant(%g)"):format(self.value) end
    if self.kind == "uniform" then return ("uniform(%g, %g)"):format(self.low, self.high) end
    if self.kind == "fan_in" then return ("fan_in(%g)"):format(self.gain) end
    return ("normal(%g)"):format(self.deviation)
  end,
}

function initializer.constant(value)
  return setmetatable({ kind = "constant", value = value }, Initializer)
end

initializer.zeros = initializer.constant(0)
initializer.ones = initializer.constant(1)

--- Normally distributed; the mean is 0 unless given.
function initializer.normal(deviation, mean)
  return setmetatable({ kind = "normal", mean = mean or 0, deviation = deviation }, Initializer)
end

function initializer.uniform(low, high)
  return setmetatable({ kind = "uniform", low = low, high = high }, Initializer)
end

--- Normal with deviation gain / sqrt(number of inputs of one output); gain sqrt(2) suits ReLU (arXiv 1502.01852).
function initializer.fan_in(gain)
  return setmetatable({ kind = "fan_in", gain = gain or 1 }, Initializer)
end

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

return initializer
