-- include: register.lua
-- include: record.lua

-- Waiters that one command passes over at most: Redis serves no other client until it has ended.
local most_passed = 100

-- A lease ends earlier than the waiters may know: sends the time to the first that can be reached. A lease that ends by itself is that of a
-- process that died, most likely: when the first waiter is of the same process, the first one of another is notified, too.
-- `by`: the claim whose lease it is.
local function tell_of(ends, by)
  local own = by and channel_of(by)
  local channel, way, listens, told
  for _, claim in ipairs(first_waiters(most_passed)) do
    -- Many in a row may belong to one process.
    if channel_of(claim) ~= channel then
      channel = channel_of(claim)
      way, listens = way_to(channel)
    end
    if listens and not (told and channel == own) then
      local entry = redis.call('HGET', waiters_key, claim) or ''
      local alive_until, asked_at, asks_at, rest = string.match(entry, '^(%d+) (%d+) (%d+)( .*)$')
      if asks_at and tonumber(asks_at) > ends then
        redis.call('HSET', waiters_key, claim, alive_until .. ' ' .. asked_at .. ' ' .. digits(ends) .. rest)
        redis.call(way, channel, 'ask ' .. claim .. ' ' .. digits(ends - now_ms) .. ' ' .. record_key)
      end
      if channel ~= own then
        return
      end
      told = true
    end
  end
end
