-- A pushed grant lasts this long (ms) unless its holder is heard of.
local window = 3000

-- Grants a free lock to the first waiter that can be reached. Answers its claim, or nil.
-- `caller` is the claim of a running acquire: alive by definition, found here when it is its turn, and granted by the caller.
--
-- Ask who listens first, record next, publish last: a message cannot be taken back, and the count that PUBLISH returns
-- includes monitors (PSUBSCRIBE) and misses subscribers on a replica. A waiter that nobody listens for keeps its place
-- and is passed over, until it asks again or its time is up.
local function serve(caller)
  local place = 0
  while true do
    local claim = redis.call('ZRANGE', queue_key, place, place)[1]
    if not claim or claim == caller then
      return claim
    end
    local alive_until, lease, reserve, standing = read_waiter(claim)
    if not alive_until or alive_until < now_ms then
      leave_queue(claim)
    else
      local channel = channel_of(claim)
      local way, heard
      if standing ~= 'deaf' then
        way, heard = way_to(channel)
      end
      if heard or standing == 'asked' then
        -- Provisional: whoever is not heard of within the window stands in the queue again, at the same place, as deaf.
        local length = math.min(lease, window)
        local ok, token, top = pcall(grant, claim, length, 'provisional', reserve)
        if not ok then
          -- Out of memory, most likely. The lock is free all the same; the waiters' polls will find it.
          return nil
        end
        write_waiter(claim, alive_until, lease, reserve, 'deaf')
        redis.call(way, channel, table.concat({claim, digits(token), digits(top), digits(now), length, record_key}, ' '))
        return claim
      end
      if standing ~= 'deaf' then
        write_waiter(claim, alive_until, lease, reserve, 'deaf')
      end
      place = place + 1
    end
  end
end
