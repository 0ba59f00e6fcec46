-- Two views of each row, told from all other rows of the batch; a temperature that is learned, and a loss of the
-- batch's spread.
local baleen = require "baleen"
local common = require "common"
local init, nn, ops = baleen.init, baleen.nn, baleen.ops

local tower = nn.sequential { name = "tower", nn.linear { name = "up", out = 14, axes = { "ff" } }, nn.gelu {},
  nn.linear { name = "down", out = 6 } }
local scale = common.layer("scale", function(self, x)
  return x * ops.exp(self:parameter("log", {}, { init = init.constant(1) }))
end)

return common.job {
  model = function(x)
    local function view() return tower(x + 0.2 * ops.normal(x.shape)) end
    local a, b = view(), view()
    local mean = ops.mean(a, 1, true)
    local spread = ops.sqrt(ops.mean((a - mean) * (a - mean), 1) + 1e-4)
    local covariance = ops.matmul("ni,nj->ij", a - mean, a - mean) / x.shape[1]
    return { like = scale(ops.matmul("id,jd->ij", common.unit(a), common.unit(b))), spread = spread,
      covariance = covariance }
  end,
  loss = function(o)
    local n = o.like.shape[1]
    local own = ops.eq(ops.index({ n, n }, 1), ops.index({ n, n }, 2))
    local sides = ops.sum(common.log_sum_exp(o.like)) + ops.sum(common.log_sum_exp(ops.transpose(o.like, { 2, 1 })))
    return 0.5 * sides - ops.sum(o.like * own) + n * ops.sum(ops.relu(1 - o.spread)) + 0.01 * n
      * ops.sum(o.covariance ^ 2), n
  end,
  data = common.rows("x f32 7", "unused f32"),
}
