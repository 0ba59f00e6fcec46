-- One block that is applied again and again, behind an embedding of two factors that the head uses as well.
local baleen = require "baleen"
local settings = require "settings"
local arg, nn, ops = baleen.arg, baleen.nn, baleen.ops

local corpus = settings.text()
local narrow = math.max(2, settings.dim // 2)
local embedding = nn.embedding { name = "embedding", vocab = corpus.vocab, dim = narrow }
local widen = nn.linear { name = "widen", out = settings.dim, axes = { "embed" } }
local block = nn.transformer_block {
  name = "shared", heads = settings.heads, causal = true, rotary = true, bias = arg("bias", false),
  activation = arg("activation", "gelu"), hidden = settings.hidden, dropout = settings.dropout,
}
local final, narrow_again = nn.layer_norm { name = "final" }, nn.linear { name = "narrow", out = narrow }
local head = nn.tied(embedding)

return settings.job {
  model = function(tokens)
    local x = widen(embedding(tokens))
    for _ = 1, settings.layers + 1 do x = block(x) end
    return head(ops.tanh(narrow_again(final(x))))
  end,
  loss = settings.loss(), data = corpus,
}
