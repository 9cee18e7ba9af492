-- Health of Dojo, DiscordServer, DiscordGroup, DiscordChannel and DiscordRole for Argo CD, by their
-- conditions, which mean the same for all five. Argo CD reports an object that is being deleted as
-- Progressing, and does not run this script.
local health = {status = "Progressing", message = "The operator has not reconciled it yet."}
local conditions = {}
if obj.status ~= nil and obj.status.conditions ~= nil then
  for _, condition in ipairs(obj.status.conditions) do
    conditions[condition.type] = condition
  end
end
local ready, degraded = conditions.Ready, conditions.Degraded
if ready == nil then
  return health
end
if obj.status.observedGeneration ~= obj.metadata.generation then
  health.message = "The operator has not reconciled this generation yet."
  return health
end
health.message = ready.reason .. ": " .. ready.message
if degraded ~= nil and degraded.status == "True" then
  health.status = "Degraded"
elseif ready.status == "True" then
  health.status = "Healthy"
end
return health
