-- Two views one behind the other along the batch.
local baleen = require "baleen"
local common = require "common"
local nn, ops = baleen.nn, baleen.ops

local data = common.rows("x f32 14", "label i32 < 4")
local f = nn.sequential { name = "f", nn.linear { out = 16, axes = { "ff" } }, nn.relu {}, nn.linear { out = 6 } }
local centers = nn.embedding { name = "centers", vocab = 4, dim = 6 }
return common.job { model = function(x)
    local n = x.shape[1]
    local function view() return f(x + 0.1 * ops.normal(x.shape)) end
    local a, b = view(), view()
    local z = ops.concat({ a, b }, 1)
    z = z * ops.rsqrt(ops.sum(z * z, -1, true) + 1e-6)
    local sim = ops.matmul("id,jd->ij", z, z) * 2
    local i, j = ops.index({ 2 * n, 2 * n }, 1), ops.index({ 2 * n, 2 * n }, 2)
    sim = ops.select(ops.eq(i, j), -1e4, sim)
    local pos = ops.sum(a * b)
    return { sim = sim, a = a, b = b, pos = pos }
  end,
  loss = function(o, label)
    local n = label.shape[1]
    local lse = ops.log(ops.sum(ops.exp(o.sim), -1))
    local center = o.a - centers(label)
    local mean = ops.mean(o.a, 1, true)
    local var = ops.mean((o.a - mean) ^ 2, 1)
    return ops.sum(lse) - 0.1 * o.pos + 0.1 * ops.sum(center * center) + 0.01 * ops.sum(ops.abs(var - 1)) * n, n
  end,
  data = data }
