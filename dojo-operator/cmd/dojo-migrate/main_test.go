// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"jutsu.com/operators/dojo-operator/internal/release/migrations"
)

// nobody is the ID of the user that runs Postgres if the tests run as root: Postgres refuses root.
const nobody = 65534

func TestExitCode(t *testing.T) {
	t.Parallel()
	for want, errs := range map[int][]error{
		failed: {errors.New("x"), &pgconn.PgError{Code: "42P01"}, fmt.Errorf("up: %w", &pgconn.PgError{Code: "23505"})},
		interrupted: {errUnreachable, &pgconn.PgError{Code: "57P01"}, &pgconn.PgError{Code: "53300"}, &pgconn.PgError{Code: "25006"}, fmt.Errorf("up: %w", &pgconn.PgError{Code: "08006"}),
			fmt.Errorf("up: %w", io.ErrUnexpectedEOF), fmt.Errorf("up: %w", driver.ErrBadConn), sql.ErrConnDone,
			fmt.Errorf("up: %w", pgconn.ErrConnClosed), &net.OpError{Op: "read", Err: syscall.ECONNRESET}},
	} {
		for _, err := range errs {
			if got := exitCode(err); got != want {
				t.Errorf("%v: %d, want %d", err, got, want)
			}
		}
	}
}

func TestAddress(t *testing.T) {
	t.Parallel()
	env := map[string]string{"DB_USER": "a@b", "DB_PASS": "p/w?", "DB_ENDPOINT": "fd00::1", "DB_PORT": "5432", "DB_NAME": "a b"}
	config, err := pgconn.ParseConfig(address(func(key string) string { return env[key] }))
	if err != nil {
		t.Fatal(err)
	}
	if config.User != "a@b" || config.Password != "p/w?" || config.Host != "fd00::1" || config.Port != 5432 || config.Database != "a b" {
		t.Errorf("%+v", config)
	}
}

func startPostgres(t *testing.T) (port string) {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		t.Skip("there is no Postgres on this machine (Debian: apt-get install postgresql)")
	}
	bin := filepath.Dir(found[len(found)-1])
	folder, err := os.MkdirTemp("", "pg-") //nolint:usetesting // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if os.Geteuid() == 0 {
		err = errors.Join(os.Chmod(folder, 0o755), os.Chown(folder, nobody, nobody))
	}
	command := func(name string, args ...string) *exec.Cmd {
		c := exec.Command(filepath.Join(bin, name), args...)
		c.Dir = folder
		if os.Geteuid() == 0 {
			c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		}
		return c
	}
	out, failed := command("initdb", "-D", folder+"/data", "-U", "app", "-A", "trust", "--no-sync").CombinedOutput()
	if err = errors.Join(err, failed); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	port = freePort(t)
	var said bytes.Buffer
	server := command("postgres", "-D", folder+"/data", "-k", folder, "-p", port, "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off")
	server.Stdout, server.Stderr = &said, &said
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGQUIT)
		_ = server.Wait()
		if t.Failed() {
			t.Log(said.String())
		}
	})
	return port
}

func write(t *testing.T, files map[string]string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func up1(table string) string {
	return "-- +goose Up\nCREATE TABLE " + table + " (id int);\n-- +goose Down\nDROP TABLE " + table + ";\n"
}

// dojo-migrate applies new migrations, never migrates down, and may run several times at once.
func TestMigrate(t *testing.T) {
	for key, value := range map[string]string{"DB_ENDPOINT": "127.0.0.1", "DB_PORT": startPostgres(t), "DB_NAME": "postgres",
		"DB_USER": "app", "DB_PASS": "hollow purple"} {
		t.Setenv(key, value)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	first := map[string]string{"1_tables.sql": up1("weapons"), "2_index.sql": up1("curses")}
	report := filepath.Join(t.TempDir(), "report")
	migrate := func(files map[string]string, more ...string) (string, error) {
		_ = os.Remove(report)
		err := run(ctx, append([]string{"--folder=" + write(t, files), "--report=" + report}, more...))
		text, _ := os.ReadFile(report)
		return string(text), err
	}
	expect := func(what, want, got string, err error) {
		t.Helper()
		if err != nil || got != want {
			t.Fatalf("%s: reports %q, want %q: %v", what, got, want, err)
		}
	}

	t.Run("concurrent runs succeed", func(t *testing.T) {
		var all sync.WaitGroup
		errs := make([]error, 4)
		for i := range errs {
			folder, report := write(t, first), filepath.Join(t.TempDir(), "report")
			all.Go(func() { errs[i] = run(ctx, []string{"--folder=" + folder, "--report=" + report}) })
		}
		all.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	})
	got, err := migrate(first, "--digest="+migrations.DigestOf(first))
	expect("a second run", "2 2_index", got, err)
	if _, err := migrate(first, "--digest=other"); err == nil || !strings.Contains(err.Error(), "the migration files have changed") {
		t.Errorf("a digest of other files: %v", err)
	}

	more := map[string]string{"1_tables.sql": up1("weapons"), "2_index.sql": up1("curses"), "10_last.sql": up1("schools")}
	got, err = migrate(more)
	expect("one more", "3 10_last", got, err)
	got, err = migrate(first)
	expect("a rollback of the files", "3 10", got, err)

	more["11_broken.sql"] = "-- +goose Up\nCREATE TABLE halls (id int);\nSELECT nothing FROM nowhere;\n"
	got, err = migrate(more)
	if err == nil || got != "" || exitCode(err) != failed || !strings.Contains(err.Error(), `relation "nowhere" does not exist`) {
		t.Errorf("a broken file: %q, %v", got, err)
	}
	crashes := map[string]string{"11_crash.sql": "-- +goose Up\nCOPY (SELECT 1) TO PROGRAM 'kill -KILL $PPID';\n"}
	if _, err := migrate(crashes); err == nil || exitCode(err) != interrupted {
		t.Errorf("a crash of the server: exit code %d, %v", exitCode(err), err)
	}
	db, err := sql.Open("pgx", address(os.Getenv))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := connect(ctx, db); err != nil {
		t.Fatal(err)
	}
	var halls bool
	if err := db.QueryRowContext(ctx, "SELECT to_regclass('halls') IS NOT NULL").Scan(&halls); err != nil || halls {
		t.Errorf("a broken file leaves a table: %v %v", halls, err)
	}
	t.Setenv("DB_PORT", "1")
	soon, stop := context.WithTimeout(ctx, time.Second)
	defer stop()
	if err := run(soon, []string{"--folder=" + write(t, first)}); exitCode(err) != interrupted {
		t.Errorf("without a server: %v", err)
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
}
