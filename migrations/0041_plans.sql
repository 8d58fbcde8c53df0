-- Plans: what a subscription grants in each of its periods, and what it may use.
CREATE TABLE plans (
  name text PRIMARY KEY,
  credits bigint NOT NULL,
  period text NOT NULL,
  -- Of what a period left, the credits that stay at its end; null: all of them, and they never expire.
  carry_over bigint,
  -- Granted once to an account, with its first plan.
  sign_up_credits bigint NOT NULL DEFAULT 0,
  -- IDs of model versions; null: all of them.
  models bigint[],
  -- Requests in a window of the rate limit; null: the service's own limit.
  rate_limit integer,
  for_sale boolean NOT NULL DEFAULT false,
  retired_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT plans_name_check CHECK (length(name) BETWEEN 1 AND 100),
  CONSTRAINT plans_credits_check CHECK (credits >= 0 AND sign_up_credits >= 0 AND carry_over >= 0),
  CONSTRAINT plans_period_check CHECK (period IN ('month', 'year')),
  CONSTRAINT plans_rate_limit_check CHECK (rate_limit > 0)
);
--> statement-breakpoint
-- The period that runs, and when the reconciler looks at the subscription next; null: not at all, as here before any plan.
ALTER TABLE subscriptions
  ADD COLUMN started_at timestamptz NOT NULL DEFAULT now(),
  ADD COLUMN period_start timestamptz,
  ADD COLUMN period_end timestamptz,
  ADD COLUMN period_plan text,
  ADD COLUMN period_credits bigint,
  ADD COLUMN check_at timestamptz;
--> statement-breakpoint
ALTER TABLE subscriptions ALTER COLUMN check_at SET DEFAULT now();
--> statement-breakpoint
-- Of the credits, those that expire at the end of a period. They are spent first.
-- wider: an account may hold less than nothing, when credits are taken back that it has spent
ALTER TABLE users
  ADD COLUMN expiring_credits bigint NOT NULL DEFAULT 0,
  DROP CONSTRAINT users_credits_check,
  ADD CONSTRAINT users_credits_check CHECK (credits BETWEEN -9007199254740991 AND 9007199254740991) NOT VALID;
--> statement-breakpoint
-- wider: more kinds of entries, of which only charges and refunds belong to a generation. The guard against balances below 0
-- was on users: only a correction may lead there.
ALTER TABLE credit_ledger
  ADD COLUMN expiring_delta bigint NOT NULL DEFAULT 0,
  ADD COLUMN expiring_balance bigint DEFAULT 0,
  DROP CONSTRAINT credit_ledger_kind_check,
  ADD CONSTRAINT credit_ledger_kind_check
    CHECK (kind IN ('grant', 'charge', 'refund', 'adjustment', 'expire', 'purchase')) NOT VALID,
  DROP CONSTRAINT credit_ledger_check,
  ADD CONSTRAINT credit_ledger_check CHECK (
    (kind IN ('charge', 'refund')) = (generation_id IS NOT NULL) AND (balance >= 0 OR delta >= 0 OR kind = 'adjustment')
  ) NOT VALID;
--> statement-breakpoint
-- Null: written by a release that knows of no credits that expire, and left them as they were.
ALTER TABLE credit_ledger ALTER COLUMN expiring_balance SET DEFAULT NULL;
