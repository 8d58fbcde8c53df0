-- Whether nothing has succeeded on a backend since an inference failed there. While others draw, they take what it has failed.
ALTER TABLE backends ADD COLUMN failing boolean NOT NULL DEFAULT false;
