-- Who may generate, with which keys, and every credit that ever moved.

CREATE TABLE users (
  id          uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  username    text NOT NULL CHECK (username ~ '^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}$'),
  -- The balance; always the sum of the user's ledger rows, moved only in the statement that writes one.
  credits     bigint NOT NULL DEFAULT 0 CHECK (credits BETWEEN 0 AND 9007199254740991),
  created_at  timestamptz NOT NULL DEFAULT now(),
  deleted_at  timestamptz
);
--> statement-breakpoint
-- A deleted user's name is free again.
CREATE UNIQUE INDEX users_username ON users (lower(username)) WHERE deleted_at IS NULL;
--> statement-breakpoint
CREATE TABLE subscriptions (
  user_id   uuid PRIMARY KEY REFERENCES users,
  status    text NOT NULL,
  plan      text NOT NULL,
  end_date  timestamptz NOT NULL
);
--> statement-breakpoint
CREATE TABLE api_keys (
  id            uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  user_id       uuid NOT NULL REFERENCES users,
  kind          text NOT NULL CHECK (kind IN ('personal', 'developer')),
  name          text NOT NULL DEFAULT '',
  -- SHA-256 of the key; the key itself is shown once and stored nowhere.
  hash          bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
  -- The key's last characters, for display.
  hint          text NOT NULL,
  -- How many generations a developer key may have active at once.
  concurrency   integer NOT NULL DEFAULT 4 CHECK (concurrency > 0),
  created_at    timestamptz NOT NULL DEFAULT now(),
  last_used_at  timestamptz,
  revoked_at    timestamptz
);
--> statement-breakpoint
CREATE INDEX api_keys_user ON api_keys (user_id);
