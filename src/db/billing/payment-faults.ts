import { createHash } from 'node:crypto'
import type { PaymentFaults } from '../../core/billing/ports.js'
import type { Database } from '../client.js'
import { paymentFaults as f } from '../schema/billing.js'
import { param, statement } from '../statement.js'
import { KEPT } from './payment-events.js'

const SENTENCE_LENGTH = 1000
const PER_PAGE = 1000

const NOTE = statement('note_payment_fault')`
  INSERT INTO ${f} (key, sentence) VALUES (${param('key')}::text, ${param('sentence')}::text)
  ON CONFLICT (key) DO UPDATE
    SET sentence = excluded.sentence, times = payment_faults.times + 1, last_at = now()`

/** Deletes a page of faults that were not met for long. */
export const CLEAN_FAULTS = statement('forget_payment_faults')`
  DELETE FROM ${f} WHERE ${f.key} = ANY (ARRAY(
    SELECT ${f.key} FROM ${f} WHERE ${f.lastAt} < now() - ${KEPT} LIMIT ${PER_PAGE}))`

/** What it quotes may be long: an address in it is looked for in a beginning that is longer than what is kept. */
export const paymentFaultStore = ({ pool }: Database): PaymentFaults => ({
  note: ({ key, sentence }) =>
    NOTE.run(pool, {
      key: createHash('sha256').update(key).digest('hex'),
      sentence: sentence
        .slice(0, 2 * SENTENCE_LENGTH)
        .replaceAll(/[^\s"'<>]+@[^\s"'<>]+/g, '(an address)')
        .slice(0, SENTENCE_LENGTH),
    }),
})
