--[[
Gives claims up, whatever became of them: frees the lock when one holds (and hands it to the next waiter in the same step),
takes it out of the queue when it waits.

KEYS  1 register, then three for each claim: record, queue, waiters of its name (includes/layout.lua)
ARGV  1 prefix of the clients' channels, then the claims
REPLY for each claim 'released' | 'cancelled' | 'absent' | 'failed <error>'
INVARIANT  A claim that neither holds nor waits changes nothing for anybody.
]]
local channel_prefix = ARGV[1]

-- What nobody waits for is freed before anything else is even defined: most calls end here.
local reply, rest = {}, {}
for position = 1, #ARGV - 1 do
  local claim = ARGV[position + 1]
  local record_key = KEYS[position * 3 - 1]
  local record = redis.pcall('GET', record_key)
  if type(record) == 'string' and string.sub(record, 1, #claim + 1) == claim .. ' ' and redis.call('EXISTS', KEYS[position * 3]) == 0 then
    redis.call('DEL', record_key)
    reply[position] = 'released'
  else
    rest[#rest + 1] = position
  end
end
if #rest == 0 then
  return reply
end

-- include: clock.lua
-- include: layout.lua
-- include: grant.lua
-- include: record.lua
-- include: serve.lua

local function release(claim)
  local outcome
  local record = redis.call('GET', record_key)
  if record and string.sub(record, 1, #claim + 1) == claim .. ' ' then
    redis.call('DEL', record_key)
    leave_queue(claim)
    outcome = 'released'
  else
    outcome = leave_queue(claim) and 'cancelled' or 'absent'
    if record then
      return outcome
    end
  end
  serve(nil)
  return outcome
end

for _, position in ipairs(rest) do
  choose(position)
  reply[position] = isolated(release, ARGV[position + 1])
end
return reply
