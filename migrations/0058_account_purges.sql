-- Accounts that their owners have deleted, while what is theirs is still to be wiped. Servers of the release before leave
-- them alone: one of this release goes on.
CREATE TABLE account_purges (
  user_id   uuid PRIMARY KEY REFERENCES users,
  attempts  integer NOT NULL DEFAULT 0,
  due_at    timestamptz NOT NULL DEFAULT now()
);
