-- Numbers in and out, no matrices at all: polynomials with learned exponents, running sums and a reversed one.
local baleen = require "baleen"
local common = require "common"
local init, ops = baleen.init, baleen.ops

local layer = common.layer("terms", function(self, x)
  local n = x.shape[2]
  local a, p = self:parameter("a", { n }, { init = init.normal(0.5) }),
    self:parameter("p", { 1 }, { init = init.constant(1.5) })
  local up, down = ops.cumsum(x * a, { dim = 2 }), ops.cumsum(x, { dim = 2, reverse = true })
  return ops.pow(ops.abs(up) + 0.5, p) + ops.sign(down) * ops.log(1 + ops.abs(down))
end)
local tail = common.layer("tail", function(self, x)
  local w = self:parameter("w", { 4, 2 }, { init = init.normal(0.5), axes = { "ff", "" } })
  return ops.sum(ops.reshape(x, { x.shape[1], 4, 1 }) * w, 2)
end)

return common.job {
  model = function(x) return tail(layer(x)) end,
  loss = function(y, t)
    return ops.sum(ops.pointwise(function(a, b) return ops.select(ops.lt(a, b), 2 * (b - a), a - b) end, y, t)),
      t.shape[1] end,
  data = common.rows("x f32 4", "y f32 2"),
}
