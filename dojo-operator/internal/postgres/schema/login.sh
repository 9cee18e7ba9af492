# Makes all later sessions of the role that PGUSER names act as OWNER in this database, so that what they create is the owner's.
# Postgres lets a role set that for itself. SET ROLE NONE: a session of a role for which it is set already acts as the owner.
export PGCONNECT_TIMEOUT=10 PGAPPNAME=dojo-login
exec psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --set VERBOSITY=terse --set "owner=$OWNER" --file - <<'SQL'
SET ROLE NONE;
ALTER ROLE CURRENT_USER IN DATABASE :"DBNAME" SET role TO :"owner";
SQL
