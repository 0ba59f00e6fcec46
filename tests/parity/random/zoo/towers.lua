-- Two towers over the halves of a row, which a class and a distance between their results train together.
local baleen = require "baleen"
local settings = require "settings"
local arg, init, nn, ops = baleen.arg, baleen.init, baleen.nn, baleen.ops

local features, losses, axis = 5, arg("losses", "both"), arg("axis", "ff") -- losses: both | distance | class
local half = math.max(1, settings.dim // 2)
local pairs_of_rows = settings.table(2 * features, function(row, i)
  return i <= 2 and i - 1 or (row[1] * row[features + 1] > 0 and 1 or 0)
end)

local function tower(name)
  return nn.sequential {
    name = name,
    nn.linear { name = "up", out = settings.dim, axes = { axis }, init = init.normal(0.3) }, nn.tanh {},
    nn.linear { name = "down", out = half, axes = { "embed" }, init = init.normal(0.3) },
    nn.layer_norm {},
  }
end
local left, right = tower("left"), tower("right")
local head = nn.linear { name = "head", out = pairs_of_rows.classes, init = init.normal(0.3) }

return settings.job {
  model = function(x)
    return ops.concat({ left(ops.slice(x, 2, 1, features)), right(ops.slice(x, 2, features + 1, features)) }, 2)
  end,
  loss = function(both, target)
    local a, b = ops.slice(both, 2, 1, half), ops.slice(both, 2, half + 1, half)
    local total = ops.constant(0)
    if losses ~= "distance" then total = total + ops.sum(ops.cross_entropy(head(a * b), target, {})) end
    if losses ~= "class" then
      local apart, same = ops.sum((a - b) * (a - b), 2), ops.float(target)
      total = total + ops.sum(same * apart + (1 - same) * ops.max(2 - apart, 0)) * 0.5
    end
    return total, target.shape[1]
  end,
  data = pairs_of_rows,
}
