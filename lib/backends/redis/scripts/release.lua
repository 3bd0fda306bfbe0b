--[[
Ends claims in any state: frees the lock of a claim that holds, and hands it on in the same step; removes a claim that waits from the queue.

KEYS  1 register, then the records, the queues, the waiters of the claims' names (includes/layout.lua)
ARGV  1 prefix of the clients' channels
      2 the claims, with a space between two
      3 for each of them the ms for which the lock stays taken after the release (minHold); left out when it is 0 for all
REPLY 'released' when all claims were; else for each claim 'released' | 'cancelled' | 'absent' | 'failed <error>'
INVARIANT  A claim that neither holds nor waits changes nothing; nor does one that has left already (kept).
]]
local channel_prefix = ARGV[1]
local names, position = (#KEYS - 1) / 3, 0
local reply, freed, rest = {}, {}, nil
local next_keep = ARGV[3] and string.gmatch(ARGV[3], '%d+')
-- Locks without waiters are freed before the functions below are defined: most calls end here.
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
    and not string.find(record, ' kept ', 1, true)
    and (unwanted or names > 1 and redis.call('EXISTS', KEYS[1 + names + position]) == 0)
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
-- include: grant.lua
-- include: sharing.lua
-- include: serve.lua

local function release(claim, keep)
  local outcome
  -- With several names, one may be in this command twice.
  local record = look(names == 1 and records[1])
  if record and string.sub(record, 1, #claim + 1) == claim .. ' ' then
    leave_queue(claim)
    if string.find(record, ' kept ', 1, true) then
      return 'absent'
    elseif keep > 0 then
      local _, token = read(record)
      write(claim, token, now_ms + keep, 'kept')
      tell_of(now_ms + keep, claim)
      return 'released'
    end
    redis.call('DEL', record_key)
    kind = nil
    outcome = 'released'
  elseif (kind == 'shared' or kind == 'permits') and redis.call('ZSCORE', record_key, claim) then
    leave_queue(claim)
    local token, state, permits = read_sharer(claim)
    if state == 'kept' then
      return 'absent'
    elseif keep > 0 then
      prolong(claim, now_ms + keep, token, 'kept', permits)
      tell_of(ends_of())
      return 'released'
    end
    drop(claim)
    settle()
    outcome = 'released'
  else
    outcome = leave_queue(claim) and 'cancelled' or 'absent'
    if record then
      -- This claim may have been the one that was notified of an end.
      local known, ends, by = pcall(ends_of, record)
      if outcome == 'cancelled' and known then
        tell_of(ends, by)
      end
      return outcome
    end
  end
  if kind ~= 'unreadable' then
    local first = serve(nil)
    if kind == 'shared' or kind == 'permits' then
      if first ~= nil then
        tell_of(ends_of())
      end
    elseif first == '' then
      -- The lock is free. A live waiter behind so many dead ones should ask.
      tell_of(now_ms)
    end
  end
  return outcome
end

for _, left in ipairs(rest) do
  choose(left[1])
  reply[left[1]] = isolated(release, left[2], left[3])
end
return reply
