--- tied(embedding): logits by the embedding's own table; linear { tied_to = embedding, bias = false }.
local core = require "baleen.core"
local linear = require "baleen.nn.linear"

return core.entry(function(embedding)
  return linear { tied_to = embedding, bias = false, axes = { "vocab" } }
end)
