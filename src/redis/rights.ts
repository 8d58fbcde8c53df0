/** Which commands the user of Redis may run. */
import type { RedisClient } from './cluster.js'

/** What scripts of Easel and of BullMQ run beside GET, SET and DEL, with what such a command needs behind its key. */
const COMMANDS =
  'EXISTS|PTTL|PEXPIRE 1000|INCR|HSET f v|HMSET f v|HGET f|HMGET f|HGETALL|HEXISTS f|HINCRBY f 1|HDEL f|LPUSH v|LRANGE 0 0|LLEN|LREM 0 v|' +
  'LTRIM 0 0|SADD v|SREM v|SMEMBERS|SCARD|XADD * f v|XTRIM MAXLEN 1|ZADD 0 v|ZREM v|ZSCORE v|ZCARD|ZRANGE 0 0|ZRANGEBYSCORE 0 0|' +
  'ZREVRANGE 0 0|ZREVRANGEBYSCORE 0 0|ZREMRANGEBYSCORE 0 0|ZREMRANGEBYRANK 0 0|ZPOPMIN'

/**
 * Writes, as the lock and the queue do, and returns the first command that the user may not run. They all meet a text that is
 * no number: what is allowed is refused for that, and changes nothing.
 */
const WRITE = `
  for _, key in ipairs(KEYS) do redis.call('SET', key, 'text', 'PX', '1000') end
  local function forbids(...)
    local answer = redis.pcall(...)
    local says = type(answer) == 'table' and answer.err or ''
    return string.find(says, 'ermission') or string.find(says, "can't run") or string.find(says, 'nknown')
  end
  if forbids('TIME') then return 'TIME' end
  if forbids('RPOPLPUSH', KEYS[1], KEYS[1]) then return 'RPOPLPUSH' end
  for each in string.gmatch(ARGV[1], '[^|]+') do
    local words = {}
    for word in string.gmatch(each, '%S+') do words[#words + 1] = word end
    if forbids(words[1], KEYS[1], unpack(words, 2)) then return words[1] end
  end`

/**
 * The first command that the user may not run; undefined: there is none.
 * @throws the refusal of Redis where it is not of one command alone
 */
export async function forbiddenCommand(redis: RedisClient, keys: readonly string[]): Promise<string | undefined> {
  const forbidden = await redis.eval(WRITE, keys.length, ...keys, COMMANDS)
  if (typeof forbidden === 'string') return forbidden
  // No command of scripts. At a text it does not wait.
  await redis.bzpopmin(keys[0] as string, 0.001).catch((error: Error) => {
    if (!error.message.startsWith('WRONGTYPE')) throw error
  })
  return undefined
}
