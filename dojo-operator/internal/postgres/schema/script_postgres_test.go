// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"jutsu.com/operators/dojo-operator/internal/postgres/pooler"
)

// nobody is the user that runs Postgres if the tests run as root, because Postgres refuses root.
const nobody = 65534

type server struct {
	t      *testing.T
	bin    string // folder with the programs of Postgres
	folder string
}

func startPostgres(t *testing.T) *server {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if path, err := exec.LookPath("pg_isready"); err == nil && len(found) == 0 {
		found = append(found, path) // used if Postgres is not in Debian's folder
	}
	if len(found) == 0 {
		t.Skip("there is no Postgres on this machine (Debian: apt-get install postgresql)")
	}
	folder, err := os.MkdirTemp("", "pg-") //nolint:usetesting // the path of a socket must be short
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	must(t, os.Chmod(folder, 0o755))
	if os.Geteuid() == 0 {
		must(t, os.Chown(folder, nobody, nobody))
	}
	p := &server{t: t, bin: filepath.Dir(found[len(found)-1]), folder: folder}
	initdb := p.command("initdb", "-D", folder+"/data", "-U", "postgres", "-A", "trust", "--no-sync")
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	var said strings.Builder
	process := p.command("postgres", "-D", folder+"/data", "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off")
	process.Stdout, process.Stderr = &said, &said
	must(t, process.Start())
	t.Cleanup(func() {
		_ = process.Process.Signal(syscall.SIGQUIT)
		_ = process.Wait()
		if t.Failed() {
			t.Log(said.String())
		}
	})
	p.await()
	return p
}

func (p *server) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(p.bin, name), args...)
	c.Dir = p.folder
	c.Env = append(os.Environ(), "PGHOST="+p.folder, "PATH="+p.bin+":"+os.Getenv("PATH"), "HOME=/nonexistent")
	if os.Geteuid() == 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	return c
}

func (p *server) await() {
	p.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var says []byte
	var err error
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-tick.C {
		if says, err = p.command("pg_isready", "-U", "postgres").CombinedOutput(); err == nil {
			return
		}
	}
	p.t.Fatalf("Postgres does not come up: %v: %s", err, says)
}

func (p *server) as(user, statement string) string {
	p.t.Helper()
	database := map[bool]string{true: "postgres", false: "app"}[user == "postgres"]
	out, _ := p.command("psql", "-XAtq", "-U", user, "-d", database, "-c", statement).CombinedOutput()
	return strings.TrimSpace(string(out))
}

func (p *server) script(files map[string]string) (int, string) {
	p.t.Helper()
	return p.scriptAs("owner", script, files)
}

func (p *server) scriptAs(user, script string, files map[string]string) (int, string) {
	p.t.Helper()
	folder, err := os.MkdirTemp(p.folder, "script-")
	must(p.t, err)
	must(p.t, os.Chmod(folder, 0o777))
	sql := filepath.Join(folder, "sql")
	must(p.t, os.Mkdir(sql, 0o755))
	for name, text := range files {
		must(p.t, os.WriteFile(filepath.Join(sql, name), []byte(text), 0o644))
	}
	c := p.command("psql")
	text := strings.ReplaceAll(strings.ReplaceAll(script, "/sql/*", sql+"/*"), "'10s'", "'1s'")
	c.Path, c.Args, c.Dir = "/bin/sh", []string{"sh", "-c", text}, folder
	c.Env = append(c.Env, "PGUSER="+user, "PGDATABASE=app", "OWNER=owner")
	out, _ := c.CombinedOutput()
	return c.ProcessState.ExitCode(), string(out)
}

