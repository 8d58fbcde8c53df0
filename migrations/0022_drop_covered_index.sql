-- generations_history begins with the user, too; every submit wrote into both.
DROP INDEX generations_user;
