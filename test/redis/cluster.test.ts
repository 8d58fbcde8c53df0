import type { Redis } from 'ioredis'
import { expect, it } from 'vitest'
import { keyNamer, keyPattern, perSlot, type RedisClient, slotPrefixes } from '../../src/redis/cluster.js'

const single = { isCluster: false } as Redis
const cluster = { isCluster: true } as RedisClient

it('a single Redis has the keys of all releases, and a cluster the same account in the same slot each time', () => {
  expect(keyNamer(single, 'easel')('lock:a')).toBe('easel:lock:a')
  expect(slotPrefixes(single, 'easel')).toEqual(['easel'])
  expect(keyPattern(single, 'easel', 'lock:')).toBe('easel:lock:*')
  const name = keyNamer(cluster, 'easel')
  expect(name('lock:a')).toMatch(/^\{easel:\d+\}:lock:a$/)
  expect(name('lock:a')).toBe(keyNamer(cluster, 'easel')('lock:a'))
  const tags = new Set(Array.from({ length: 500 }, (_, n) => name(`lock:${n}`).split(':lock')[0]))
  expect([...tags, '{easel}'].sort()).toEqual([...slotPrefixes(cluster, 'easel')].sort())
})

it('items are asked for slot by slot, and the answers come in the order of the items', async () => {
  const asked: string[][] = []
  const answers = await perSlot(
    ['{a}1', '{b}1', '{a}2', 'plain', '{b}2'],
    (item) => item,
    async (keys, items) => {
      asked.push([...keys])
      return items.map((item) => item.toUpperCase())
    },
  )
  expect(answers).toEqual(['{A}1', '{B}1', '{A}2', 'PLAIN', '{B}2'])
  expect(asked).toEqual([['{a}1', '{a}2'], ['{b}1', '{b}2'], ['plain']])
})

it('of keys that lie together all are asked for at once', async () => {
  const calls: number[] = []
  await perSlot(
    ['easel:1', 'easel:2', 'easel:3'],
    (key) => key,
    async (keys) => {
      calls.push(keys.length)
      return keys
    },
  )
  expect(calls).toEqual([3])
})
