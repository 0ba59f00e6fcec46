-- Five heads, seven wide, thirteen hidden, eleven words: nothing divides.
local baleen = require "baleen"
local common = require "common"
local nn = baleen.nn

local heads = baleen.arg("heads", 5)
local embedding = nn.embedding { name = "embedding", vocab = 11, dim = 7 * heads, positions = 7 }
local blocks = nn.repeated(3, function()
  return nn.transformer_block { dim = 7 * heads, heads = heads, head_dim = 3, hidden = 13, activation = "swiglu",
    norm = "rms", causal = true }
end)
local head = nn.linear { name = "head", tied_to = embedding }

return common.job {
  light = { "*bias", "*.gain", "*.gamma" },
  model = function(ids) return head(blocks(embedding(ids))) end,
  loss = nn.cross_entropy {}, metrics = { right = nn.accuracy {} }, data = common.tokens(7, 11),
}
