--- tied(embedding): logits by the embedding's own table; linear { tied_to = embedding, bias = false }.
local linear = require "baleen.nn.linear"

return function(embedding)
  return linear { tied_to = embedding, bias = false, axes = { "vocab" } }
end