func TestSchemaScriptOnPostgres(t *testing.T) {
	t.Parallel()
	p := startPostgres(t)
	for _, statement := range []string{
		"CREATE ROLE owner LOGIN", "CREATE ROLE other LOGIN", "CREATE DATABASE app OWNER owner",
	} {
		if says := p.as("postgres", statement); says != "" {
			t.Fatal(says)
		}
	}
	cases := []struct {
		name  string
		files map[string]string
		code  int
		says  string
	}{
		{"the first time", nil, 0, ""},
		{"the second time", nil, 0, ""},
		{"SQL that cannot run in a transaction", map[string]string{
			"00-a.sql": "CREATE INDEX CONCURRENTLY IF NOT EXISTS i ON weapons (name);",
		}, 0, ""},
		{"SQL that fails", map[string]string{"00-a.sql": "\nINSERT INTO nothing VALUES (1);"}, sqlFailed,
			`00-a.sql:2: ERROR:  relation "nothing" does not exist`},
		{"SQL of a Secret that fails", map[string]string{"00-a.secret.sql": "CREATE ROLE r PASSWORD 'hollow"}, sqlFailed,
			"is not shown"},
	}
	for _, c := range cases {
		code, says := p.script(c.files)
		if code != c.code || !strings.Contains(says, c.says) || strings.Contains(says, "hollow") {
			t.Errorf("%s: exit code %d, says %q", c.name, code, says)
		}
	}
	const insert = "INSERT INTO weapons VALUES ('1', 'Inverted Spear') RETURNING name"
	if got := p.as("owner", insert); got != "Inverted Spear" {
		t.Errorf("the owner cannot write: %s", got)
	}
	if got := p.as("owner", "INSERT INTO weapons VALUES ('2', NULL)"); !strings.Contains(got, "not-null") {
		t.Errorf("Postgres accepts a weapon without a name: %s", got)
	}
	if got := p.as("other", "SELECT 1"); !strings.Contains(got, "does not have CONNECT privilege") {
		t.Errorf("another role can connect: %s", got)
	}
	if code, says := (&server{t: t, bin: p.bin, folder: p.folder + "/data"}).script(nil); code != 2 {
		t.Errorf("a database that cannot be reached: exit code %d, %s", code, says)
	}
}

// Two sessions that create the same table at the same time can collide ("duplicate key value
// violates unique constraint pg_type_typname_nsp_index"), so only one script runs at a time. A
// script that waits too long for a lock ends with an exit code for which the Job retries.
func TestOneSchemaScriptRunsAtATime(t *testing.T) {
	t.Parallel()
	p := startPostgres(t)
	p.as("postgres", "CREATE ROLE owner LOGIN")
	for round := range 4 {
		p.as("postgres", "DROP DATABASE IF EXISTS app")
		p.as("postgres", "CREATE DATABASE app OWNER owner")
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if code, says := p.script(map[string]string{"00-a.sql": "CREATE TABLE IF NOT EXISTS a (b int);"}); code != 0 {
					t.Errorf("round %d: exit code %d, says %q", round, code, says)
				}
			})
		}
		all.Wait()
	}
	busy := p.command("psql", "-U", "owner", "-d", "app", "-c", "BEGIN", "-c", "LOCK a", "-c", `\! echo locked; sleep 60`)
	out, err := busy.StdoutPipe()
	must(t, err)
	must(t, busy.Start())
	t.Cleanup(func() { _ = busy.Process.Kill(); _ = busy.Wait() })
	for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != "locked"; {
		continue
	}
	code, says := p.script(map[string]string{"00-a.sql": "ALTER TABLE a ADD COLUMN c int;"})
	if code != 75 || !strings.Contains(says, "00-a.sql:1: ERROR:  canceling statement due to lock timeout") {
		t.Errorf("exit code %d, says %q", code, says)
	}
}

func TestVerifyScriptOnPostgres(t *testing.T) {
	t.Parallel()
	p := startPostgres(t)
	for _, statement := range []string{"CREATE ROLE owner LOGIN", "CREATE DATABASE app OWNER owner"} {
		if says := p.as("postgres", statement); says != "" {
			t.Fatal(says)
		}
	}
	version := p.as("postgres", "SELECT current_setting('server_version_num')::int / 10000")
	verify := func(major string) (int, string) {
		return p.scriptAs("owner", strings.ReplaceAll(verifyScript, "$MAJOR", major), nil)
	}
	if code, says := verify(version); code != 0 || says != "" {
		t.Errorf("before the first schema Job: exit code %d, says %q", code, says)
	}
	if code, says := p.script(nil); code != 0 {
		t.Fatal(code, says)
	}
	p.as("owner", "INSERT INTO weapons VALUES ('1', 'Inverted Spear')")
	if code, says := verify(version); code != 0 || says != "" {
		t.Errorf("the version %s: exit code %d, says %q", version, code, says)
	}
	statistics := func() string { return p.as("owner", "SELECT reltuples FROM pg_class WHERE relname = 'weapons'") }
	if got := statistics(); got != "-1" {
		t.Errorf("the verification has gathered the statistics of %s rows", got)
	}
	if code, says := p.scriptAs("owner", statisticsScript, nil); code != 0 || says != "" || statistics() != "1" {
		t.Errorf("exit code %d, says %q, there are statistics of %s rows", code, says, statistics())
	}
	if code, says := verify("99"); code != sqlFailed || !strings.Contains(says, "Postgres is of version "+version) {
		t.Errorf("another version: exit code %d, says %q", code, says)
	}
}

