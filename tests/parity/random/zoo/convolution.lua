-- Convolutions in two forms: one product of windows laid side by side, and a sum of products with slices of one weight.
local baleen = require "baleen"
local settings = require "settings"
local arg, init, nn, ops = baleen.arg, baleen.init, baleen.nn, baleen.ops

local length, width, taps = arg("length", 8), 2, 3
local series = settings.table(length * width, function(row, i) return (i + (row[1] + row[3] > 0 and 1 or 0)) % 4 end)
local options = { axis = { type = "string", default = "" } }

local function window(x, tap) return ops.slice(ops.pad(x, 2, 1, 1), 2, tap, x.shape[2]) end

local side_by_side = nn.layer {
  kind = "windows", options = options,
  forward = function(self, x)
    local parts, dim = {}, settings.dim
    for tap = 1, taps do parts[tap] = window(x, tap) end
    local windows = ops.concat(parts, 3)
    local weight = self:parameter("weight", { windows.shape[3], dim }, {
      axes = { "", self.axis }, init = init.normal(0.3),
    })
    local bias = self:parameter("bias", { dim }, { axes = { self.axis }, init = init.zeros })
    return ops.matmul("blc,cd->bld", windows, weight) + bias
  end,
}
local summed = nn.layer {
  kind = "taps", options = options,
  forward = function(self, x)
    local from, dim = x.shape[3], settings.dim
    local weight = self:parameter("weight", { taps, from, dim }, {
      axes = { "", "", self.axis }, init = init.normal(0.3),
    })
    local sum
    for tap = 1, taps do
      local one = ops.reshape(ops.slice(weight, 1, tap, 1), { from, dim })
      sum = ops.matmul("blc,cd->bld", window(x, tap), one, sum)
    end
    return sum
  end,
}

local first = side_by_side { name = "first", axis = arg("axis", "ff") }
local second, third = summed { name = "second" }, side_by_side { name = "third" }
local drop = nn.dropout { name = "drop", p = settings.dropout }
local head = nn.linear { name = "head", out = series.classes, init = init.normal(0.3) }

return settings.job {
  model = function(x)
    local rows, half = x.shape[1], length // 2
    x = ops.relu(first(ops.reshape(x, { rows, length, width })))
    x = ops.amax(ops.reshape(x, { rows, half, 2, settings.dim }), 3)
    x = drop(ops.silu(second(x)))
    x = x + ops.gelu(third(x))
    return head(ops.reshape(x, { rows, half * settings.dim }))
  end,
  loss = settings.loss(), data = series,
}
