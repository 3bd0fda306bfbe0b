-- Grants a free lock to the first waiter that can be reached. Answers its claim, or nil.
-- `caller` is the claim of a running acquire: it is alive by definition and served in the reply.
--
-- Ask who listens first, record next, publish last: a message cannot be taken back, and the count that PUBLISH returns
-- includes monitors (PSUBSCRIBE) and misses subscribers on a replica. A waiter that nobody listens for keeps its place
-- and is passed over, until it asks again or its time is up.
local served_token

local function serve(caller)
  local place = 0
  while true do
    local claim = redis.call('ZRANGE', queue_key, place, place)[1]
    if not claim then
      return nil
    end
    local alive_until, lease, standing = read_waiter(redis.call('HGET', waiters_key, claim) or '')
    if claim == caller then
      served_token = tonumber(grant(claim, tonumber(ARGV[2]), 'full'))
      leave_queue(claim)
      return claim
    elseif not alive_until or alive_until < now_ms then
      leave_queue(claim)
    else
      local channel = channel_of(claim)
      if standing == 'asked' or (standing == 'heard' and redis.call('PUBSUB', 'NUMSUB', channel)[2] > 0) then
        -- Provisional: whoever is not heard of within the window stands in the queue again, at the same place, as deaf.
        local length = math.min(lease, window)
        local ok, token = pcall(grant, claim, length, 'provisional')
        if not ok then
          -- Out of memory, most likely. The lock is free all the same; the waiters' polls will find it.
          return nil
        end
        redis.call('HSET', waiters_key, claim, alive_until .. ' ' .. lease .. ' deaf')
        redis.call('PUBLISH', channel, claim .. ' ' .. token .. ' ' .. string.format('%.0f', now) .. ' ' .. length .. ' ' .. record_key)
        return claim
      end
      if standing ~= 'deaf' then
        redis.call('HSET', waiters_key, claim, alive_until .. ' ' .. lease .. ' deaf')
      end
      place = place + 1
    end
  end
end
