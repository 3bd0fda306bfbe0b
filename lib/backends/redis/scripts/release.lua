--[[
Gives claims up, whatever became of them: frees the lock when one holds (and hands it to the next waiter in the same step),
takes it out of the queue when it waits.

KEYS  1 register, then three for each claim: record, queue, waiters of its name (includes/layout.lua)
ARGV  1 prefix of the clients' channels, then the claims
REPLY for each claim 'released' | 'cancelled' | 'absent' | {'failed', error}
INVARIANT  A claim that neither holds nor waits changes nothing for anybody.
]]
-- include: layout.lua
local channel_prefix = ARGV[1]
-- include: clock.lua
-- include: grant.lua
-- include: record.lua
-- include: serve.lua

local function release(claim)
  local outcome
  local record = redis.call('GET', record_key)
  if record and string.sub(record, 1, #claim + 1) == claim .. ' ' then
    redis.call('DEL', record_key)
    outcome = 'released'
    if redis.call('EXISTS', queue_key) == 0 then
      return outcome
    end
    leave_queue(claim)
  else
    outcome = leave_queue(claim) and 'cancelled' or 'absent'
    if record then
      return outcome
    end
  end
  serve(nil)
  return outcome
end

local reply = {}
for position = 1, #ARGV - 1 do
  choose(position)
  reply[position] = isolated(release, ARGV[position + 1])
end
return reply
