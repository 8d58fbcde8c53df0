-- Everything an operator has done, on the website or the command line, and why.
CREATE TABLE operator_actions (
  id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at        timestamptz NOT NULL DEFAULT now(),
  actor     text NOT NULL,
  action    text NOT NULL,
  target    text NOT NULL DEFAULT '',
  reason    text NOT NULL DEFAULT ''
);
--> statement-breakpoint
CREATE TABLE refused_prompts (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at         timestamptz NOT NULL DEFAULT now(),
  user_id    uuid NOT NULL REFERENCES users,
  parameter  text NOT NULL,
  category   text NOT NULL,
  matched    text[] NOT NULL,
  prompt     text NOT NULL,
  wrong_at   timestamptz,
  wrong_by   text
);
--> statement-breakpoint
CREATE INDEX refused_prompts_user ON refused_prompts (user_id, id);
--> statement-breakpoint
-- What workers leave waiting: everything, one model file, or one backend.
CREATE TABLE pauses (
  scope      text NOT NULL CONSTRAINT pauses_scope_check CHECK (scope IN ('all', 'model', 'backend')),
  target     text NOT NULL DEFAULT '',
  reason     text NOT NULL,
  paused_at  timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (scope, target)
);
