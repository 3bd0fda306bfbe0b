-- include: grant.lua
-- include: sharing.lua
-- include: tell.lua

-- A pushed grant lasts this long (ms), unless its holder confirms it.
local window = 3000

-- Grants the lock to the waiters that can be reached, in order, as long as the next one fits: one exclusive holder, or several that share
-- it. Returns the first one that has to wait on, which blocks only those behind it; nil when there is none; '' when there were too many
-- unreachable ones to find out; false when Redis refused the grant. `caller` is the claim of a running acquire. It is alive; when it is its
-- turn, it is returned, and the caller grants it.
--
-- First check which clients listen, then write the record, then publish: a message cannot be taken back, and the count that PUBLISH returns
-- includes monitors (PSUBSCRIBE) and misses subscribers on a replica. A waiter that is not reached is passed over, until it asks again or
-- its time is up.
local function serve(caller)
  local ways, listens, passed = {}, {}, 0
  while true do
    local claim = first_waiters(1)[1]
    if not claim or claim == caller then
      return claim
    elseif passed == most_passed then
      return ''
    end
    local client = client_of(claim)
    local entry = redis.call('HMGET', waiters_key, claim, '~' .. client)
    local alive_until, asked_at, lease, reserve, standing, _, demand = read_waiter(entry[1])
    if not alive_until or alive_until < now_ms then
      bury(claim)
      passed = passed + 1
    else
      local channel = channel_of(claim)
      if listens[channel] == nil then
        ways[channel], listens[channel] = way_to(channel)
      end
      -- A client that has let a grant lapse is stopped, or its connection is dead: only claims that have asked since are served.
      local called_at, lapses_at = string.match(entry[2] or '', '^(%d+) (%d+)$')
      local unheard = called_at and asked_at <= tonumber(called_at)
      local reachable = not (unheard and tonumber(lapses_at) <= now_ms) and (listens[channel] or standing == 'polling')
      if reachable then
        local wanted, permits, top = parse(demand)
        if not fits(wanted, permits) then
          return claim
        end
        -- Provisional: a claim that does not confirm within the window is unreachable from then on.
        local length = math.min(lease, window)
        local ok, token, last
        if wanted == 'exclusive' then
          ok, token, last = pcall(grant, claim, length, 'provisional', reserve)
        else
          ok, token = pcall(admit, claim, length, 'provisional', wanted, permits, top)
          last = token
        end
        if not ok then
          -- Out of memory, most likely. The lock is free, and the waiters' polls will find it.
          return false
        end
        redis.call('ZADD', queue_key, digits(-alive_until), claim)
        -- The first unconfirmed grant counts: after it has lapsed, a silent client gets no more.
        if not unheard then
          redis.call('HSET', waiters_key, '~' .. client, digits(now_ms) .. ' ' .. digits(now_ms + length))
        end
        redis.call(ways[channel], channel, table.concat({claim, digits(token), digits(last), digits(now), length, record_key}, ' '))
        if wanted == 'exclusive' then
          kind = wanted
          if length < window then
            tell_of(now_ms + length, claim)
          end
          return claim
        end
      else
        redis.call('ZADD', queue_key, digits(-alive_until), claim)
        passed = passed + 1
      end
    end
  end
end
