-- A gated cell over six steps with weights that are normalised anew, and attention over what it has seen.
local baleen = require "baleen"
local common = require "common"
local init, nn, ops = baleen.init, baleen.nn, baleen.ops

local dim, steps = 6, 6
local embedding = nn.embedding { name = "embedding", vocab = 8, dim = dim }
local cell = common.layer("cell", function(self, x, h)
  local v = self:parameter("direction", { 2 * dim, 3, dim }, { init = init.normal(0.4), axes = { "", "", "ff" } })
  local g = self:parameter("gain", { 3, dim }, { init = init.ones })
  local weight = v * ops.rsqrt(ops.sum(v * v, 1, true)) * g
  local z = ops.matmul("bi,igd->bgd", ops.concat({ x, h }, 2), weight)
  local keep, take = ops.sigmoid(common.part(z, 2, 1)), ops.sigmoid(common.part(z, 2, 2))
  return keep * h + (1 - keep) * ops.tanh(common.part(z, 2, 3) * take)
end)
local start = common.layer("start", function(self) return self:parameter("h", { dim }, { init = init.normal(0.1) }) end)
local ask, head = nn.linear { name = "ask", out = dim, bias = false },
  nn.linear { name = "head", out = 8, axes = { "vocab" } }

return common.job {
  model = function(ids)
    local x, b = embedding(ids), ids.shape[1]
    local h, seen = common.part(x, 2, 1) * 0 + start(x), {}
    for t = 1, steps do
      h = cell(common.part(x, 2, t), h)
      seen[t] = ops.reshape(h, { b, 1, dim })
    end
    local all = ops.concat(seen, 2)
    local weight = ops.softmax(ops.matmul("bd,bsd->bs", ask(h), all))
    return head(all + ops.reshape(ops.matmul("bs,bsd->bd", weight, all), { b, 1, dim }))
  end,
  loss = nn.cross_entropy {}, data = common.tokens(steps, 8),
}
