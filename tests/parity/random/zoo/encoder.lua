-- An encoder that looks both ways, but only at tokens of its own document, whose number the script makes of the tokens.
local baleen = require "baleen"
local settings = require "settings"
local arg, init, nn, ops = baleen.arg, baleen.init, baleen.nn, baleen.ops

local mask, tied = arg("mask", "documents"), arg("tied", false) -- mask: documents | tokens | none
local corpus = settings.text()

local look = nn.layer {
  kind = "look",
  forward = function(self, x, ids)
    local dim, heads = x.shape[3], settings.heads
    local width = dim // heads
    local function project(name)
      local shape, axes = { dim, heads, width }, { "embed", "heads", "head_dim" }
      local weight = self:parameter(name .. ".weight", shape, { axes = axes, init = init.normal(0.1) })
      local bias = self:parameter(name .. ".bias", { heads, width }, {
      axes = { "heads", "head_dim" }, init = init.zeros,
    })
      return ops.matmul("bsd,dhe->bshe", x, weight) + bias
    end
    local seen = ops.attention(project("q"), project("k"), project("v"), ids and { ids_q = ids, ids_k = ids } or {})
    local out = self:parameter("out", { heads, width, dim }, {
      axes = { "heads", "head_dim", "embed" }, init = init.normal(0.1),
    })
    return ops.matmul("bshe,hed->bsd", seen, out)
  end,
}

--- The nearest of `count` whole numbers as int32: where the upper edge of the lines k x - k k / 2 is.
local function nearest(x, count)
  local rows, tokens = x.shape[1], x.shape[2]
  local k = ops.index({ 1, 1, count }, 3)
  local lines = ops.reshape(x, { rows, tokens, 1 }) * k - k * k * 0.5
  local _, place = ops.top_k(lines, 1)
  return ops.reshape(place, { rows, tokens })
end

local embedding = nn.embedding {
  name = "embedding", vocab = corpus.vocab, dim = settings.dim, positions = settings.context,
}
local blocks = {}
for i = 1, settings.layers do
  blocks[i] = {
    nn.layer_norm { name = "before_look_" .. i }, look { name = "look_" .. i },
    nn.layer_norm { name = "before_mlp_" .. i },
    nn.mlp { name = "mlp_" .. i, activation = "gelu", hidden = settings.hidden },
    nn.dropout { name = "drop_" .. i, p = settings.dropout },
  }
end
local final = nn.layer_norm { name = "final" }
local head = tied and nn.tied(embedding) or nn.linear { name = "head", out = corpus.vocab, axes = { "vocab" } }

return settings.job {
  model = function(tokens)
    local x, ids = embedding(tokens), nil
    if mask == "documents" then ids = nearest(ops.float(tokens) / 12, 4) elseif mask == "tokens" then ids = tokens end
    for _, block in ipairs(blocks) do
      local norm_1, attention, norm_2, mlp, drop = table.unpack(block)
      x = x + drop(attention(norm_1(x), ids))
      x = x + drop(mlp(norm_2(x)))
    end
    return head(final(x))
  end,
  loss = settings.loss(), data = corpus,
}
