--- What BERT and ViT share: blocks of self-attention without a causal mask, and the rules of their tensors.
local dropout = require "baleen.nn.dropout"
local layer = require "baleen.nn.layer"
local nn = require "baleen.nn"

local encoder = {}

local block = layer.define {
  kind = "encoder_block",
  options = {
    heads = { type = "integer", required = true, min = 1 },
    hidden = { type = "integer", required = true, min = 1 },
    activation = { type = "string", required = true },
    epsilon = { type = "number", required = true },
    norm = { type = "string", required = true, choices = { "before", "after" } },
    dropout = { type = "number", default = 0, min = 0, max = 0.99 },
  },
  setup = function(self)
    self.attention = nn.attention { name = "attention", heads = self.heads }
    self.attention_norm = nn.layer_norm { name = "attention_norm", epsilon = self.epsilon }
    self.mlp = nn.mlp { name = "mlp", hidden = self.hidden, activation = self.activation }
    self.mlp_norm = nn.layer_norm { name = "mlp_norm", epsilon = self.epsilon }
    self.drop_attention = dropout { name = "attention_dropout", p = self.dropout }
    self.drop_mlp = dropout { name = "mlp_dropout", p = self.dropout }
  end,
  forward = function(self, x, ids)
    if self.norm == "before" then
      x = x + self.drop_attention(self.attention(self.attention_norm(x), ids))
      return x + self.drop_mlp(self.mlp(self.mlp_norm(x)))
    end
    x = self.attention_norm(x + self.drop_attention(self.attention(x, ids)))
    return self.mlp_norm(x + self.drop_mlp(self.mlp(x)))
  end,
}

--- blocks(count, options): that many, called 0, 1, ..; with ids [batch, seq] a token sees those of its own id, and none
--- where it is negative.
function encoder.blocks(count, given)
  return nn.repeated(count, function() return block(given) end, { name = "blocks" })
end

--- Rules of an attention: queries, keys and values apart there, one here. `one(ours, theirs, form, more)` adds a rule.
function encoder.attention(one, ours, theirs, out)
  local function list(ending)
    return { theirs:format("query") .. ending, theirs:format("key") .. ending, theirs:format("value") .. ending }
  end
  one(ours .. "qkv.weight", list(".weight"), "(h d) e -> e p h d", { stack = "p" })
  one(ours .. "qkv.bias", list(".bias"), "(h d) -> p h d", { stack = "p" })
  one(ours .. "out.weight", out .. ".weight", "e (h d) -> h d e")
  one(ours .. "out.bias", out .. ".bias", "e")
end

function encoder.mlp(one, ours, up, down)
  one(ours .. "up.weight", up .. ".weight", "f e -> e f")
  one(ours .. "up.bias", up .. ".bias", "f")
  one(ours .. "down.weight", down .. ".weight", "e f -> f e")
  one(ours .. "down.bias", down .. ".bias", "e")
end

return encoder
