--[[
Gives claims up, whatever became of them: frees the lock when one holds (and hands it on in the same step),
takes it out of the queue when it waits.

KEYS  1 register, then the records, the queues, the waiters of the claims' names (includes/layout.lua)
ARGV  1 prefix of the clients' channels
      2 the claims, with a space between two
      3 for each of them the ms for which its place shall stay taken all the same (minHold); left out when it is 0 for all
REPLY 'released' when every claim was; else for each claim 'released' | 'cancelled' | 'absent' | 'failed <error>'
INVARIANT  A claim that neither holds nor waits changes nothing for anybody.
]]
local channel_prefix = ARGV[1]
local names, position = (#KEYS - 1) / 3, 0
local reply, freed, rest = {}, {}, nil
local next_keep = ARGV[3] and string.gmatch(ARGV[3], '%d+')
-- What nobody waits for is freed before anything else is even defined: most calls end here.
local records = redis.call('MGET', unpack(KEYS, 2, 1 + names))
local unwanted = redis.call('EXISTS', unpack(KEYS, 2 + names, 1 + 2 * names)) == 0
for claim in string.gmatch(ARGV[2], '%S+') do
  position = position + 1
  local record = records[position]
  local keep = next_keep and tonumber(next_keep()) or 0
  if
    record
    and keep == 0
    and string.sub(record, 1, #claim + 1) == claim .. ' '
    and (unwanted or redis.call('EXISTS', KEYS[1 + names + position]) == 0)
  then
    freed[#freed + 1] = KEYS[1 + position]
    reply[position] = 'released'
  else
    rest = rest or {}
    rest[#rest + 1] = {position, claim, keep}
  end
end
if freed[1] then
  redis.call('DEL', unpack(freed))
end
if not rest then
  return 'released'
end

-- include: clock.lua
-- include: version.lua
-- include: register.lua
-- include: layout.lua
-- include: grant.lua
-- include: record.lua
-- include: sharer.lua
-- include: sharing.lua
-- include: serve.lua

local function release(claim, keep)
  local outcome
  local record = look()
  if record and string.sub(record, 1, #claim + 1) == claim .. ' ' then
    leave_queue(claim)
    if keep > 0 then
      local _, token = read(record)
      write(claim, token, now_ms + keep, 'kept')
      return 'released'
    end
    redis.call('DEL', record_key)
    kind = nil
    outcome = 'released'
  elseif (kind == 'shared' or kind == 'permits') and redis.call('ZSCORE', record_key, claim) then
    redis.call('HDEL', waiters_key, claim)
    if keep > 0 then
      local token, _, permits = read_sharer(claim)
      prolong(claim, now_ms + keep, token, 'kept', permits)
      return 'released'
    end
    drop(claim)
    settle()
    outcome = 'released'
  else
    outcome = leave_queue(claim) and 'cancelled' or 'absent'
    if record then
      return outcome
    end
  end
  if kind ~= 'unreadable' then
    serve(nil)
  end
  return outcome
end

for _, left in ipairs(rest) do
  choose(left[1])
  reply[left[1]] = isolated(release, left[2], left[3])
end
return reply
