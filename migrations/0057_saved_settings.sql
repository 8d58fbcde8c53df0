-- Settings of the Create page that an account keeps under a name.
CREATE TABLE saved_settings (
  id          uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  user_id     uuid NOT NULL REFERENCES users,
  name        text NOT NULL CHECK (length(name) BETWEEN 1 AND 60),
  -- Words for the end of each prompt; may be empty.
  style       text NOT NULL,
  -- The body of a submit without its prompt and its seed.
  body        jsonb NOT NULL,
  created_at  timestamptz NOT NULL DEFAULT now()
);
--> statement-breakpoint
CREATE UNIQUE INDEX saved_settings_name ON saved_settings (user_id, lower(name));
