-- include: grant.lua
-- include: sharing.lua
-- include: serve.lua

local function granted(token, length, top)
  return 'granted ' .. digits(token) .. ' ' .. length .. ' ' .. digits(top) .. ' ' .. others_wait()
end

-- The place of a claim that waits; nil for one that does not. An unreachable claim gets its place back, since it asks.
local function place_of(claim)
  local score = tonumber(redis.call('ZSCORE', queue_key, claim) or nil)
  if not score or score > 0 then
    return score
  end
  local _, _, _, _, _, place = read_waiter(redis.call('HGET', waiters_key, claim))
  if place then
    redis.call('ZADD', queue_key, place, claim)
  end
  return tonumber(place)
end

-- Puts a claim into the queue, or keeps it there, and returns the time (ms) after which it asks again. A claim finds out a crash of the
-- holder ahead of it. So a claim with another one ahead asks again before an unconfirmed grant to that one could have ended. A message says
-- so when a lease ends earlier.
local function enqueue(claim, place, patience, terms, demand, rest)
  local ahead
  if place then
    ahead = redis.call('ZREVRANGEBYSCORE', queue_key, '(' .. digits(place), 0, 'LIMIT', 0, 1)[1]
  else
    -- The clock may have gone back: behind the last one in any case.
    ahead = redis.call('ZREVRANGEBYSCORE', queue_key, '+inf', 0, 'WITHSCORES', 'LIMIT', 0, 1)[2]
    place = math.max((ahead or 0) + 1, now)
    redis.call('ZADD', queue_key, digits(place), claim)
    for _, dead in ipairs(redis.call('ZRANGEBYSCORE', queue_key, '(' .. digits(-now_ms), '(0', 'LIMIT', 0, most_passed)) do
      bury(dead)
    end
  end
  if ahead then
    rest = math.min(rest, window)
  end
  local entry = {digits(now_ms + patience), digits(now_ms), digits(now_ms + rest), terms, digits(place)}
  redis.call('HSET', waiters_key, claim, table.concat(entry, ' ') .. demand)
  outlive(queue_key, patience)
  -- By its own rest: burying the last waiters has deleted the hash, and its expiry with it.
  outlive(waiters_key, patience)
  return rest
end

-- Handles the request of one claim, of any kind. `demand`: as in the entry of a waiter.
local function ask(claim, lease, reserve, patience, demand)
  local wanted, permits, top = parse(demand)
  local record = look()
  local holder, token, expiry, state, place
  if record then
    holder, token, expiry, state = read(record)
    kind = holder and kind or 'unreadable'
  end
  if clashes(wanted) then
    leave_queue(claim)
    return 'mismatch ' .. kind
  end

  if holder then
    if holder == claim then
      token = tonumber(token)
      if state == 'provisional' then
        -- The holder fetches a grant that was pushed to it: it is alive, so it gets its whole lease now. Never less than the message has
        -- promised, which may have been for a caller with a longer lease.
        leave_queue(claim)
        expiry, state = math.max(expiry, now_ms + lease), 'full'
      end
      -- Written in any case: WAIT covers what its own connection has written, and the grant may be an earlier connection's. The grant also
      -- holds when there is no memory for the write.
      pcall(write, claim, token, expiry, state)
      return granted(token, expiry - now_ms, reserve_behind(token, reserve, 0))
    end
  elseif not kind or (kind == wanted and wanted ~= 'exclusive') then
    expiry = kind and tonumber(redis.call('ZSCORE', record_key, claim) or nil)
    if expiry then
      local own
      token, state, own = read_sharer(claim)
      if state == 'provisional' then
        leave_queue(claim)
        expiry, state = math.max(expiry, now_ms + lease), 'full'
      end
      prolong(claim, expiry, token, state, own)
      return granted(token, expiry - now_ms, token)
    end

    place = place_of(claim)
    -- A claim that begins to ask sets the number of permits: when there are more now, they are given out at once.
    if wanted == 'permits' and limit ~= top and not place then
      limit = top
      if kind then
        save()
      end
    end
    local first = serve(claim)
    if clashes(wanted) then
      leave_queue(claim)
      return 'mismatch ' .. kind
    end
    if (not first or first == claim) and fits(wanted, permits) then
      -- Its turn, or no live claim is ahead. The grant comes first: without memory Redis refuses the first write of a script, and none
      -- after it.
      local last
      if wanted == 'exclusive' then
        token, last = grant(claim, lease, 'full', reserve)
      else
        token = admit(claim, lease, 'full', wanted, permits, top)
        last = token
      end
      leave_queue(claim)
      if wanted ~= 'exclusive' then
        -- Others behind it may fit as well.
        if serve(nil) ~= nil then
          tell_of(ends_of())
        end
      elseif lease < window then
        tell_of(now_ms + lease, claim)
      end
      return granted(token, lease, last)
    end
  end

  local rest
  if record then
    rest = expiry - now_ms
  else
    rest, holder, token = rest_of()
  end
  if kind == 'shared' or kind == 'permits' then
    holder, token = earliest()
  end
  local known = holder and ' ' .. holder .. ' ' .. digits(token) .. ' ' .. math.max(0, math.floor((now - token) / 1000)) or ''
  if patience == 0 then
    return 'contended ' .. rest .. known
  end

  -- No client listens on the claim's channel, but the claim is alive, since it asks. It is granted the lock without a message, and its next
  -- request fetches the grant.
  local _, listens = way_to(channel_of(claim))
  local standing = listens and 'listening' or 'polling'
  local terms = lease .. ' ' .. reserve .. ' ' .. standing
  return 'queued ' .. enqueue(claim, place or place_of(claim), patience, terms, demand, rest) .. ' ' .. standing .. known
end
