-- Who holds the chosen name: read by `look`, kept up in these while the script works on it.
local kind -- exclusive | shared | permits; unreadable: by somebody of another layout; nil: nobody
local used -- readers, or permits in use
local limit -- how many permits there are; nil: as many as whoever is granted next says

-- What a claim wants: the kind, how many permits, of how many.
local function parse(demand)
  local wanted, permits, top = string.match(demand, '^ (%l+) (%d+) (%d+)$')
  return wanted or 'exclusive', tonumber(permits or 1), tonumber(top or 0)
end

local function fits(wanted, permits)
  if not kind then
    return true
  end
  return kind == wanted and (kind == 'shared' or kind == 'permits' and used + permits <= limit)
end

-- A name is used with permits or without, not both at once.
local function clashes(wanted)
  return kind and kind ~= 'unreadable' and (kind == 'permits') ~= (wanted == 'permits')
end

local function save()
  redis.call('HSET', waiters_key, '', kind .. ' ' .. digits(limit) .. ' ' .. digits(used))
end

-- After some have left.
local function settle()
  if redis.call('EXISTS', record_key) == 0 then
    kind, used = nil, 0
    redis.call('HDEL', waiters_key, '')
  else
    save()
  end
end

-- Ends one of several holds. One that lapsed unconfirmed puts its claim back to its place in the queue, as deaf.
local function drop(claim, lapsed)
  local _, state, permits, place = read_sharer(claim)
  redis.call('ZREM', record_key, claim)
  redis.call('HDEL', waiters_key, '=' .. claim)
  used = used - (permits or 0)
  if lapsed and state == 'provisional' then
    local alive_until = read_waiter(claim)
    if alive_until and alive_until > now_ms then
      redis.call('ZADD', queue_key, place, claim)
      outlive(queue_key, alive_until - now_ms)
    else
      redis.call('HDEL', waiters_key, claim)
    end
  end
end

-- Looks who holds the name, and answers the record of an exclusive holder. Readers and permits whose time is up leave.
local function look()
  kind, used, limit = nil, 0, nil
  local record = redis.pcall('GET', record_key)
  if not record then
    return nil
  end
  if type(record) == 'string' then
    kind = 'exclusive'
    return record
  end
  -- No string. What is no sorted set either fails with the next command, and is foreign.
  local over = redis.call('ZRANGEBYSCORE', record_key, '-inf', '(' .. digits(now_ms))
  local what, top, taken = string.match(redis.call('HGET', waiters_key, '') or '', '^(%l+) (%d+) (%d+)$')
  if what then
    kind, limit, used = what, tonumber(top), tonumber(taken)
    for _, claim in ipairs(over) do
      drop(claim, true)
    end
    if over[1] then
      settle()
    end
  elseif redis.call('PTTL', record_key) >= 0 and string.find(redis.call('ZRANGE', record_key, 0, 0)[1], '^%S+:%S+$') then
    -- The other half was evicted, or is of another layout (docs/adr/0079): they may be at work until the key has gone.
    kind = 'unreadable'
  else
    error('FOREIGN value on the key of a lock')
  end
  return nil
end

-- Makes a claim one of several holders, and answers its token. What can fail comes first.
-- `place`: where a provisional one stands in the queue; `stay`: for how long (ms) that has to be known.
local function admit(to, length, state, place, stay, wanted, permits, top)
  local token, refused = issue(1)
  if not token then
    error(refused)
  end
  if not kind then
    -- What is left of holders whose record went by itself is nobody's.
    if redis.call('HDEL', waiters_key, '') == 1 then
      for _, field in ipairs(redis.call('HKEYS', waiters_key)) do
        if string.sub(field, 1, 1) == '=' then
          redis.call('HDEL', waiters_key, field)
        end
      end
    end
    kind, limit = wanted, limit or top
  end
  used = used + permits
  redis.call('ZADD', record_key, digits(now_ms + length), to)
  write_sharer(to, token, state, permits, place)
  save()
  outlive(record_key, stay)
  outlive(waiters_key, stay)
  return token
end

-- Milliseconds until a lease ends that keeps the claim out: the last one, except that any permit that comes back may be enough.
local function rest_of(record)
  if kind == 'exclusive' then
    local _, _, expiry = read(record or redis.call('GET', record_key))
    return expiry - now_ms
  elseif kind == 'unreadable' then
    return redis.call('PTTL', record_key)
  end
  local range = kind == 'permits' and 'ZRANGE' or 'ZREVRANGE'
  return tonumber(redis.call(range, record_key, 0, 0, 'WITHSCORES')[2]) - now_ms
end
