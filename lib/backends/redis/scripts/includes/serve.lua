-- A pushed grant lasts this long (ms) unless its holder is heard of.
local window = 3000

-- Grants the lock to the waiters that can be reached, in order, as long as the next one fits: one that wants it for itself, or several
-- that share it. Answers the first that has to wait on, which is in nobody's way but of those behind it; nil when there is none.
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
    local alive_until, lease, reserve, standing, demand = read_waiter(claim)
    if not alive_until or alive_until < now_ms then
      leave_queue(claim)
    else
      local channel = channel_of(claim)
      local way, heard
      if standing ~= 'deaf' then
        way, heard = way_to(channel)
      end
      if heard or standing == 'asked' then
        local wanted, permits, top = parse(demand)
        if not fits(wanted, permits) then
          return claim
        end
        -- Provisional: whoever is not heard of within the window stands in the queue again, at the same place, as deaf.
        local length = math.min(lease, window)
        local ok, token, last
        if wanted == 'exclusive' then
          ok, token, last = pcall(grant, claim, length, 'provisional', reserve)
        else
          local score = digits(tonumber(redis.call('ZSCORE', queue_key, claim)))
          local stay = math.max(length, alive_until - now_ms)
          ok, token = pcall(admit, claim, length, 'provisional', score, stay, wanted, permits, top)
          last = token
        end
        if not ok then
          -- Out of memory, most likely. The lock is free all the same; the waiters' polls will find it.
          return nil
        end
        write_waiter(claim, alive_until, lease, reserve, 'deaf', demand)
        if wanted ~= 'exclusive' then
          -- Hundreds of readers may be on their way: nobody shall walk past them.
          redis.call('ZREM', queue_key, claim)
        end
        redis.call(way, channel, table.concat({claim, digits(token), digits(last), digits(now), length, record_key}, ' '))
        if wanted == 'exclusive' then
          kind = wanted
          return claim
        end
      else
        if standing ~= 'deaf' then
          write_waiter(claim, alive_until, lease, reserve, 'deaf', demand)
        end
        place = place + 1
      end
    end
  end
end
