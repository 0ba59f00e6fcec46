-- Stages marked by hand, of unlike work, the last of which reads what the first one made.
local baleen = require "baleen"
local common = require "common"
local init, nn = baleen.init, baleen.nn

local embedding = nn.embedding { name = "embedding", vocab = 9, dim = 8 }
local function block(name) return nn.transformer_block { name = name, dim = 8, heads = 2, hidden = 10,
  causal = true } end
local one, two, three = block("one"), block("two"), block("three")
local head = nn.linear { name = "head", tied_to = embedding, bias = false }
local scale = common.layer("scale", function(self, x)
  return x * self:parameter("gain", { 1 }, { init = init.ones }) end)
local stage = baleen.parallel.stage

return common.job {
  light = { "*bias", "*.gain", "*.gamma" },
  model = function(ids)
    return baleen.parallel.pipeline { micro_batches = common.accumulate }(function()
      local early
      local x = stage {}(function()
        local e = embedding(ids)
        early = scale(e)
        return one(e)
      end)
      return stage {}(function() return head(three(two(x)) + early) end)
    end)
  end,
  loss = nn.cross_entropy {}, data = common.tokens(5, 9),
}
