# Brings the schema of a Dojo's database up to date, as the owner of the database, which PGHOST and so on name. Exit code 3 is psql's
# for SQL that fails, which a retry does not change; 2 is that for a database that cannot be reached.
export PGCONNECT_TIMEOUT=10 PGAPPNAME=dojo-schema
run() { psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --set VERBOSITY=terse "$@" >/dev/null; }

run --single-transaction --file - <<'SQL' || exit
SET client_min_messages = warning;
CREATE TABLE IF NOT EXISTS weapons (id text PRIMARY KEY, name text NOT NULL);
REVOKE CONNECT ON DATABASE :"DBNAME" FROM PUBLIC;
SQL

for file in /sql/*.sql; do
	[ -e "$file" ] || continue
	case $file in
	*.secret.sql) # what psql says may quote it
		run --file "$file" 2>/dev/null || { code=$?; echo "$(basename "$file") fails; the output of psql is not shown, since the SQL is in a Secret" >&2; exit $code; }
		;;
	*)
		run --file "$file" || exit
		;;
	esac
done
