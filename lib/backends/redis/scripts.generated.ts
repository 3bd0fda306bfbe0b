// Written by scripts/embed-lua.mjs from scripts/*.lua. Do not edit: run `npm run lua`.
export const scripts = {
  acquire: {
    source: `local record_key, queue_key, waiters_key, register_key = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local claim, lease, reserve = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[4])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local now_ms = math.floor(now / 1000)
if now > tonumber(ARGV[3]) then
return {'late', now}
end
local guard = 60000
local function digits(token)
return string.format('%.0f', token)
end
local function raise_register(top)
local last = tonumber(redis.call('GET', register_key) or 0)
if last >= top then
return last
end
redis.call('SET', register_key, digits(top), 'PX', guard)
return top
end
local function write(to, token, expiry, state)
redis.call('SET', record_key, to .. ' ' .. digits(token) .. ' ' .. expiry .. ' ' .. state, 'PXAT', expiry)
end
local function grant(to, length, state, reserve)
local token, top = now, now + reserve
local last = tonumber(redis.call('SET', register_key, digits(top), 'PX', guard, 'GET') or 0)
if last >= now then
token = last + 1
top = token + reserve
redis.call('SET', register_key, digits(top), 'PX', guard)
end
write(to, token, now_ms + length, state)
return token, top
end
local record = redis.call('GET', record_key)
if not record and redis.call('EXISTS', queue_key) == 0 then
local token, top = grant(claim, lease, 'full', reserve)
return {'granted', now, token, lease, top, 0}
end
local patience, channel_prefix = tonumber(ARGV[5]), ARGV[6]
local function read(text)
local holder, token, expiry, state = string.match(text, '^(%S+) (%d+) (%d+) (%l+)$')
if not holder then
error('FOREIGN value on the key of a lock')
end
return holder, token, tonumber(expiry), state
end
local function read_waiter(claim)
local entry = redis.call('HGET', waiters_key, claim) or ''
local alive_until, lease, reserve, standing = string.match(entry, '^(%d+) (%d+) (%d+) (%l+)$')
return tonumber(alive_until), tonumber(lease), tonumber(reserve), standing
end
local function write_waiter(claim, alive_until, lease, reserve, standing)
redis.call('HSET', waiters_key, claim, alive_until .. ' ' .. lease .. ' ' .. reserve .. ' ' .. standing)
end
local function channel_of(claim)
return channel_prefix .. string.match(claim, '^[^:]+')
end
local function leave_queue(claim)
redis.call('ZREM', queue_key, claim)
redis.call('HDEL', waiters_key, claim)
end
local window = 3000
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
if standing == 'asked' or (standing == 'heard' and redis.call('PUBSUB', 'NUMSUB', channel)[2] > 0) then
local length = math.min(lease, window)
local ok, token, top = pcall(grant, claim, length, 'provisional', reserve)
if not ok then
return nil
end
write_waiter(claim, alive_until, lease, reserve, 'deaf')
redis.call('PUBLISH', channel, table.concat({claim, digits(token), digits(top), digits(now), length, record_key}, ' '))
return claim
end
if standing ~= 'deaf' then
write_waiter(claim, alive_until, lease, reserve, 'deaf')
end
place = place + 1
end
end
end
if not record then
local served = serve(claim)
record = redis.call('GET', record_key)
if served == claim or not record then
leave_queue(claim)
local token, top = grant(claim, lease, 'full', reserve)
return {'granted', now, token, lease, top, redis.call('ZCARD', queue_key)}
end
end
local holder, token, expiry, state = read(record)
if holder == claim then
token = tonumber(token)
if state == 'provisional' then
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
return {'queued', now, rest, redis.call('ZRANK', queue_key, claim), standing}`,
    sha1: 'dfbeb4f4e68dce97a99dc88e544cdc7124635e94',
  },
  release: {
    source: `local record_key, queue_key, waiters_key, register_key = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local claim, channel_prefix = ARGV[1], ARGV[2]
local outcome
local record = redis.call('GET', record_key)
if record and string.sub(record, 1, #claim + 1) == claim .. ' ' then
redis.call('DEL', record_key)
outcome = 'released'
if redis.call('EXISTS', queue_key) == 0 then
return outcome
end
redis.call('ZREM', queue_key, claim)
redis.call('HDEL', waiters_key, claim)
else
outcome = redis.call('ZREM', queue_key, claim) == 1 and 'cancelled' or 'absent'
redis.call('HDEL', waiters_key, claim)
if record or redis.call('EXISTS', queue_key) == 0 then
return outcome
end
end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local now_ms = math.floor(now / 1000)
local guard = 60000
local function digits(token)
return string.format('%.0f', token)
end
local function raise_register(top)
local last = tonumber(redis.call('GET', register_key) or 0)
if last >= top then
return last
end
redis.call('SET', register_key, digits(top), 'PX', guard)
return top
end
local function write(to, token, expiry, state)
redis.call('SET', record_key, to .. ' ' .. digits(token) .. ' ' .. expiry .. ' ' .. state, 'PXAT', expiry)
end
local function grant(to, length, state, reserve)
local token, top = now, now + reserve
local last = tonumber(redis.call('SET', register_key, digits(top), 'PX', guard, 'GET') or 0)
if last >= now then
token = last + 1
top = token + reserve
redis.call('SET', register_key, digits(top), 'PX', guard)
end
write(to, token, now_ms + length, state)
return token, top
end
local function read(text)
local holder, token, expiry, state = string.match(text, '^(%S+) (%d+) (%d+) (%l+)$')
if not holder then
error('FOREIGN value on the key of a lock')
end
return holder, token, tonumber(expiry), state
end
local function read_waiter(claim)
local entry = redis.call('HGET', waiters_key, claim) or ''
local alive_until, lease, reserve, standing = string.match(entry, '^(%d+) (%d+) (%d+) (%l+)$')
return tonumber(alive_until), tonumber(lease), tonumber(reserve), standing
end
local function write_waiter(claim, alive_until, lease, reserve, standing)
redis.call('HSET', waiters_key, claim, alive_until .. ' ' .. lease .. ' ' .. reserve .. ' ' .. standing)
end
local function channel_of(claim)
return channel_prefix .. string.match(claim, '^[^:]+')
end
local function leave_queue(claim)
redis.call('ZREM', queue_key, claim)
redis.call('HDEL', waiters_key, claim)
end
local window = 3000
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
if standing == 'asked' or (standing == 'heard' and redis.call('PUBSUB', 'NUMSUB', channel)[2] > 0) then
local length = math.min(lease, window)
local ok, token, top = pcall(grant, claim, length, 'provisional', reserve)
if not ok then
return nil
end
write_waiter(claim, alive_until, lease, reserve, 'deaf')
redis.call('PUBLISH', channel, table.concat({claim, digits(token), digits(top), digits(now), length, record_key}, ' '))
return claim
end
if standing ~= 'deaf' then
write_waiter(claim, alive_until, lease, reserve, 'deaf')
end
place = place + 1
end
end
end
serve(nil)
return outcome`,
    sha1: '9f547a70499d2b819c9500141e97ebaef8fa1fd7',
  },
  renew: {
    source: `local register_key = KEYS[1]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local now_ms = math.floor(now / 1000)
local guard = 60000
local function digits(token)
return string.format('%.0f', token)
end
local function raise_register(top)
local last = tonumber(redis.call('GET', register_key) or 0)
if last >= top then
return last
end
redis.call('SET', register_key, digits(top), 'PX', guard)
return top
end
local reply = {now}
for hold = 1, #ARGV / 4 do
local record_key, queue_key, waiters_key = KEYS[hold * 3 - 1], KEYS[hold * 3], KEYS[hold * 3 + 1]
local claim, known_token, lease, reserve = ARGV[hold * 4 - 3], tonumber(ARGV[hold * 4 - 2]), tonumber(ARGV[hold * 4 - 1]), tonumber(ARGV[hold * 4])
local record = redis.pcall('GET', record_key)
local holder, token, expiry, state = string.match(type(record) == 'string' and record or '', '^(%S+) (%d+) (%d+) (%l+)$')
if holder == claim and tonumber(token) <= known_token then
expiry = math.max(tonumber(expiry), now_ms + lease)
if state == 'provisional' then
redis.call('ZREM', queue_key, claim)
redis.call('HDEL', waiters_key, claim)
end
redis.call('SET', record_key, claim .. ' ' .. token .. ' ' .. expiry .. ' full', 'PXAT', expiry)
if reserve > 0 then
reply[hold + 1] = {expiry - now_ms, raise_register(known_token + reserve), redis.call('ZCARD', queue_key)}
else
reply[hold + 1] = {expiry - now_ms, 0, 0}
end
else
reply[hold + 1] = 'lost'
end
end
return reply`,
    sha1: '89984d5ee10642582321e526faaea47685d0546c',
  },
} as const;
