-- Triplet loss with the hardest negative of the batch.
local baleen = require "baleen"
local nn, ops = baleen.nn, baleen.ops
local data = baleen.data.synthetic { fields = { "anchor f32 10", "other f32 10" }, rows = 48, held_out = 8 }
local tower = nn.sequential {
  name = "tower", nn.linear { out = 16, axes = { "ff" } }, nn.relu {}, nn.linear { out = 8 },
}
local function unit(x) return x * ops.rsqrt(ops.sum(x * x, -1, true) + 1e-6) end
return baleen.job {
  model = function(a, f) return ops.matmul("id,jd->ij", unit(tower(a)), unit(tower(f.other))) end,
  loss = function(s)
    local n = s.shape[1]
    local own = ops.eq(ops.index({ n, n }, 1), ops.index({ n, n }, 2))
    local right = ops.sum(s * own, -1)
    local hardest = ops.amax(s - 4 * own, -1)
    return ops.sum(ops.max(hardest - right + 0.2, 0)), n
  end,
  data = data, batch = 8, steps = 6, optimizer = baleen.optimizer("adamw", { lr = 1e-2 }),
}
