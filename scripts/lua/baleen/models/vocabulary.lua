--- Vocabularies that are longer here than in a model's files, so that they divide evenly: rows of zeros behind the
--- last.
local core = require "baleen.core"
local ops = require "baleen.ops"

local vocabulary = {}

--- What stands for a token that there is not: small enough that its share of softmax is 0, and a number in fp16 too.
local none = -30000

--- The extent here: the next multiple.
function vocabulary.extent(count, given)
  local multiple = given.vocab_multiple or 1
  if math.type(multiple) ~= "integer" or multiple < 1 then
    core.fail("`vocab_multiple` is " .. core.describe(multiple) .. "; it must be an integer of at least 1")
  end
  return (count + multiple - 1) // multiple * multiple
end

--- Logits of the tokens that there are; the others get one that nobody chooses and that has no gradient.
function vocabulary.masked(logits, count)
  if logits.shape[logits.rank] == count then return logits end
  return ops.pointwise(function(logit)
    return ops.select(ops.lt(ops.index(-1), count), logit, none)
  end, logits)
end

return vocabulary
