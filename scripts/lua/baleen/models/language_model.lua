--- language_model { embedding, blocks, norm, head, vocab }: token ids [batch, seq] to logits [batch, seq, vocabulary],
--- or, without a head, to hidden states. `vocab`: how many tokens there are, where the head has more rows.
local layer = require "baleen.nn.layer"
local vocabulary = require "baleen.models.vocabulary"

return layer.define {
  kind = "language_model",
  options = {
    embedding = { type = "table", required = true },
    blocks = { type = "table", required = true },
    norm = { type = "table", required = true },
    head = { type = "table" },
    vocab = { type = "integer", required = true, min = 1 },
  },
  children = function(self) return { self.embedding, self.blocks, self.norm, self.head } end,
  --- What the head is given: [batch, seq, width].
  hidden = function(self, tokens)
    return self:within(function() return self.norm(self.blocks(self.embedding(tokens))) end)
  end,
  forward = function(self, tokens)
    local x = self:hidden(tokens)
    return self.head and vocabulary.masked(self.head(x), self.vocab) or x
  end,
}
