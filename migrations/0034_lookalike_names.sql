-- no-transaction
-- Whether somebody has a name that reads like a new one. The same as in src/account/username.ts.
CREATE INDEX CONCURRENTLY IF NOT EXISTS users_lookalike ON users
  (replace(replace(translate(lower(username), '012345789i._@+-', 'olzeastbgl'), 'rn', 'm'), 'vv', 'w'))
  WHERE deleted_at IS NULL;
