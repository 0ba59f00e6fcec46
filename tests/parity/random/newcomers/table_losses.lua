-- A loss of a table beside its use, and of its products with itself.
local baleen = require "baleen"
local common = require "common"
local nn, ops = baleen.nn, baleen.ops

local data = common.tokens(8, 40)
local emb = nn.embedding { name = "emb", vocab = 40, dim = 32 }
local body = nn.repeated(4, function() return nn.transformer_block { dim = 32, heads = 4, causal = true } end)
local head = nn.linear { name = "head", out = 40, axes = { "vocab" } }
local ce = nn.cross_entropy {}
return common.job { model = function(ids) return { y = head(body(emb(ids))), w = emb:weight() } end,
  loss = function(o, t) local l, n = ce(o.y, t);
    return l + 1e-3 * n * ops.sum(o.w * o.w) + 0.01 * n * ops.sum(ops.abs(ops.matmul("vd,ve->de", o.w, o.w))), n end,
  data = data,
  }
