-- Packed text whose documents the script numbers itself: each line end closes one, and attention stays within. Or the
-- data numbers them (`--documents data`), or attention sees them all (`none`).
local baleen = require "baleen"
local nn, ops = baleen.nn, baleen.ops

local corpus = baleen.data.text {
  path = baleen.arg("data"), tokenizer = "bytes", context = baleen.arg("context", 16), held_out = 0.2,
  separator = "\n",
}
local documents = baleen.arg("documents", "script")
local dim, heads = 16, 4
local embedding = nn.embedding { vocab = corpus.vocab, dim = dim }
local queries = nn.linear { name = "queries", out = { heads, dim // heads }, axes = { "heads", "" } }
local keys = nn.linear { name = "keys", out = { heads, dim // heads }, axes = { "heads", "" } }
local values = nn.linear { name = "values", out = { heads, dim // heads }, axes = { "heads", "" } }
local out = nn.linear { name = "out", out = dim }
local head = nn.linear { name = "head", out = corpus.vocab, bias = false }

return baleen.job {
  model = function(tokens, batch)
    local ends = ops.eq(ops.float(tokens), 10)
    local ids = ops.to_integer(ops.cumsum(ends, { dim = 2 }) - ends)
    if documents == "data" then ids = batch.documents end
    if documents == "none" then ids = nil end
    local x = embedding(tokens)
    local seen = ops.attention(queries(x), keys(x), values(x), { causal = true, ids_q = ids, ids_k = ids })
    return head(x + out(seen:reshape { x.shape[1], x.shape[2], dim }))
  end,
  loss = nn.cross_entropy {}, data = corpus, batch = 4, steps = 10,
  optimizer = baleen.optimizer("adamw", { lr = 0.01 }),
}
