--- What a job predicts, and what its data has too little of for that.
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
  return doubts
end

return target
