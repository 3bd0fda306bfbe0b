--[[
Gives a claim up, whatever became of it: frees the lock when it holds (and hands it to the next waiter in the same step),
takes it out of the queue when it waits.

KEYS  1 record, 2 queue, 3 waiters, 4 register of the name (includes/layout.lua)
ARGV  1 claim
      2 prefix of the clients' channels
REPLY 'released' | 'cancelled' | 'absent'
INVARIANT  A claim that neither holds nor waits changes nothing for anybody.
]]
-- include: layout.lua
local claim, channel_prefix = ARGV[1], ARGV[2]
local outcome
local record = redis.call('GET', record_key)
if record and string.sub(record, 1, #claim + 1) == claim .. ' ' then
  redis.call('DEL', record_key)
  outcome = 'released'
  if redis.call('EXISTS', queue_key) == 0 then
    return outcome
  end
  redis.call('ZREM', queue_key, claim)
  redis.call('HDEL', waiters_key, claim)
else
  outcome = redis.call('ZREM', queue_key, claim) == 1 and 'cancelled' or 'absent'
  redis.call('HDEL', waiters_key, claim)
  if record or redis.call('EXISTS', queue_key) == 0 then
    return outcome
  end
end
-- include: clock.lua
-- include: grant.lua
-- include: record.lua
-- include: serve.lua
serve(nil)
return outcome
