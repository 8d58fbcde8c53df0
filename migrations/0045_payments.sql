-- Payment: customers of the provider, what it told, what it is to be asked, and what was paid.
CREATE TABLE payment_customers (
  id text PRIMARY KEY,
  -- Null: nobody's account that is known.
  user_id uuid REFERENCES users (id),
  -- As long as the account is not known.
  email text,
  created_at timestamptz NOT NULL DEFAULT now()
);
--> statement-breakpoint
CREATE INDEX payment_customers_user ON payment_customers (user_id);
--> statement-breakpoint
CREATE INDEX payment_customers_email ON payment_customers (lower(email)) WHERE user_id IS NULL;
--> statement-breakpoint
-- What the provider told of its own accord. Nothing of it is believed; it only says what to ask for.
CREATE TABLE payment_events (
  id text PRIMARY KEY,
  seq bigint GENERATED ALWAYS AS IDENTITY,
  type text NOT NULL,
  created_at timestamptz NOT NULL,
  received_at timestamptz NOT NULL DEFAULT now(),
  -- What to ask for; null: nothing that is used.
  kind text,
  object_id text,
  customer text,
  body jsonb NOT NULL,
  -- When what it is about had been asked for and applied.
  worked_off_at timestamptz
);
--> statement-breakpoint
CREATE INDEX payment_events_open ON payment_events (kind, object_id, seq) WHERE kind IS NOT NULL AND worked_off_at IS NULL;
--> statement-breakpoint
CREATE INDEX payment_events_received ON payment_events (received_at);
--> statement-breakpoint
-- What the provider is to be asked or told, and how that went.
CREATE TABLE payment_objects (
  -- subscription and payment: asked for. cancellation: all subscriptions of the customer of this ID are to end.
  kind text NOT NULL,
  id text NOT NULL,
  customer text,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- When it is asked for next; null: not unless an event comes.
  due_at timestamptz DEFAULT now(),
  -- Until then it is being asked for, or waits after a failure.
  not_before timestamptz NOT NULL DEFAULT '-infinity',
  -- Raised each time that it is asked for: an answer is dropped unless it is still the same.
  version bigint NOT NULL DEFAULT 0,
  asked_at timestamptz,
  failures integer NOT NULL DEFAULT 0,
  -- Of the last failure, in the provider's words.
  failure text,
  failing_since timestamptz,
  -- Why what was answered could not be applied; null: it was.
  problem text,
  -- When an operator said that nothing more is to be done about the problem.
  dismissed_at timestamptz,
  PRIMARY KEY (kind, id),
  CONSTRAINT payment_objects_kind_check CHECK (kind IN ('subscription', 'payment', 'cancellation'))
);
--> statement-breakpoint
CREATE INDEX payment_objects_due ON payment_objects (greatest(due_at, not_before)) WHERE due_at IS NOT NULL;
--> statement-breakpoint
CREATE INDEX payment_objects_unmatched ON payment_objects (created_at)
  WHERE (problem IS NOT NULL OR failures > 0) AND dismissed_at IS NULL;
--> statement-breakpoint
CREATE INDEX payment_objects_customer ON payment_objects (customer);
--> statement-breakpoint
-- As the provider last answered.
CREATE TABLE paid_subscriptions (
  id text PRIMARY KEY,
  customer text NOT NULL REFERENCES payment_customers (id),
  price text NOT NULL,
  -- As last matched to its price; null: never.
  plan text,
  status text NOT NULL,
  started_at timestamptz NOT NULL,
  paid_until timestamptz NOT NULL,
  ends_at timestamptz
);
--> statement-breakpoint
CREATE INDEX paid_subscriptions_customer ON paid_subscriptions (customer);
--> statement-breakpoint
CREATE INDEX paid_subscriptions_price ON paid_subscriptions (price);
--> statement-breakpoint
CREATE TABLE payments (
  id text PRIMARY KEY,
  customer text,
  -- Who got something for it; null: nobody yet.
  user_id uuid REFERENCES users (id),
  -- In the smallest unit of the currency; `returned` of it went back.
  amount bigint NOT NULL,
  currency text NOT NULL,
  returned bigint NOT NULL,
  paid_at timestamptz,
  -- Paid for: a credit pack, or a period of a subscription; neither: nothing that was asked for here.
  pack text,
  subscription text,
  period_start timestamptz,
  -- Credits that it brought, and how many of them were taken back.
  credits bigint NOT NULL DEFAULT 0,
  taken_back bigint NOT NULL DEFAULT 0,
  -- How often credits were taken back or given again: numbers the entries of the ledger.
  moves integer NOT NULL DEFAULT 0,
  CONSTRAINT payments_check CHECK (taken_back BETWEEN 0 AND credits)
);
--> statement-breakpoint
CREATE INDEX payments_user ON payments (user_id);
--> statement-breakpoint
-- Until when it is paid at a provider; null: it is paid to none.
ALTER TABLE subscriptions ADD COLUMN paid_until timestamptz;
