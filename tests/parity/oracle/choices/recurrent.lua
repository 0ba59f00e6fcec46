-- Gated recurrent units, step by step.
local baleen = require "baleen"
local nn, ops = baleen.nn, baleen.ops
local D, T = 12, 6
local data = baleen.data.synthetic { context = T, vocab = 11, rows = 60, held_out = 8 }
local emb = nn.embedding { name = "emb", vocab = 11, dim = D }
local wx = nn.linear { name = "wx", out = { 3, D } }
local wh = nn.linear { name = "wh", out = { 2, D }, bias = false }
local wn = nn.linear { name = "wn", out = D, bias = false }
local head = nn.linear { name = "head", out = 11, axes = { "vocab" } }
return baleen.job {
  model = function(ids)
    local b = ids.shape[1]
    local x, h, outs = emb(ids), nil, {}
    for t = 1, T do
      local z = wx(ops.reshape(ops.slice(x, 2, t, 1), { b, D }))
      local function g(v, i) return ops.reshape(ops.slice(v, 2, i, 1), { b, D }) end
      if h then
        local y = wh(h)
        local r, u = ops.sigmoid(g(z, 1) + g(y, 1)), ops.sigmoid(g(z, 2) + g(y, 2))
        local n = ops.tanh(g(z, 3) + wn(r * h))
        h = u * h + (1 - u) * n
      else
        h = (1 - ops.sigmoid(g(z, 2))) * ops.tanh(g(z, 3))
      end
      outs[t] = ops.reshape(h, { b, 1, D })
    end
    return head(ops.concat(outs, 2))
  end,
  loss = nn.cross_entropy {}, data = data, batch = 6, steps = 6, clip_grad_norm = 0.5,
  optimizer = baleen.optimizer("adamw", { lr = 1e-2 }),
}
