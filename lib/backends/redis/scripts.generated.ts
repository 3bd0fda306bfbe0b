// Written by scripts/embed-lua.mjs from scripts/*.lua. Do not edit: run `npm run lua`.
const clock = `local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local now_ms = math.floor(now / 1000)`;
const version = `local version = ' v1'`;
const register = `local guard = '60000'
local function digits(token)
return string.format('%d', token)
end
local function issue(count)
local last = redis.pcall('SET', KEYS[1], digits(now + count - 1), 'PX', guard, 'GET')
if type(last) == 'table' then
return nil, last
end
local token = now
if last and tonumber(last) >= now then
token = last + 1
redis.call('SET', KEYS[1], digits(token + count - 1), 'PX', guard)
end
return token
end
local function raise_register(top)
local last = tonumber(redis.call('GET', KEYS[1]) or 0)
if last >= top then
return last
end
redis.call('SET', KEYS[1], digits(top), 'PX', guard)
return top
end`;
const layout = `local names = (#KEYS - 1) / 3
local record_key, queue_key, waiters_key
local function choose(position)
record_key, queue_key, waiters_key = KEYS[1 + position], KEYS[1 + names + position], KEYS[1 + 2 * names + position]
end
local function isolated(work, ...)
local ok, result = pcall(work, ...)
if ok then
return result
end
return 'failed ' .. tostring(type(result) == 'table' and result.err or result)
end`;
const grant = `local function write(to, token, expiry, state)
local until_ms = digits(expiry)
redis.call('SET', record_key, to .. ' ' .. digits(token) .. ' ' .. until_ms .. ' ' .. state .. version, 'PXAT', until_ms)
end
local function grant(to, length, state, reserve)
local token, refused = issue(1 + reserve)
if not token then
error(refused)
end
write(to, token, now_ms + length, state)
return token, token + reserve
end`;
const record = `local function read(text)
local holder, token, expiry, state = string.match(text, '^(%S+) (%d+) (%d+) (%l+)' .. version .. '$')
if holder then
return holder, token, tonumber(expiry), state
end
local rest = string.match(text, ' v%d+$') and redis.call('PTTL', record_key) or -1
if rest < 0 then
error('FOREIGN value on the key of a lock')
end
return nil, nil, now_ms + rest, nil
end
local function read_waiter(claim)
local entry = redis.call('HGET', waiters_key, claim) or ''
local alive_until, lease, reserve, standing, demand = string.match(entry, '^(%d+) (%d+) (%d+) (%l+)(.*)$')
return tonumber(alive_until), tonumber(lease), tonumber(reserve), standing, demand
end
local function write_waiter(claim, alive_until, lease, reserve, standing, demand)
redis.call('HSET', waiters_key, claim, alive_until .. ' ' .. lease .. ' ' .. reserve .. ' ' .. standing .. demand)
end
local function channel_of(claim)
return channel_prefix .. string.match(claim, '^[^:]+')
end
local function way_to(channel)
local shard = string.sub(channel_prefix, -1) == '}' and redis.pcall('PUBSUB', 'SHARDNUMSUB', channel)
if shard and not shard.err and shard[2] > 0 then
return 'SPUBLISH', true
end
local heard = redis.call('PUBSUB', 'NUMSUB', channel)[2] > 0
return shard and not shard.err and not heard and 'SPUBLISH' or 'PUBLISH', heard
end
local function leave_queue(claim)
redis.call('HDEL', waiters_key, claim)
return redis.call('ZREM', queue_key, claim) == 1
end`;
const sharer = `local function read_sharer(claim)
local entry = redis.call('HGET', waiters_key, '=' .. claim) or ''
local token, state, permits, place = string.match(entry, '^(%d+) (%l+) (%d+) (%d+)$')
return tonumber(token), state, tonumber(permits), place
end
local function write_sharer(claim, token, state, permits, place)
redis.call('HSET', waiters_key, '=' .. claim, digits(token) .. ' ' .. state .. ' ' .. digits(permits) .. ' ' .. place)
end
local function outlive(key, ms)
if redis.call('PTTL', key) < ms then
redis.call('PEXPIRE', key, ms)
end
end
local function prolong(claim, ends, token, state, permits)
local rest = ends - now_ms
redis.call('PEXPIRE', record_key, math.max(rest, redis.call('PTTL', record_key)))
redis.call('ZADD', record_key, digits(ends), claim)
write_sharer(claim, token, state, permits, 0)
outlive(waiters_key, rest)
end`;
const sharing = `local kind
local used
local limit
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
local function clashes(wanted)
return kind and kind ~= 'unreadable' and (kind == 'permits') ~= (wanted == 'permits')
end
local function save()
redis.call('HSET', waiters_key, '', kind .. ' ' .. digits(limit) .. ' ' .. digits(used))
end
local function settle()
if redis.call('EXISTS', record_key) == 0 then
kind, used = nil, 0
redis.call('HDEL', waiters_key, '')
else
save()
end
end
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
kind = 'unreadable'
else
error('FOREIGN value on the key of a lock')
end
return nil
end
local function admit(to, length, state, place, stay, wanted, permits, top)
local token, refused = issue(1)
if not token then
error(refused)
end
if not kind then
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
local function rest_of(record)
if kind == 'exclusive' then
local _, _, expiry = read(record or redis.call('GET', record_key))
return expiry - now_ms
elseif kind == 'unreadable' then
return redis.call('PTTL', record_key)
end
local range = kind == 'permits' and 'ZRANGE' or 'ZREVRANGE'
return tonumber(redis.call(range, record_key, 0, 0, 'WITHSCORES')[2]) - now_ms
end`;
const serve = `local window = 3000
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
return nil
end
write_waiter(claim, alive_until, lease, reserve, 'deaf', demand)
if wanted ~= 'exclusive' then
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
end`;
const ask = `local function granted(token, length, top)
return 'granted ' .. digits(token) .. ' ' .. length .. ' ' .. digits(top) .. ' ' .. redis.call('ZCARD', queue_key)
end
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
leave_queue(claim)
expiry, state = math.max(expiry, now_ms + lease), 'full'
end
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
local _, heard = way_to(channel_of(claim))
local standing = heard and 'heard' or 'asked'
if not redis.call('ZRANK', queue_key, claim) then
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
end`;
export const scripts: Readonly<Record<'acquire' | 'adopt' | 'inspect' | 'release' | 'renew' | 'revoke' | 'share', { readonly source: string; readonly sha1: string }>> = {
  acquire: {
    source: `local channel_prefix = ARGV[2]
${clock}
${version}
if now > tonumber(ARGV[1]) then
return {now, 'late'}
end
${register}
local names, position = (#KEYS - 1) / 3, 0
local next_terms = string.gmatch(ARGV[5], '(%d+) (%d+) (%d+)')
local lease, reserve, patience, expiry
local next_token
local reply, rest = {now}, nil
local free = redis.call('EXISTS', unpack(KEYS, 2, 1 + 2 * names)) == 0
for claim in string.gmatch(ARGV[4], '%S+') do
position = position + 1
local new_lease, new_reserve, new_patience = next_terms()
if new_lease then
lease, reserve, patience = new_lease, new_reserve, new_patience
expiry = digits(now_ms + lease)
end
local granted
if free or redis.call('EXISTS', KEYS[1 + position], KEYS[1 + names + position]) == 0 then
next_token = next_token or issue(ARGV[3])
if next_token then
local record = claim .. ' ' .. digits(next_token) .. ' ' .. expiry .. ' full' .. version
local written = redis.pcall('SET', KEYS[1 + position], record, 'NX', 'PXAT', expiry)
granted = written and not written.err
end
end
if granted then
reply[1 + position] = next_token
next_token = next_token + 1 + reserve
else
rest = rest or {}
rest[#rest + 1] = {position, claim, tonumber(lease), tonumber(reserve), tonumber(patience), ''}
end
end
if not rest then
return reply
end
${layout}
${grant}
${record}
${sharer}
${sharing}
${serve}
${ask}
for _, asked in ipairs(rest) do
choose(asked[1])
reply[1 + asked[1]] = isolated(ask, unpack(asked, 2))
end
return reply`,
    sha1: 'b6843c8c5246ac8894d8bd8c048df08f0d8560a9',
  },
  adopt: {
    source: `${clock}
if now > tonumber(ARGV[1]) then
return {now, 'late'}
end
${version}
${register}
${layout}
${grant}
${record}
${sharer}
local function held_by(claim)
local ends = tonumber(redis.call('ZSCORE', record_key, claim) or nil)
if ends and ends >= now_ms then
local token, state, permits = read_sharer(claim)
return token, state, permits, ends
end
end
local function adopt_share(from, known_token, to, lease)
local ends = now_ms + lease
local token, state, permits, present = held_by(to)
if token == known_token then
ends = math.max(present, ends)
else
token, state, permits = held_by(from)
if token ~= known_token or state == 'kept' then
for _, claim in ipairs(redis.call('ZRANGE', record_key, 0, -1)) do
if held_by(claim) == known_token and claim ~= from then
return 'taken'
end
end
return 'gone'
end
end
prolong(to, ends, known_token, 'full', permits)
if token == known_token and from ~= to then
redis.call('ZREM', record_key, from)
redis.call('HDEL', waiters_key, '=' .. from, from)
end
return 'adopted ' .. (ends - now_ms)
end
local function adopt(from, known_token, to, lease)
local record = redis.pcall('GET', record_key)
if not record then
return 'gone'
elseif type(record) == 'table' then
return adopt_share(from, known_token, to, lease)
end
local holder, token, expiry, state = read(record)
token = tonumber(token)
local ends = now_ms + lease
if holder == to and token == known_token then
ends = math.max(expiry, ends)
elseif holder == from and state ~= 'kept' and token <= known_token then
if token < known_token and known_token > math.max(now, tonumber(redis.call('GET', KEYS[1]) or 0)) then
return 'gone'
end
elseif holder and holder ~= from and token == known_token then
return 'taken'
else
return 'gone'
end
write(to, known_token, ends, 'full')
leave_queue(from)
return 'adopted ' .. (ends - now_ms)
end
choose(1)
local outcome = isolated(adopt, ARGV[2], tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5]))
if string.sub(outcome, 1, 7) == 'failed ' then
return outcome
end
return {now, outcome}`,
    sha1: 'd853892c205c50fb323a5b7713e2e841569520f3',
  },
  inspect: {
    source: `${layout}
${clock}
${version}
${register}
${record}
${sharer}
${sharing}
local function sharers_of()
local what, top = string.match(redis.call('HGET', waiters_key, '') or '', '^(%l+) (%d+) ')
local found, holders = redis.call('ZRANGEBYSCORE', record_key, digits(now_ms), '+inf', 'WITHSCORES'), {}
for entry = 1, #found, 2 do
local claim, ends = found[entry], tonumber(found[entry + 1])
local token, state, permits = read_sharer(claim)
if what and token then
holders[#holders + 1] = {claim, digits(token), math.max(0, now - token), ends - now_ms, state, permits}
else
holders[#holders + 1] = {'', '0', 0, ends - now_ms, 'full', 1}
end
end
return holders, holders[1] and (what or 'shared') or '', tonumber(top or 0)
end
local function holders_of()
local record = redis.pcall('GET', record_key)
if not record then
return {}, '', 0
elseif type(record) == 'table' then
return sharers_of()
end
local claim, token, expiry, state = read(record)
if not claim then
return {{'', '0', 0, math.max(0, expiry - now_ms), 'full', 1}}, 'exclusive', 0
end
return {{claim, token, math.max(0, now - tonumber(token)), math.max(0, expiry - now_ms), state, 1}}, 'exclusive', 0
end
local function inspect(most)
local holders, what, top = holders_of()
local holding = {}
for _, holder in ipairs(holders) do
holding[holder[1]] = true
end
local waiters = {}
local reply = {what, top, holders, waiters}
if most == 0 then
return reply
end
local queue = redis.call('ZRANGE', queue_key, 0, most - 1 + #holders, 'WITHSCORES')
for entry = 1, #queue, 2 do
local claim, came = queue[entry], tonumber(queue[entry + 1])
local alive_until, _, _, _, demand = read_waiter(claim)
if alive_until and alive_until >= now_ms and not holding[claim] and #waiters < most then
local wanted, permits = parse(demand)
waiters[#waiters + 1] = {claim, math.max(0, now - came), wanted, permits}
end
end
return reply
end
choose(1)
return isolated(inspect, tonumber(ARGV[1]))`,
    sha1: '0aa600f40316e5c69dca52beb9cb6edfd06f3111',
  },
  release: {
    source: `local channel_prefix = ARGV[1]
local names, position = (#KEYS - 1) / 3, 0
local reply, freed, rest = {}, {}, nil
local next_keep = ARGV[3] and string.gmatch(ARGV[3], '%d+')
local records = redis.call('MGET', unpack(KEYS, 2, 1 + names))
local unwanted = redis.call('EXISTS', unpack(KEYS, 2 + names, 1 + 2 * names)) == 0
for claim in string.gmatch(ARGV[2], '%S+') do
position = position + 1
local record = records[position]
local keep = next_keep and tonumber(next_keep()) or 0
if
record
and keep == 0
and string.sub(record, 1, #claim + 1) == claim .. ' '
and (unwanted or redis.call('EXISTS', KEYS[1 + names + position]) == 0)
then
freed[#freed + 1] = KEYS[1 + position]
reply[position] = 'released'
else
rest = rest or {}
rest[#rest + 1] = {position, claim, keep}
end
end
if freed[1] then
redis.call('DEL', unpack(freed))
end
if not rest then
return 'released'
end
${clock}
${version}
${register}
${layout}
${grant}
${record}
${sharer}
${sharing}
${serve}
local function release(claim, keep)
local outcome
local record = look()
if record and string.sub(record, 1, #claim + 1) == claim .. ' ' then
leave_queue(claim)
if keep > 0 then
local _, token = read(record)
write(claim, token, now_ms + keep, 'kept')
return 'released'
end
redis.call('DEL', record_key)
kind = nil
outcome = 'released'
elseif (kind == 'shared' or kind == 'permits') and redis.call('ZSCORE', record_key, claim) then
redis.call('HDEL', waiters_key, claim)
if keep > 0 then
local token, _, permits = read_sharer(claim)
prolong(claim, now_ms + keep, token, 'kept', permits)
return 'released'
end
drop(claim)
settle()
outcome = 'released'
else
outcome = leave_queue(claim) and 'cancelled' or 'absent'
if record then
return outcome
end
end
if kind ~= 'unreadable' then
serve(nil)
end
return outcome
end
for _, left in ipairs(rest) do
choose(left[1])
reply[left[1]] = isolated(release, left[2], left[3])
end
return reply`,
    sha1: '5ec707279cb31a816a9be9bcb0ff5fc76706f263',
  },
  renew: {
    source: `${layout}
${clock}
${version}
${register}
${sharer}
local function renew_sharer(claim, known_token, lease, reserve)
local ends = redis.pcall('ZSCORE', record_key, claim)
ends = type(ends) == 'string' and tonumber(ends)
if not ends or ends < now_ms then
return 'lost'
end
local token, state, permits = read_sharer(claim)
if token ~= known_token or state == 'kept' then
return 'lost'
end
ends = math.max(ends, now_ms + lease)
if state == 'provisional' then
redis.call('HDEL', waiters_key, claim)
end
prolong(claim, ends, token, 'full', permits)
if reserve == 0 then
return (ends - now_ms) .. ' 0 0'
end
return (ends - now_ms) .. ' ' .. digits(raise_register(token + reserve)) .. ' ' .. redis.call('ZCARD', queue_key)
end
local own_record = '^(%S+) (%d+) (%d+) (%l+)' .. version .. '$'
local function renew(claim, known_token, lease, reserve)
local record = redis.pcall('GET', record_key)
if type(record) == 'table' then
return renew_sharer(claim, known_token, lease, reserve)
end
local text = type(record) == 'string' and record or ''
local holder, token, expiry, state = string.match(text, own_record)
token = tonumber(token)
if holder ~= claim or state == 'kept' or token > known_token or (token < known_token and known_token > math.max(now, tonumber(redis.call('GET', KEYS[1]) or 0))) then
return 'lost'
end
expiry = math.max(tonumber(expiry), now_ms + lease)
if state == 'provisional' then
redis.call('ZREM', queue_key, claim)
redis.call('HDEL', waiters_key, claim)
end
local until_ms = string.format('%d', expiry)
local written = redis.pcall('SET', record_key, claim .. ' ' .. digits(token) .. ' ' .. until_ms .. ' full' .. version, 'PXAT', until_ms)
if written.err then
redis.call('PEXPIRE', record_key, expiry - now_ms + 1)
return (expiry - now_ms) .. ' 0 0'
end
if reserve == 0 then
return (expiry - now_ms) .. ' 0 0'
end
return (expiry - now_ms) .. ' ' .. digits(raise_register(known_token + reserve)) .. ' ' .. redis.call('ZCARD', queue_key)
end
local reply = {now}
for claim, token, lease, reserve in string.gmatch(ARGV[1], '(%S+) (%d+) (%d+) (%d+)') do
choose(#reply)
reply[#reply + 1] = isolated(renew, claim, tonumber(token), tonumber(lease), tonumber(reserve))
end
return reply`,
    sha1: 'c31881c9a437ed95802591a8696962f5eccf6b49',
  },
  revoke: {
    source: `local channel_prefix = ARGV[1]
${clock}
${version}
${register}
${layout}
${grant}
${record}
${sharer}
${sharing}
${serve}
local function deprive(claim, token)
local record = look()
if record then
local holder, holds = read(record)
if holder ~= claim or holds ~= token then
return false
end
leave_queue(claim)
redis.call('DEL', record_key)
kind = nil
return true
end
if (kind ~= 'shared' and kind ~= 'permits') or read_sharer(claim) ~= tonumber(token) then
return false
end
redis.call('HDEL', waiters_key, claim)
drop(claim)
settle()
return true
end
local function revoke()
local dropped = {}
for named = 2, #ARGV, 2 do
if deprive(ARGV[named], ARGV[named + 1]) then
dropped[#dropped + 1] = ARGV[named]
end
end
if dropped[1] then
serve(nil)
end
for _, claim in ipairs(dropped) do
local channel = channel_of(claim)
local way = way_to(channel)
redis.call(way, channel, 'revoked ' .. claim .. ' ' .. record_key)
end
return dropped
end
choose(1)
return isolated(revoke)`,
    sha1: 'a3ae423f8ee8a9040baf2957adbd1041f6327d04',
  },
  share: {
    source: `local channel_prefix = ARGV[2]
${clock}
${version}
if now > tonumber(ARGV[1]) then
return {now, 'late'}
end
${register}
${layout}
${grant}
${record}
${sharer}
${sharing}
${serve}
${ask}
local next_terms = string.gmatch(ARGV[4], '(%d+) (%d+)( %l+ %d+ %d+)')
local position, reply = 0, {now}
local lease, patience, demand
for claim in string.gmatch(ARGV[3], '%S+') do
position = position + 1
local new_lease, new_patience, new_demand = next_terms()
if new_lease then
lease, patience, demand = tonumber(new_lease), tonumber(new_patience), new_demand
end
choose(position)
reply[1 + position] = isolated(ask, claim, lease, 0, patience, demand)
end
return reply`,
    sha1: 'bbd8a53b8685f74aef015318b360f8511c3ff0eb',
  },
};
