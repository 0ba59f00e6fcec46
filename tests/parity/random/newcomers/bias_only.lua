-- Only biases, gains and one scalar are trained; products are by constants made of coordinates.
local baleen = require "baleen"
local common = require "common"
local init, nn, ops = baleen.init, baleen.nn, baleen.ops

local function fixed(n, m)
  return ops.sin(ops.index({ n, m }, 1) * 1.7 + ops.index({ n, m }, 2) * 0.9)
end
local layer = nn.layer { kind = "tuned", forward = function(self, x)
  local n = x.shape[2]
  local bias = self:parameter("bias", { n }, { init = init.normal(0.1) })
  local gain = self:parameter("gain", { n }, { init = init.ones, axes = { "ff" } })
  return ops.tanh(ops.matmul("bi,ij->bj", x * gain + bias, fixed(n, n)))
end }
local one, two, three = layer { name = "one" }, layer { name = "two" }, layer { name = "three" }
local level = common.layer("level", function(self, x) return x * self:parameter("level", {}, { init = init.ones }) end)

return common.job {
  model = function(x) return level(three(two(one(x)))) end,
  loss = nn.mse {}, data = common.rows("x f32 5", "y f32 5"),
}
