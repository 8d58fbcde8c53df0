import type { ApiKeyKind, Role, Subscription } from '../accounts/account.js'
import type { CancelAllPorts, DeleteAccountPorts } from '../accounts/delete-account.js'

/** An account in the operator's list. */
export interface ListedAccount {
  readonly id: string
  readonly username: string
  readonly email: string | null
  readonly role: Role
  readonly credits: number
  readonly createdAt: Date
  readonly deletedAt: Date | null
  /** Null without a subscription. */
  readonly plan: string | null
  readonly status: string | null
  readonly activeGenerationId: string | null
  /** On the website or through a key; null: never. */
  readonly lastSeenAt: Date | null
}

export interface AdministeredAccount
  extends Omit<ListedAccount, 'plan' | 'status' | 'activeGenerationId' | 'lastSeenAt'> {
  readonly subscription: Subscription | null
  /** Whether the role came from a group of the identity provider. */
  readonly roleFromGroup: boolean
}

export interface AdministeredKey {
  readonly id: string
  readonly kind: ApiKeyKind
  readonly name: string
  readonly hint: string
  readonly createdAt: Date
  readonly lastUsedAt: Date | null
  readonly revokedAt: Date | null
}

export interface ActiveGeneration {
  readonly id: string
  readonly status: string
  readonly modelName: string
  readonly batchSize: number
  readonly cost: number
  readonly createdAt: Date
}

type SubscriptionChange = { readonly [Field in keyof Subscription]: Subscription[Field] | undefined }

export type AdjustOutcome =
  | { readonly outcome: 'adjusted'; readonly delta: number; readonly balance: number }
  | { readonly outcome: 'nothing_to_take'; readonly balance: number }
  /** The reference is that of an entry of this account. */
  | { readonly outcome: 'adjusted_before' }
  | { readonly outcome: 'too_many' }
  | { readonly outcome: 'user_deleted' }

/** What operators see and change of any account. */
export interface Administration {
  readonly accounts: DeleteAccountPorts['accounts'] & {
    /** By name. `text`: a part of the name or address, or the last four characters of a key. */
    search(
      filter: { readonly text: string; readonly deleted: boolean },
      page: { readonly limit: number; readonly after: string | undefined },
    ): Promise<{ readonly items: readonly ListedAccount[]; readonly next: string | undefined }>
    /** By name, ignoring case: the account that has it now, else the one deleted last. `id`: exactly this one. */
    find(username: string, id?: string): Promise<AdministeredAccount | undefined>
    setRole(id: string, role: Role): Promise<void>
    /** Gives the role of operators, or takes it if it was given so. Resolves to the name of an account that changed. */
    setRoleFromGroup(id: string, isInGroup: boolean): Promise<string | undefined>
    /** False: another account has this address. */
    setEmail(id: string, email: string | null): Promise<boolean>
  }
  readonly subscriptions: {
    set(accountId: string, change: SubscriptionChange, defaultEnd: Date): Promise<Subscription | undefined>
    remove(accountId: string): Promise<void>
  }
  readonly credits: {
    grant(
      accountId: string,
      amount: number,
      reason: { readonly note: string | undefined; readonly ref: string | undefined },
    ): Promise<{ readonly outcome: 'granted' | 'granted_before' | 'too_many' | 'user_deleted' | 'ref_taken' }>
    /** Down to 0, or below it with `belowZero`. */
    adjust(
      accountId: string,
      amount: number,
      how: { readonly note: string; readonly belowZero: boolean; readonly ref?: string },
    ): Promise<AdjustOutcome>
  }
  readonly keys: {
    list(accountId: string): Promise<readonly AdministeredKey[]>
    revoke(id: string): Promise<Date | undefined>
  }
  readonly generations: CancelAllPorts['generations'] & {
    /** The newest of those that have not ended. */
    listActive(accountId: string, limit: number): Promise<readonly ActiveGeneration[]>
  }
  readonly endpoints: DeleteAccountPorts['endpoints']
}

/** More credits at once than this are likely a slip: whoever gives them confirms it. */
export const LARGE_GRANT = 1_000_000

const DAY_MS = 86_400_000

/** The last moment of a day in UTC, to the millisecond. @param day its first moment */
export const endOfDay = (day: Date): Date => new Date(day.getTime() + DAY_MS - 1)

/** A new subscription's end unless one is given. */
export function inOneYear(): Date {
  const date = new Date()
  date.setUTCFullYear(date.getUTCFullYear() + 1)
  return date
}
