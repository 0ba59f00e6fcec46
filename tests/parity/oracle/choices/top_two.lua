-- Two experts of four by hand, by comparisons with the second largest gate; what is equal stays in.
local baleen = require "baleen"
local nn, ops = baleen.nn, baleen.ops
local E, D, F = 4, 12, 16
local data = baleen.data.synthetic { context = 6, vocab = 13, rows = 64, held_out = 8 }
local moe = nn.layer { kind = "moe", forward = function(self, x) -- [b,s,d]
  local init = baleen.init.normal(0.2)
  local wg = self:parameter("gate", { D, E }, { init = init })
  local up = self:parameter("up", { E, D, F }, { axes = { "", "", "ff" }, init = init })
  local down = self:parameter("down", { E, F, D }, { axes = { "", "ff", "" }, init = init })
  local p = ops.softmax(ops.matmul("bsd,de->bse", x, wg))
  local v = ops.top_k(p, 2)
  local b, s = x.shape[1], x.shape[2]
  local kth = ops.slice(v, 3, 2, 1)
  local kept = ops.pointwise(function(q, k) return ops.select(ops.lt(q, k), 0, q) end, p, kth)
  kept = kept / ops.sum(kept, -1, true)
  local h = ops.silu(ops.matmul("bsd,edf->bsef", x, up))
  local y = ops.matmul("bsef,efd->bsed", h, down)
  return x + ops.sum(y * ops.reshape(kept, { b, s, E, 1 }), 3), p
end }
local emb = nn.embedding { name = "emb", vocab = 13, dim = D }
local m1, m2 = moe { name = "m1" }, moe { name = "m2" }
local norm = nn.layer_norm { name = "n" }
local head = nn.linear { name = "head", out = 13, axes = { "vocab" } }
local ce = nn.cross_entropy {}
return baleen.job {
  model = function(ids)
    local x = emb(ids)
    local x1, p1 = m1(x)
    local x2, p2 = m2(x1)
    return { logits = head(norm(x2)), aux = ops.sum(p1 * p1) + ops.sum(p2 * p2) }
  end,
  loss = function(o, t)
    local l, w = ce(o.logits, t)
    return l + 0.01 * o.aux, w
  end,
  data = data, batch = 8, steps = 6, clip_grad_norm = 1,
  optimizer = baleen.optimizer("adamw", { lr = 1e-2 }),
}
