-- An encoder and a decoder that looks at it, with one table for both languages and the head.
local baleen = require "baleen"
local common = require "common"
local nn, ops = baleen.nn, baleen.ops

local dim, heads = 12, baleen.arg("heads", 3)
local embedding = nn.embedding { name = "embedding", vocab = 13, dim = dim, positions = 6 }
local encoder = nn.repeated(2, function() return nn.transformer_block { dim = dim, heads = heads } end,
  { name = "encoder" })
local cross = nn.layer {
  kind = "cross",
  setup = function(self)
    for _, name in ipairs { "q", "k", "v" } do
      self[name] = nn.linear { name = name, out = { heads, 4 }, axes = { "heads", "head_dim" } }
    end
    self.own = nn.attention { name = "own", heads = heads, causal = true }
    self.a, self.b, self.c = nn.layer_norm { name = "a" }, nn.layer_norm { name = "b" }, nn.layer_norm { name = "c" }
    self.o, self.mlp = nn.linear { name = "o", out = dim, over = 2, axes = { "embed" } },
      nn.mlp { name = "mlp", hidden = 20 }
  end,
  forward = function(self, x, memory)
    x = x + self.own(self.a(x))
    x = x + self.o(ops.attention(self.q(self.b(x)), self.k(memory), self.v(memory)))
    return x + self.mlp(self.c(x))
  end,
}
local first, second = cross { name = "first" }, cross { name = "second" }
local head = nn.linear { name = "head", tied_to = embedding, bias = false }

return common.job {
  light = { "*bias", "*.gain", "*.gamma" },
  model = function(source, f)
    local memory = encoder(embedding(source))
    return head(second(first(embedding(f.target), memory), memory))
  end,
  loss = nn.cross_entropy { smoothing = 0.1, ignore_index = 2 }, metrics = { right = nn.accuracy {} }, input = "source",
  target = "label", data = common.rows("source i32 seq=6 < 13", "target i32 seq=4 < 13", "label i32 seq=4 < 13"),
}
