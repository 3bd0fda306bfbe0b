--[[
Asks for a lock for one claim. Safe to send again: a claim that holds gets the same grant, a claim that waits keeps its place.

KEYS  1 record, 2 queue, 3 waiters, 4 register of the name (includes/layout.lua)
ARGV  1 claim
      2 lease in ms
      3 'wait' to stand in the queue when the lock is not free, 'try' not to
      4 latest server time in µs at which the sender still wants the answer
      5 ms after which a waiter that did not ask again counts as dead
      6 prefix of the clients' channels
      7 longest provisional grant in ms
      8 ms for which the register is kept
REPLY {'granted', now µs, token, lease ms}
      {'contended', now µs, rest of the holder's lease in ms}
      {'queued', now µs, rest of the holder's lease in ms, waiters ahead, 'heard' | 'asked'}   'asked': nobody listens on the claim's channel
      {'late', now µs}
INVARIANT  At most one holder. Nobody who is alive and asked earlier is overtaken. 'late' changed nothing.
]]
-- include: layout.lua
local claim, mode, patience = ARGV[1], ARGV[3], tonumber(ARGV[5])
local lease = tonumber(ARGV[2])
local channel_prefix, window, guard = ARGV[6], tonumber(ARGV[7]), ARGV[8]
-- include: clock.lua
if now > tonumber(ARGV[4]) then
  return {'late', now}
end
-- include: grant.lua

local record = redis.call('GET', record_key)
if not record and redis.call('EXISTS', queue_key) == 0 then
  return {'granted', now, tonumber(grant(claim, lease, 'full')), lease}
end
-- include: record.lua
-- include: serve.lua

if not record then
  if serve(claim) == claim then
    return {'granted', now, served_token, lease}
  end
  record = redis.call('GET', record_key)
  if not record then
    -- Whoever is still queued could not be reached; nobody alive is ahead.
    return {'granted', now, tonumber(grant(claim, lease, 'full')), lease}
  end
end

local holder, token, expiry, state = read(record)
if holder == claim then
  if state == 'provisional' then
    -- The holder fetches a grant that was pushed to it: it is alive, so it gets its whole lease now.
    leave_queue(claim)
    expiry = now_ms + lease
    write(claim, token, expiry, 'full')
  end
  return {'granted', now, tonumber(token), expiry - now_ms}
end

local rest = expiry - now_ms
if mode == 'try' then
  return {'contended', now, rest}
end

-- Nobody listens on the claim's channel: it asks, so it is alive. It is served unheard, and its next question fetches the grant.
local standing = redis.call('PUBSUB', 'NUMSUB', channel_of(claim))[2] > 0 and 'heard' or 'asked'
if not redis.call('ZRANK', queue_key, claim) then
  local last = redis.call('ZREVRANGE', queue_key, 0, 0, 'WITHSCORES')[2] or 0
  redis.call('ZADD', queue_key, last + 1, claim)
end
redis.call('HSET', waiters_key, claim, (now_ms + patience) .. ' ' .. lease .. ' ' .. standing)
if redis.call('PTTL', queue_key) < patience then
  redis.call('PEXPIRE', queue_key, patience)
  redis.call('PEXPIRE', waiters_key, patience)
end
return {'queued', now, rest, redis.call('ZRANK', queue_key, claim), standing}
