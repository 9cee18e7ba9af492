# Brings the schema of a Dojo's database up to date, as the owner of the database, which PGHOST and so on name. Exit code 3 is psql's
# for SQL that fails, which a retry does not change; 2 is that for a database that cannot be reached, 75 for a lock that was not free.
# Each session first waits for those before, which outlive their pods (the number is "dojo-sch" in ASCII), and gives up its statement
# where the pod goes; Postgres 13 does not know that setting.
export PGCONNECT_TIMEOUT=10 PGAPPNAME=dojo-schema
run() {
	code=0
	psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --set VERBOSITY=terse \
		--command "SELECT set_config(name, '5s', false) FROM pg_settings WHERE name = 'client_connection_check_interval'" \
		--command 'SELECT pg_advisory_lock(7237120151944127336)' --command "SET lock_timeout = '10s'" \
		"$@" >/dev/null 2>errors || code=$?
	if [ $code -eq 3 ] && grep -q 'lock timeout' errors; then code=75; fi # psql does not say otherwise which error it was
}

run --single-transaction --file - <<'SQL'
SET client_min_messages = warning;
CREATE TABLE IF NOT EXISTS weapons (id text PRIMARY KEY, name text NOT NULL);
REVOKE CONNECT ON DATABASE :"DBNAME" FROM PUBLIC;
SQL
cat errors >&2
[ $code -eq 0 ] || exit $code

for file in /sql/*.sql; do
	[ -e "$file" ] || continue
	run --file "$file"
	case $file in
	*.secret.sql) # what psql says may quote it
		[ $code -eq 0 ] || echo "$(basename "$file") fails; the output of psql is not shown, since the SQL is in a Secret" >&2
		;;
	*)
		cat errors >&2
		;;
	esac
	[ $code -eq 0 ] || exit $code
done
