-- Whether an operator's role came from a group of the identity provider: only such a role is taken from who leaves the group.
ALTER TABLE users ADD COLUMN role_from_group boolean NOT NULL DEFAULT false;
