-- Words are masked in the graph; the loss counts these alone; the table is the head too.
local baleen = require "baleen"
local common = require "common"
local nn, ops = baleen.nn, baleen.ops

local data = common.rows("ids i32 seq=10 < 21")
local emb = nn.embedding { name = "emb", vocab = 22, dim = 16, positions = 10 }
local enc = nn.repeated(2, function() return nn.transformer_block { dim = 16, heads = 4, dropout = 0.1 } end,
  { name = "enc" })
local head = nn.linear { name = "head", tied_to = emb }
local norm = nn.layer_norm { name = "norm" }
return common.job { model = function(ids)
    local draw = ops.uniform { ids.shape[1], 10 }
    local masked = ops.to_integer(ops.pointwise(function(i, u) return ops.select(ops.lt(u, 0.3), 21, i) end,
      ops.float(ids), draw), {})
    return { logits = head(norm(enc(emb(masked)))), mask = ops.lt(draw, 0.3) }
  end,
  loss = function(o, t) local l = ops.cross_entropy(o.logits, t); return ops.sum(l * o.mask),
    ops.sum(o.mask) + 1e-3 end,
  data = data }
