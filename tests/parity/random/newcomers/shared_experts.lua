-- Experts of which one sees all tokens, top-2 gates with noise, and losses that balance them over the whole batch.
local baleen = require "baleen"
local common = require "common"
local init, nn, ops = baleen.init, baleen.nn, baleen.ops

local dim, count, hidden = 8, baleen.arg("experts", 3), 6
local experts = nn.layer {
  kind = "experts",
  forward = function(self, x)
    local b, s, start = x.shape[1], x.shape[2], { init = init.normal(0.3) }
    local gate = ops.matmul("bsd,de->bse", x, self:parameter("gate", { dim, count }, start))
    if baleen.training() then gate = gate + 0.1 * ops.normal(gate.shape) end
    local up = self:parameter("up", { count, dim, hidden }, { axes = { "expert", "", "ff" }, init = init.normal(0.3) })
    local down = self:parameter("down", { count, hidden, dim },
      { axes = { "expert", "ff", "" }, init = init.normal(0.3) })
    local share = ops.softmax(gate)
    local best = ops.top_k(share, 2)
    local kept = ops.select(ops.lt(share, ops.slice(best, 3, 2, 1)), 0, share)
    kept = kept / ops.sum(kept, -1, true)
    local inner = ops.gelu(ops.matmul("bsd,edf->bsef", x, up))
    local out = ops.matmul("bsef,efd->bsed", inner, down)
    local load = ops.sum(ops.sign(kept), { 1, 2 }) / (b * s)
    local importance = ops.sum(share, { 1, 2 }) / (b * s)
    local z = common.log_sum_exp(gate)
    return ops.sum(out * ops.reshape(kept, { b, s, count, 1 }), 3), ops.sum(load * importance), ops.sum(z * z)
  end,
}
local embedding = nn.embedding { name = "embedding", vocab = 9, dim = dim }
local one, two, common_one = experts { name = "one" }, experts { name = "two" },
  nn.mlp { name = "common", hidden = hidden }
local norm, head = nn.layer_norm { name = "norm" }, nn.linear { name = "head", out = 9, axes = { "vocab" } }
local measure = nn.cross_entropy {}

return common.job {
  model = function(ids)
    local x = embedding(ids)
    local a, load_a, z_a = one(x)
    x = x + a + common_one(x)
    local b, load_b, z_b = two(norm(x))
    return { logits = head(x + b + common_one(x)), load = load_a + load_b, z = z_a + z_b }
  end,
  loss = function(o, target)
    local loss, weight = measure(o.logits, target)
    return loss + 0.01 * weight * o.load + 1e-3 * o.z, weight
  end,
  data = common.tokens(5, 9),
}
