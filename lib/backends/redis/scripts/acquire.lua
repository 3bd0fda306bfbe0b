--[[
Asks for a lock for one claim. Safe to send again: a claim that holds gets the same grant, a claim that waits keeps its place.

KEYS  1 record, 2 queue, 3 waiters, 4 register of the name (includes/layout.lua)
ARGV  1 claim
      2 lease in ms
      3 latest server time in µs at which the sender still wants the answer
      4 tokens to reserve behind the granted one, for local hand-offs
      5 ms after which a waiter that did not ask again counts as dead; 0: do not stand in the queue
      6 prefix of the clients' channels
REPLY {'granted', now µs, token, lease ms, last reserved token, waiters behind}
      {'contended', now µs, rest of the holder's lease in ms}
      {'queued', now µs, rest of the holder's lease in ms, waiters ahead, 'heard' | 'asked'}   'asked': nobody listens on the claim's channel
      {'late', now µs}
INVARIANT  At most one holder. Nobody who is alive and asked earlier is overtaken. 'late' changed nothing.
]]
-- include: layout.lua
local claim, lease, reserve = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[4])
-- include: clock.lua
if now > tonumber(ARGV[3]) then
  return {'late', now}
end
-- include: grant.lua

local record = redis.call('GET', record_key)
if not record and redis.call('EXISTS', queue_key) == 0 then
  local token, top = grant(claim, lease, 'full', reserve)
  return {'granted', now, token, lease, top, 0}
end
local patience, channel_prefix = tonumber(ARGV[5]), ARGV[6]
-- include: record.lua
-- include: serve.lua

if not record then
  local served = serve(claim)
  record = redis.call('GET', record_key)
  if served == claim or not record then
    -- Served, or nobody alive is ahead: whoever is still queued could not be reached.
    leave_queue(claim)
    local token, top = grant(claim, lease, 'full', reserve)
    return {'granted', now, token, lease, top, redis.call('ZCARD', queue_key)}
  end
end

local holder, token, expiry, state = read(record)
if holder == claim then
  token = tonumber(token)
  if state == 'provisional' then
    -- The holder fetches a grant that was pushed to it: it is alive, so it gets its whole lease now.
    leave_queue(claim)
    expiry = now_ms + lease
    write(claim, token, expiry, 'full')
  end
  return {'granted', now, token, expiry - now_ms, raise_register(token + reserve), redis.call('ZCARD', queue_key)}
end

local rest = expiry - now_ms
if patience == 0 then
  return {'contended', now, rest}
end

-- Nobody listens on the claim's channel: it asks, so it is alive. It is served unheard, and its next question fetches the grant.
local standing = redis.call('PUBSUB', 'NUMSUB', channel_of(claim))[2] > 0 and 'heard' or 'asked'
if not redis.call('ZRANK', queue_key, claim) then
  local last = redis.call('ZREVRANGE', queue_key, 0, 0, 'WITHSCORES')[2] or 0
  redis.call('ZADD', queue_key, last + 1, claim)
end
write_waiter(claim, now_ms + patience, lease, reserve, standing)
if redis.call('PTTL', queue_key) < patience then
  redis.call('PEXPIRE', queue_key, patience)
  redis.call('PEXPIRE', waiters_key, patience)
end
return {'queued', now, rest, redis.call('ZRANK', queue_key, claim), standing}
