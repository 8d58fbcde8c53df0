-- Of each account the period that plans granted last, of each kind: what was granted for it counts until its end, also when the
-- subscription was taken away, has ended or has changed meanwhile. What the release before granted is in its subscription.
CREATE TABLE granted_periods (
  user_id uuid NOT NULL REFERENCES users (id),
  kind text NOT NULL CONSTRAINT granted_periods_kind_check CHECK (kind IN ('month', 'year')),
  by_hand boolean NOT NULL,
  started_at timestamptz NOT NULL,
  period_start timestamptz NOT NULL,
  period_end timestamptz NOT NULL,
  credits bigint NOT NULL,
  credits_left bigint NOT NULL,
  PRIMARY KEY (user_id, kind, by_hand),
  CONSTRAINT granted_periods_credits_check CHECK (credits >= 0 AND credits_left >= 0)
);
