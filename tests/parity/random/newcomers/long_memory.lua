-- A cell with four gates over five steps, whose weights are one parameter.
local baleen = require "baleen"
local common = require "common"
local nn, ops = baleen.nn, baleen.ops

local D, T = 12, 5
local data = common.tokens(T, 11)
local emb = nn.embedding { name = "emb", vocab = 11, dim = D }
local wx, wh = nn.linear { name = "wx", out = { 4, D } }, nn.linear { name = "wh", out = { 4, D }, bias = false }
local head = nn.linear { name = "head", out = 11, axes = { "vocab" } }
return common.job {
  model = function(ids)
    local b = ids.shape[1]
    local x = emb(ids)
    local h, c
    local outs = {}
    for t = 1, T do
      local xt = ops.reshape(ops.slice(x, 2, t, 1), { b, D })
      local z = wx(xt)
      if h then z = z + wh(h) end
      local function g(i) return ops.reshape(ops.slice(z, 2, i, 1), { b, D }) end
      local i, f, o, u = ops.sigmoid(g(1)), ops.sigmoid(g(2) + 1), ops.sigmoid(g(3)), ops.tanh(g(4))
      c = c and f * c + i * u or i * u
      h = o * ops.tanh(c)
      outs[t] = ops.reshape(h, { b, 1, D })
    end
    return head(ops.concat(outs, 2))
  end,
  loss = nn.cross_entropy {}, data = data,

}
