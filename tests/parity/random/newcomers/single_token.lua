-- A sequence of one token, a vocabulary of two, one head, an attention of one pair.
local baleen = require "baleen"
local common = require "common"
local nn = baleen.nn

return common.job {
  light = { "*bias", "*.gain", "*.gamma" },
  model = nn.sequential {
    nn.embedding { name = "embedding", vocab = 2, dim = 4, positions = 1 },
    nn.repeated(2, function()
      return nn.transformer_block { dim = 4, heads = baleen.arg("heads", 1), causal = true, hidden = 3 } end),
    nn.layer_norm {}, nn.linear { name = "head", out = 2, axes = { "vocab" } },
  },
  loss = nn.cross_entropy {}, data = common.tokens(1, 2),
}
