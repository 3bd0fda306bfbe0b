local function granted(token, length, top)
  return 'granted ' .. digits(token) .. ' ' .. length .. ' ' .. digits(top) .. ' ' .. redis.call('ZCARD', queue_key)
end

-- One claim's question, of any kind; `demand`: as in the entry of a waiter.
local function ask(claim, lease, reserve, patience, demand)
  local wanted, permits, top = parse(demand)
  local record = look()
  local holder, token, expiry, state
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
        -- The holder fetches a grant that was pushed to it: it is alive, so it gets its whole lease now; no less than the message has promised,
        -- which was for a caller that wanted longer, perhaps.
        leave_queue(claim)
        expiry, state = math.max(expiry, now_ms + lease), 'full'
      end
      -- Written in any case: WAIT asks for what its own connection has written, and the grant may be an earlier connection's. It stands
      -- also where there is no memory to write.
      pcall(write, claim, token, expiry, state)
      return granted(token, expiry - now_ms, raise_register(token + reserve))
    end
  elseif not kind or (kind == wanted and wanted ~= 'exclusive') then
    expiry = kind and tonumber(redis.call('ZSCORE', record_key, claim) or nil)
    if expiry then
      local own
      token, state, own = read_sharer(claim)
      if state == 'provisional' then
        redis.call('HDEL', waiters_key, claim)
        expiry, state = math.max(expiry, now_ms + lease), 'full'
      end
      prolong(claim, expiry, token, state, own)
      return granted(token, expiry - now_ms, token)
    end

    -- A claim that begins to ask brings the number of permits with it: when there are more, they are given out at once.
    if wanted == 'permits' and limit ~= top and not redis.call('ZRANK', queue_key, claim) then
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
      -- Its turn, or nobody alive is ahead: whoever is still queued could not be reached.
      -- The grant comes first: without memory Redis refuses the first write of a script, and none after that.
      local last
      if wanted == 'exclusive' then
        token, last = grant(claim, lease, 'full', reserve)
      else
        token = admit(claim, lease, 'full', 0, lease, wanted, permits, top)
        last = token
      end
      leave_queue(claim)
      return granted(token, lease, last)
    end
  end

  local rest = rest_of(record)
  if patience == 0 then
    return 'contended ' .. rest
  end

  -- Nobody listens on the claim's channel: it asks, so it is alive. It is served unheard, and its next question fetches the grant.
  local _, heard = way_to(channel_of(claim))
  local standing = heard and 'heard' or 'asked'
  if not redis.call('ZRANK', queue_key, claim) then
    -- When it came, and in any case behind those who are there: the clock may have gone back.
    local last = redis.call('ZREVRANGE', queue_key, 0, 0, 'WITHSCORES')[2] or 0
    redis.call('ZADD', queue_key, digits(math.max(last + 1, now)), claim)
  end
  write_waiter(claim, now_ms + patience, lease, reserve, standing, demand)
  if redis.call('PTTL', queue_key) < patience then
    redis.call('PEXPIRE', queue_key, patience)
    if kind == 'exclusive' then
      redis.call('PEXPIRE', waiters_key, patience)
    else
      outlive(waiters_key, patience)
    end
  end
  return 'queued ' .. rest .. ' ' .. redis.call('ZRANK', queue_key, claim) .. ' ' .. standing
end