func testReset(p *server) {
	p.t.Helper()
	for _, before := range []string{"SELECT", "SET ROLE NONE", "SET SESSION AUTHORIZATION second"} {
		out, err := p.command("psql", "-XAtq", "-U", "second", "-d", "app", "-c", before, "-c", "SET search_path = x",
			"-c", "CREATE TEMP TABLE t (a int)", "-c", "PREPARE s AS SELECT 1", "-c", "DECLARE c CURSOR WITH HOLD FOR SELECT 1",
			"-c", "LISTEN l", "-c", "DO 'BEGIN PERFORM pg_advisory_lock(1); END'",
			"-c", pooler.ResetQuery, "-c", "SELECT session_user, current_user", "-c", "SHOW search_path",
			"-c", "SELECT (SELECT count(*) FROM pg_prepared_statements) + (SELECT count(*) FROM pg_cursors)"+
				" + (SELECT count(*) FROM pg_listening_channels())"+
				" + (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid())"+
				" + (SELECT count(*) FROM pg_class WHERE relname = 't')").CombinedOutput()
		says := strings.TrimSpace(string(out))
		if wants := "second|owner\n\"$user\", public\n0"; err != nil || !strings.HasSuffix(says, wants) {
			p.t.Errorf("after %s, the session says %q: %v", before, says, err)
		}
	}
}

// login.sh makes the second login act as the owner. A role that is no member of the owner cannot
// use login.sh for this.
func TestLoginScriptOnPostgres(t *testing.T) {
	t.Parallel()
	p := startPostgres(t)
	for _, statement := range []string{
		"CREATE ROLE owner NOLOGIN", "CREATE ROLE second LOGIN IN ROLE owner", "CREATE ROLE other LOGIN",
		"CREATE DATABASE app OWNER owner",
	} {
		if says := p.as("postgres", statement); says != "" {
			t.Fatal(says)
		}
	}
	for _, when := range []string{"the first time", "the second time"} {
		if code, says := p.scriptAs("second", loginScript, nil); code != 0 || says != "" {
			t.Errorf("%s: exit code %d, says %q", when, code, says)
		}
	}
	if got := p.as("second", "SELECT session_user, current_user"); got != "second|owner" {
		t.Errorf("a session of the second login is %s", got)
	}
	if code, says := p.scriptAs("second", script, map[string]string{"00-a.sql": "CREATE TABLE a (b int);"}); code != 0 {
		t.Errorf("the schema: exit code %d, says %q", code, says)
	}
	testReset(p)
	const owners = "SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'public'"
	if got := p.as("second", owners); got != "owner" {
		t.Errorf("the owners of the tables are %s", got)
	}
	if got := p.as("other", "SELECT 1"); !strings.Contains(got, "does not have CONNECT privilege") {
		t.Errorf("another role can connect: %s", got)
	}
	p.as("postgres", "GRANT CONNECT ON DATABASE app TO other")
	if code, says := p.scriptAs("other", loginScript, nil); code != 0 {
		t.Errorf("another role: exit code %d, says %q", code, says)
	}
	if got := p.as("other", "SELECT current_user"); strings.Contains(got, "owner") && !strings.Contains(got, "permission denied") {
		t.Errorf("another role acts as the owner: %s", got)
	}
	for _, statement := range []string{"DROP DATABASE app", "DROP ROLE second", "DROP ROLE owner"} {
		if says := p.as("postgres", statement); says != "" {
			t.Errorf("%s: %s", statement, says)
		}
	}
}
