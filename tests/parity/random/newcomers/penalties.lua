-- Losses of parameters alone: decay, an orthogonal penalty, a penalty of a smoothed sign, and of the gradient along
-- a direction.
local baleen = require "baleen"
local common = require "common"
local init, ops = baleen.init, baleen.ops

local inner = baleen.arg("inner", 7)
local net = common.layer("net", function(self, x)
  local a = self:parameter("a", { 4, inner }, { init = init.normal(0.5), axes = { "", "ff" } })
  local b = self:parameter("b", { inner, 3 }, { init = init.normal(0.5), axes = { "ff", "" } })
  local h = ops.tanh(ops.matmul("bi,ij->bj", x, a))
  local y = ops.matmul("bj,jk->bk", h, b)
  local slope = ops.matmul("bj,jk->bjk", 1 - h * h, b) -- dy/dh; towards x by a
  local jacobian = ops.matmul("bjk,ij->bik", slope, a)
  local gram = ops.matmul("ji,jk->ik", b, b)
  local apart = gram - ops.eq(ops.index({ 3, 3 }, 1), ops.index({ 3, 3 }, 2))
  return y, ops.sum(jacobian * jacobian), ops.sum(apart * apart) + 0.1 * ops.sum(ops.abs(a))
end)

return common.job {
  model = function(x)
    local y, slope, own = net(x)
    return { y = y, slope = slope, own = own }
  end,
  loss = function(o, t)
    local n = t.shape[1]
    return ops.sum((o.y - t) ^ 2) + 0.1 * o.slope + 0.05 * n * o.own, n
  end,
  data = common.rows("x f32 4", "y f32 3"),
}
