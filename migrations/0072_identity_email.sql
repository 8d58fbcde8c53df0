-- The address that the identity provider named last: an account that has it gets the next one that the provider names.
ALTER TABLE identities ADD COLUMN email text;
