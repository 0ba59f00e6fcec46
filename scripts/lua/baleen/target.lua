--- What a job predicts, and what its data has too little of for that.
local core = require "baleen.core"

local target = {}

--- Whether the job's target is what the data's `classes` counts: its one field of a number per row that is int32, but
--- for lengths of lists. Ids of tokens need not all occur.
function target.is_class(job)
  local lengths, found = {}, nil
  for _, field in ipairs(job.data.fields) do
    if field.length then lengths[field.length] = true end
  end
  for _, field in ipairs(job.data.fields) do
    if field.dtype == "int32" and not lengths[field.name] then
      if found or #field.shape > 0 then return false end
      found = field.name
    end
  end
  return found == job.target
end

--- Whether the job's target is a sequence of tokens, which the data's `vocab` counts: of data that counts in tokens.
--- With fields of several kinds of ids it is the largest count of them.
function target.is_token(job)
  if job.data.unit ~= "tokens" or job.data.vocab <= 0 then return false end
  for _, field in ipairs(job.data.fields) do
    if field.name == job.target then return field.dtype == "int32" and #field.shape == 1 end
  end
  return false
end

--- Adds one for each schedule whose warm-up does not end within the job's steps.
local function add_warm_ups(job, options, doubts)
  for name, value in pairs(options) do
    local given = type(value) == "table" and type(value.given) == "table" and value.given or {}
    if given.warmup and given.warmup >= (given.steps or job.steps) then
      doubts[#doubts + 1] = ("job: the warm-up of `%s` takes %d steps and the job has %d, so it never ends"):format(
        name, given.warmup, given.steps or job.steps)
    end
  end
end

--- A list of texts, which `baleen run` tells before it trains. `asked`: the option that wants evaluations, or nil.
function target.doubts(job, asked)
  local doubts = {}
  if asked and job.data.held_out_rows == 0 then
    doubts[1] = ("job: `%s` does nothing, since the data holds out no row; raise its `held_out`, or leave `%s` out")
      :format(asked, asked)
  end
  if job.batch > job.data.rows then
    doubts[#doubts + 1] = ("job: `batch` is %d and the data has %d rows to train on, so each step reads rows "
      .. "more than once"):format(job.batch, job.data.rows)
  end
  if job.data.classes == 1 and target.is_class(job) then
    doubts[#doubts + 1] = ("job: the target `%s` has one class in all rows that are trained on, so every model is "
      .. "right and learns nothing; is it another column, or are rows of the other classes missing?"):format(job.target)
  end
  if job.steps > 0 and not core.steps then -- those of the command line are for a look
    add_warm_ups(job, job.optimizer.options, doubts)
    for _, group in ipairs(job.optimizer.groups) do add_warm_ups(job, group.options, doubts) end
  end
  return doubts
end

return target
