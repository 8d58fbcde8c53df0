/** Column types that Drizzle lacks, or that all tables write alike. */
import { bigint, customType, date, timestamp } from 'drizzle-orm/pg-core'

export const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' })

export const int8 = (name: string) => bigint(name, { mode: 'number' })

export const time = (name: string) => timestamp(name, { withTimezone: true, mode: 'date' })

/** Null: the row is in its live table. Otherwise the first day of the month whose table it is in. */
export const month = () => date('month')
