-- Eleven small blocks of two kinds in turn, tied embedding, a loss on the middle of them too.
local baleen = require "baleen"
local common = require "common"
local nn = baleen.nn

local embedding = nn.embedding { name = "embedding", vocab = 10, dim = 6 }
local function make(i)
  if i % 2 == 0 then return nn.residual { nn.sequential { nn.layer_norm {}, nn.mlp { hidden = 8 } } } end
  return nn.residual { nn.sequential { nn.layer_norm {}, nn.attention { heads = 2, causal = true } } }
end
local lower, upper = nn.repeated(6, make, { name = "lower" }), nn.repeated(5, make, { name = "upper" })
local head, side = nn.linear { name = "head", tied_to = embedding, bias = false }, nn.linear { name = "side", out = 10 }
local measure = nn.cross_entropy {}

return common.job {
  light = { "*bias", "*.gain", "*.gamma" },
  model = function(ids)
    local middle = lower(embedding(ids))
    return { logits = head(upper(middle)), side = side(middle) }
  end,
  loss = function(o, target)
    local loss, weight = measure(o.logits, target)
    return loss + 0.3 * measure(o.side, target), weight
  end,
  data = common.tokens(4, 10),
}
