import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { apiKeyHint, hashApiKey, isWellFormedApiKey, newApiKey } from '../../src/core/accounts/api-key.js'
import { GENERATION_ID, newGenerationId, newSlug } from '../../src/core/generations/generation.js'
import { SLUG } from '../../src/core/images/ports.js'
import { givenUser } from '../support/givens.js'
import { useService } from '../support/service.js'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const BASE32 = '0123456789abcdefghjkmnpqrstvwxyz'

/** Made by chance: the random part alone, without prefix and checksum. */
const RANDOM: [string, () => string, RegExp, string, number][] = [
  ['API keys', () => newApiKey('easel').slice(6, -6), /^[0-9A-Za-z]{32}$/, BASE62, 160],
  ['slugs of images', newSlug, SLUG, BASE62, 128],
  // The first character of the 26 carries 3 bits of the 128.
  ['IDs of generations', () => newGenerationId().slice(5), /^[0-9a-hjkmnp-tv-z]{25}$/, BASE32, 125],
]

describe.each(RANDOM)('%s', (_name, make, shape, alphabet, bits) => {
  const made = Array.from({ length: 20_000 }, make)

  it('have too many random bits to be guessed', () => {
    const length = made[0]?.length ?? 0
    expect(length * Math.log2(alphabet.length)).toBeGreaterThanOrEqual(bits)
    expect(made.filter((text) => !shape.test(text))).toEqual([])
    expect(new Set(made).size).toBe(made.length)
  })

  it('have every character equally often at every place', () => {
    const length = made[0]?.length ?? 0
    for (let place = 0; place < length; place++) {
      const counts = new Map([...alphabet].map((character) => [character, 0]))
      for (const text of made) counts.set(text.charAt(place), (counts.get(text.charAt(place)) ?? 0) + 1)
      expect(counts.size).toBe(alphabet.length)
      const expected = made.length / alphabet.length
      let chiSquare = 0
      for (const count of counts.values()) chiSquare += (count - expected) ** 2 / expected
      // Eight standard deviations above the mean; a byte taken modulo 62 lies beyond fifty.
      const freedom = alphabet.length - 1
      expect(chiSquare, `place ${place}`).toBeLessThan(freedom + 8 * Math.sqrt(2 * freedom))
    }
  })
})

describe('an ID of a generation', () => {
  it('has the shape that a poll asks for', () => {
    for (let n = 0; n < 1000; n++) expect(newGenerationId()).toMatch(GENERATION_ID)
  })
})

describe('an API key', () => {
  it('is known by its prefix and its checksum', () => {
    for (const prefix of ['easel', 'a', 'my-atelier-2']) {
      const key = newApiKey(prefix)
      expect(key).toMatch(new RegExp(`^${prefix}_[0-9A-Za-z]{38}$`))
      expect(isWellFormedApiKey(key, prefix)).toBe(true)
      expect(isWellFormedApiKey(key, 'other')).toBe(false)
      expect(apiKeyHint(key)).toBe(key.slice(-4))
    }
  })

  it('is no key any more with one character changed or two swapped', () => {
    const key = newApiKey('easel')
    for (let place = 6; place < key.length; place++) {
      for (const other of BASE62) {
        if (other === key[place]) continue
        expect(isWellFormedApiKey(key.slice(0, place) + other + key.slice(place + 1), 'easel')).toBe(false)
      }
      const swapped = key.slice(0, place) + (key[place + 1] ?? '') + key.charAt(place) + key.slice(place + 2)
      if (swapped !== key) expect(isWellFormedApiKey(swapped, 'easel')).toBe(false)
    }
  })

  it('has always the same hash, and another key has another one', () => {
    const [one, two] = [newApiKey('easel'), newApiKey('easel')]
    expect(hashApiKey(one)).toHaveLength(32)
    expect(hashApiKey(one).equals(hashApiKey(one))).toBe(true)
    expect(hashApiKey(one).equals(hashApiKey(two))).toBe(false)
    expect(hashApiKey(one).toString('latin1')).not.toContain(one.slice(6, 12))
  })

  it('is not met by any of a hundred thousand random texts of its shape', () => {
    const guesses = 100_000
    const random = [...randomBytes(guesses + 38)].map((byte) => BASE62[byte % 62]).join('')
    let met = 0
    for (let n = 0; n < guesses; n++) if (isWellFormedApiKey(`easel_${random.slice(n, n + 38)}`, 'easel')) met++
    // One in 2^32 has the right checksum.
    expect(met).toBeLessThanOrEqual(1)
  })
})

describe('a database that was stolen', () => {
  const context = useService()

  it('holds no key in any table, and no hash of it works as a key', async () => {
    const { db, url } = context.service
    const owner = await givenUser(db)
    const account = (key: string) => fetch(`${url}/api/v1/account`, { headers: { authorization: `Bearer ${key}` } })
    expect((await account(owner.key)).status).toBe(200)

    const { rows: tables } = await db.pool.query(
      `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
        WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
    )
    expect(tables.length).toBeGreaterThan(5)
    const random = owner.key.slice('easel_'.length, -6)
    for (const { name } of tables) {
      const { rows } = await db.pool.query(`SELECT 1 FROM ${name} t WHERE t::text LIKE '%' || $1 || '%'`, [random])
      expect(rows, name).toEqual([])
    }
    const { rows } = await db.pool.query('SELECT hash FROM api_keys WHERE id = $1', [owner.keyId])
    const hash: Buffer = rows[0].hash
    for (const stolen of [hash.toString('hex'), hash.toString('base64'), `easel_${hash.toString('hex').slice(0, 38)}`])
      expect((await account(stolen)).status).toBe(401)
  })
})
