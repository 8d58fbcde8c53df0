-- How many days prompts and images are kept: 0 for ever, null as the installation says. Servers of the release before keep all.
ALTER TABLE plans ADD COLUMN retain_prompts_days integer CHECK (retain_prompts_days >= 0);
ALTER TABLE plans ADD COLUMN retain_images_days integer CHECK (retain_images_days >= 0);

-- Up to which of its generations an account's prompts and images are gone, in the order of `generations_history`. So nothing
-- that is kept for longer, or is gone, is read again, and the table of generations needs no index more.
CREATE TABLE retention (
  user_id      uuid PRIMARY KEY REFERENCES users,
  prompts_at   timestamptz NOT NULL DEFAULT '-infinity',
  prompts_seq  bigint NOT NULL DEFAULT 0,
  images_at    timestamptz NOT NULL DEFAULT '-infinity',
  images_seq   bigint NOT NULL DEFAULT 0
);
