/** Prefix of every key in Redis and of BullMQ's queue, unless REDIS_PREFIX or a test says otherwise. */
export const NAMESPACE = 'easel'

/** BullMQ's keys lie in one slot of a cluster. */
export const queuePrefix = (namespace: string) => `{${namespace}}`
