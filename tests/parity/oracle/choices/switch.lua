-- Routing to one expert each, of so much room: what comes beyond it goes by.
local baleen = require "baleen"
local nn, ops = baleen.nn, baleen.ops
local E, D, F = 4, 16, 24
local data = baleen.data.synthetic { context = 6, vocab = 13, rows = 64, held_out = 8 }
local switch = nn.layer { kind = "switch", forward = function(self, x) -- [b,s,d]
  local init = baleen.init.normal(0.3)
  local b, s = x.shape[1], x.shape[2]
  local wg = self:parameter("gate", { D, E }, { init = init })
  local up = self:parameter("up", { E, D, F }, { axes = { "", "", "ff" }, init = init })
  local down = self:parameter("down", { E, F, D }, { axes = { "", "ff", "" }, init = init })
  local p = ops.softmax(ops.matmul("bsd,de->bse", x, wg))
  local best = ops.amax(p, -1, true)
  local chosen = ops.le(best, p)
  local place = ops.cumsum(chosen, { dim = 2 })
  local kept = ops.pointwise(function(c, n, q) return ops.select(ops.le(n, 3), c * q, 0) end, chosen, place, p)
  local h = ops.relu(ops.matmul("bsd,edf->bsef", x, up))
  local y = ops.matmul("bsef,efd->bsed", h, down)
  return x + ops.sum(y * ops.reshape(kept, { b, s, E, 1 }), 3), p
end }
local emb = nn.embedding { name = "emb", vocab = 13, dim = D }
local m1 = switch { name = "m1" }
local norm = nn.rms_norm { name = "n" }
local head = nn.linear { name = "head", out = 13, axes = { "vocab" } }
local ce = nn.cross_entropy {}
return baleen.job {
  model = function(ids)
    local x, p = m1(emb(ids))
    return { logits = head(norm(x)), p = p }
  end,
  loss = function(o, t)
    local l, w = ce(o.logits, t)
    return l + 0.01 * ops.sum(o.p * o.p), w
  end,
  data = data, batch = 8, steps = 6, clip_grad_norm = 1,
  optimizer = baleen.optimizer("adamw", { lr = 1e-2 }),
}
