-- What the operator sees of a backend: the model file it has loaded, if it is known, and why it was last down.
ALTER TABLE backends
  ADD COLUMN loaded text,
  ADD COLUMN error text,
  ADD COLUMN error_at timestamptz;
