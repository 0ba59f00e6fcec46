-- A net makes the weights of another one for each row, and a small table makes weights that all rows share.
local baleen = require "baleen"
local common = require "common"
local init, nn, ops = baleen.init, baleen.nn, baleen.ops

local inner = 5
local maker = nn.sequential { name = "maker", nn.linear { name = "up", out = 9, axes = { "ff" } }, nn.tanh {},
  nn.linear { name = "down", out = { 4, inner } } }
local common_weight = common.layer("made", function(self)
  local code = self:parameter("code", { 3 }, { init = init.normal(1) })
  local basis = self:parameter("basis", { 3, inner, 2 }, { init = init.normal(0.4), axes = { "", "ff", "" } })
  return ops.tanh(ops.matmul("k,kio->io", code, basis))
end)

return common.job {
  model = function(x, f)
    local own = maker(f.context) -- [b, 4, inner]
    local h = ops.relu(ops.matmul("bi,bij->bj", x, own))
    return ops.matmul("bj,jo->bo", h, common_weight(x)), nil
  end,
  loss = nn.mse {}, input = "x", target = "y", data = common.rows("x f32 4", "context f32 3", "y f32 2"),
}
