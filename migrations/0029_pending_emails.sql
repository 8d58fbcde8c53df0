-- A link that confirms an address instead of signing in: the account gets it once its owner has used the link.
ALTER TABLE sign_in_links ADD COLUMN email text;
