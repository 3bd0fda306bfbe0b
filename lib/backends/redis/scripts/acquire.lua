--[[
Asks for locks, one claim each for any number of names. Safe to send again: a claim that holds gets the same grant, a claim that
waits keeps its place.

KEYS  1 register, then three for each claim: record, queue, waiters of its name (includes/layout.lua)
ARGV  1 latest server time in µs at which the sender still wants the answer
      2 prefix of the clients' channels
      then four for each claim:
      1 claim
      2 lease in ms
      3 tokens to reserve behind the granted one, for local hand-offs
      4 ms after which a waiter that did not ask again counts as dead; 0: do not stand in the queue
REPLY {now µs, then for each claim one of
        'granted <token> <lease ms> <last reserved token> <waiters behind>'
        'contended <rest of the holder's lease in ms>'
        'queued <rest of the holder's lease in ms> <waiters ahead> <heard | asked>'   asked: nobody listens on the claim's channel
        'failed <error>'                                                             nothing was granted to this claim
      } or {now µs, 'late'}
INVARIANT  At most one holder. Nobody who is alive and asked earlier is overtaken. 'late' changed nothing.
]]
local channel_prefix = ARGV[2]
-- include: clock.lua
if now > tonumber(ARGV[1]) then
  return {now, 'late'}
end

-- What nobody holds and nobody waits for is granted before anything else is even defined: most calls end here. The register is
-- written once for all of them. Whatever fails, or is not free, is left to the part below.
local reply, rest, span = {now}, {}, 0
for position = 1, (#ARGV - 2) / 4 do
  span = span + 1 + ARGV[position * 4 + 1]
end
local base
for position = 1, (#ARGV - 2) / 4 do
  local record_key = KEYS[position * 3 - 1]
  local granted = false
  if redis.call('EXISTS', record_key, KEYS[position * 3]) == 0 then
    if not base then
      base = now
      local last = redis.pcall('SET', KEYS[1], string.format('%d', now + span - 1), 'PX', '60000', 'GET')
      if type(last) == 'table' then
        base = nil
      elseif last and tonumber(last) >= now then
        base = tonumber(last) + 1
        redis.call('SET', KEYS[1], string.format('%d', base + span - 1), 'PX', '60000')
      end
    end
    if base then
      local claim, lease = ARGV[position * 4 - 1], ARGV[position * 4]
      local token, expiry = string.format('%d', base), string.format('%d', now_ms + lease)
      local written = redis.pcall('SET', record_key, claim .. ' ' .. token .. ' ' .. expiry .. ' full', 'PXAT', expiry)
      if not written.err then
        granted = true
        base = base + ARGV[position * 4 + 1]
        reply[position + 1] = 'granted ' .. token .. ' ' .. lease .. ' ' .. string.format('%d', base) .. ' 0'
        base = base + 1
      end
    end
  end
  if not granted then
    rest[#rest + 1] = position
  end
end
if #rest == 0 then
  return reply
end

-- include: layout.lua
-- include: grant.lua
-- include: record.lua
-- include: serve.lua

local function granted(token, length, top)
  return 'granted ' .. digits(token) .. ' ' .. length .. ' ' .. digits(top) .. ' ' .. redis.call('ZCARD', queue_key)
end

local function ask(claim, lease, reserve, patience)
  local record = redis.call('GET', record_key)
  if not record then
    local served = serve(claim)
    record = redis.call('GET', record_key)
    if served == claim or not record then
      -- Served, or nobody alive is ahead: whoever is still queued could not be reached.
      -- The grant comes first: without memory Redis refuses the first write of a script, and none after that.
      local token, top = grant(claim, lease, 'full', reserve)
      leave_queue(claim)
      return granted(token, lease, top)
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
    return granted(token, expiry - now_ms, raise_register(token + reserve))
  end

  if patience == 0 then
    return 'contended ' .. (expiry - now_ms)
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
  return 'queued ' .. (expiry - now_ms) .. ' ' .. redis.call('ZRANK', queue_key, claim) .. ' ' .. standing
end

for _, position in ipairs(rest) do
  choose(position)
  local at = position * 4 - 1
  reply[position + 1] = isolated(ask, ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3]))
end
return reply
