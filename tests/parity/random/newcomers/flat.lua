-- Batch and tokens as one dimension; the best of a row; a maximum over tokens.
local baleen = require "baleen"
local common = require "common"
local nn, ops = baleen.nn, baleen.ops

local data = common.tokens(6, 11)
local emb = nn.embedding { name = "emb", vocab = 11, dim = 10 }
local up, down = nn.linear { name = "up", out = 20, axes = { "ff" } }, nn.linear { name = "down", out = 10 }
local head = nn.linear { name = "head", out = 11 }
local ce = nn.cross_entropy {}
return common.job { model = function(ids)
    local b, s = ids.shape[1], ids.shape[2]
    local x = ops.reshape(emb(ids), { b * s, 10 })
    local y = down(ops.relu(up(x)))
    local m = ops.amax(ops.reshape(y, { b, s, 10 }), 2, true)
    local vals = ops.top_k(ops.reshape(x, { b, s * 10 }), 3)
    local z = ops.reshape(x + y, { b, s, 10 }) + m + ops.reshape(ops.mean(vals, -1), { b, 1, 1 })
    return ops.reshape(head(z), { b * s, 11 })
  end, loss = function(o, t) return ce(o, ops.reshape(t, { t.shape[1] * t.shape[2] })) end,
  data = data }
