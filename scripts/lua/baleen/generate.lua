--- Text that a language model writes: the program that gives logits, and the loop that draws tokens from them.
local core = require "baleen.core"
local options = require "baleen.options"

local generate = {}

--- Takes the weights of all tokens away but those of the `top_k` largest (0: of all), and of these of the fewest
--- whose sum is the part `top_p` of theirs. Returns what is left in all.
local function keep_likely(weights, top_k, top_p)
  local order = {}
  for i = 1, #weights do order[i] = i end
  table.sort(order, function(a, b) return weights[a] > weights[b] or (weights[a] == weights[b] and a < b) end)
  local most = top_k > 0 and math.min(top_k, #order) or #order
  local among = 0
  for i = 1, most do among = among + weights[order[i]] end
  local total, kept = 0, 0
  while kept < most and (kept == 0 or total < top_p * among) do
    kept = kept + 1
    total = total + weights[order[kept]]
  end
  for i = kept + 1, #order do weights[order[i]] = 0 end
  return total
end

--- The number of a token drawn from softmax(logits / temperature), of the likeliest ones where `top_k` or `top_p` say
--- so; the likeliest at temperature 0.
local function pick(logits, given)
  local best = 1
  for i = 2, #logits do
    if logits[i] > logits[best] or logits[i] ~= logits[i] then best = i end
  end
  local is_nan = logits[best] ~= logits[best]
  if is_nan or math.abs(logits[best]) == math.huge then
    core.fail_damaged(("generating text: the model gives %s for the next token; its parameters are not what it was "
      .. "trained with"):format(is_nan and "NaN" or "infinite numbers"))
  end
  if given.temperature == 0 then return best - 1 end
  local weights, total = {}, 0
  for i, logit in ipairs(logits) do
    weights[i] = math.exp((logit - logits[best]) / given.temperature)
    total = total + weights[i]
  end
  if given.top_k > 0 or given.top_p < 1 then total = keep_likely(weights, given.top_k, given.top_p) end
  local point = math.random() * total
  for i, weight in ipairs(weights) do
    point = point - weight
    if point < 0 then return i - 1 end
  end
  return best - 1 -- only rounding leads here
end

local function tokens_of(job)
  for _, field in ipairs(job.data.fields) do
    if field.name == "tokens" and #field.shape == 1 and field.dtype == "int32" and job.data.vocab > 0 then
      return field
    end
  end
  core.fail("generating text needs data whose rows have a field `tokens` of token numbers; this job's data has none",
    job.where)
end

--- The job's program `generate`: tokens [1, context] to logits [1, context, vocabulary]. Every rank computes all of it.
function generate.program(job)
  local field = tokens_of(job)
  local context = field.shape[1]
  local function run(inputs)
    local logits = job.model(inputs[job.input], inputs)
    if logits == nil then core.fail("the model returns nothing; it must return a tensor", job.where) end
    local shape = core.is_tensor(logits) and logits.shape
    if shape and (#shape ~= 3 or shape[1] ~= 1 or shape[2] ~= context) then
      core.fail(("generating text needs a model that gives logits [batch, sequence, vocabulary]; for tokens [1, %d] "
        .. "it gives [%s]"):format(context, table.concat(shape, ", ")), job.where)
    end
    return { logits = logits }
  end
  return {
    inputs = { tokens = { dtype = "int32", shape = { 1, context }, axes = { "batch", field.axes[1] } } },
    run = run, replicated = true,
  }
end

--- run:logits(tokens): of the token that follows them. Only the last `context` tokens count.
generate.logits = core.entry(function(run, tokens)
  local program = run.programs.generate
  if not program then core.fail("logits: the job has no generate graph; give the job `generate = {}`") end
  options.expect("logits: `tokens`", tokens, "table")
  if #tokens == 0 then core.fail("logits: there must be at least one token before the next") end
  local context = program.inputs.tokens.shape[2]
  local count, window = math.min(context, #tokens), {}
  for i = 1, context do window[i] = tokens[#tokens - count + i] or 0 end -- causal: what follows is not seen
  local logits = run:run("generate", { tokens = window }).logits
  local vocabulary = logits.shape[3]
  return logits:values((count - 1) * vocabulary + 1, vocabulary)
end)

--- What the text at the end of a training needs is known before it: a prompt that this data's words can say, and words
--- for what follows.
function generate.check(job)
  local ids = job.data:encode(job.generate.prompt)
  if #ids == 0 then
    core.fail("job: generate: `prompt` holds no token to go on from; give it at least one character", job.where)
  end
  job.data:decode(ids)
end

--- write(job, run, { prompt, tokens, temperature, top_k, top_p, stop }): the prompt and, token by token, what follows,
--- up to the text `stop`.
function generate.write(job, run, given)
  local prompt = given.prompt or (job.generate and job.generate.prompt) or "\n"
  local ids = job.data:encode(prompt)
  local begin = #job.data:decode(ids) + 1
  for _ = 1, given.tokens do
    ids[#ids + 1] = pick(generate.logits(run, ids), given)
    if given.stop ~= "" then
      local text = job.data:decode(ids)
      local _, last = text:find(given.stop, begin, true)
      if last then return text:sub(1, last) end
    end
  end
  return job.data:decode(ids)
end

return generate
