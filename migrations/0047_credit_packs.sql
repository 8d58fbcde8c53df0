-- Credits that are sold once, at a price of the payment provider.
CREATE TABLE credit_packs (
  name text PRIMARY KEY,
  credits bigint NOT NULL,
  price text NOT NULL,
  retired_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT credit_packs_name_check CHECK (length(name) BETWEEN 1 AND 100),
  CONSTRAINT credit_packs_credits_check CHECK (credits > 0)
);
