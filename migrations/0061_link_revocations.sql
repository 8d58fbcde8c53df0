-- How often the owner of an image has taken back the links to it: a link is signed with the number that it was made under.
ALTER TABLE images ADD COLUMN link_revocations integer NOT NULL DEFAULT 0;
