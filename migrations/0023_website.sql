-- Signing in to the website. Nothing here can be used if it leaks: passwords and tokens are stored as hashes.

ALTER TABLE users
  ADD COLUMN email text,
  ADD COLUMN password_hash text,
  ADD COLUMN role text NOT NULL DEFAULT 'subscriber',
  ADD CONSTRAINT users_role_check CHECK (role IN ('subscriber', 'operator')) NOT VALID,
  ADD CONSTRAINT users_email_check CHECK (length(email) BETWEEN 3 AND 254) NOT VALID;
--> statement-breakpoint
ALTER TABLE users VALIDATE CONSTRAINT users_role_check, VALIDATE CONSTRAINT users_email_check;
--> statement-breakpoint
-- What a signed-in person generates has a key, too: one of the account's own, which nobody knows.
ALTER TABLE api_keys
  DROP CONSTRAINT api_keys_kind_check,
  ADD CONSTRAINT api_keys_kind_check CHECK (kind IN ('personal', 'developer', 'website')) NOT VALID;
--> statement-breakpoint
ALTER TABLE api_keys VALIDATE CONSTRAINT api_keys_kind_check;
--> statement-breakpoint
CREATE TABLE sessions (
  id          uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  token_hash  bytea NOT NULL CONSTRAINT sessions_token_hash_key UNIQUE,
  user_id     uuid NOT NULL REFERENCES users,
  user_agent  text,
  created_at  timestamptz NOT NULL DEFAULT now(),
  seen_at     timestamptz NOT NULL DEFAULT now(),
  expires_at  timestamptz NOT NULL
);
--> statement-breakpoint
CREATE INDEX sessions_user ON sessions (user_id);
--> statement-breakpoint
CREATE TABLE sign_in_links (
  token_hash  bytea PRIMARY KEY,
  user_id     uuid NOT NULL REFERENCES users,
  created_at  timestamptz NOT NULL DEFAULT now(),
  expires_at  timestamptz NOT NULL
);
--> statement-breakpoint
-- Accounts at an identity provider (OIDC).
CREATE TABLE identities (
  issuer      text NOT NULL,
  subject     text NOT NULL,
  user_id     uuid NOT NULL REFERENCES users,
  created_at  timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (issuer, subject)
);
--> statement-breakpoint
-- Mail that could not be sent, because no SMTP server is configured: the operator reads it here and passes it on.
CREATE TABLE unsent_mails (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  recipient   text NOT NULL,
  subject     text NOT NULL,
  body        text NOT NULL,
  created_at  timestamptz NOT NULL DEFAULT now()
);
