// SPDX-License-Identifier: Apache-2.0

// Command dojo-migrate applies the goose migrations of spec.release.migrations. It takes goose's
// advisory lock and never migrates down. On failure, the last line of its output is the cause. On
// success, its termination message is a [migrations.Report].
package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"jutsu.com/operators/dojo-operator/internal/release/migrations"
)

// The build sets version with -ldflags "-X main.version=...".
var version = "dev"

const (
	failed = 1
	// interrupted is the exit code after which the Job starts another pod, up to a limit. The new
	// pod skips committed migrations.
	interrupted = 75

	pause = 2 * time.Second // between attempts to connect
	// lockTries is the number of attempts to get the lock, one per second. They take 48 hours,
	// longer than any Job's deadline.
	lockTries = 48 * 60 * 60
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:])
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, strings.Join(strings.Fields(err.Error()), " "))
	stop()
	os.Exit(exitCode(err)) //nolint:gocritic // stop was called
}

func exitCode(err error) int {
	var answer *pgconn.PgError
	if errors.As(err, &answer) {
		if slices.ContainsFunc(passing, func(code string) bool { return strings.HasPrefix(answer.Code, code) }) {
			return interrupted
		}
		return failed
	}
	var network net.Error
	if errors.As(err, &network) || pgconn.Timeout(err) ||
		slices.ContainsFunc(lost, func(cause error) bool { return errors.Is(err, cause) }) {
		return interrupted
	}
	return failed
}

// passing lists the beginnings of Postgres' error codes that a new attempt may not meet: connection
// exceptions, the server shuts down, too many connections, and a former primary that only reads.
var passing = []string{"08", "57P", "53300", "25006"}

// lost lists the errors of a lost connection, except errors of the type [net.Error].
var lost = []error{errUnreachable, io.ErrUnexpectedEOF, driver.ErrBadConn, pgconn.ErrConnClosed, sql.ErrConnDone}

var errUnreachable = errors.New("the database could not be reached")

type options struct{ folder, digest, report string }

func run(ctx context.Context, args []string) error {
	var o options
	flags := flag.NewFlagSet("dojo-migrate", flag.ContinueOnError)
	flags.StringVar(&o.folder, "folder", "/migrations", "folder of the migration files")
	flags.StringVar(&o.digest, "digest", "", "expected digest of the files; empty for any")
	flags.StringVar(&o.report, "report", "/dev/termination-log", "file that the report is written to")
	show := flags.Bool("version", false, "print the version")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *show {
		fmt.Println("dojo-migrate", version)
		return nil
	}
	files, err := read(o.folder)
	if err != nil {
		return err
	}
	if got := migrations.DigestOf(files); o.digest != "" && got != o.digest {
		return errors.New("the migration files have changed since this Job was created; the operator creates another Job")
	}
	db, err := sql.Open("pgx", address(os.Getenv))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	if err := connect(ctx, db); err != nil {
		return err
	}
	count, last, err := migrate(ctx, db, files)
	if err != nil {
		return err
	}
	fmt.Printf("the database has %d migrations, the last is %s\n", count, last)
	return os.WriteFile(o.report, []byte(migrations.Report(count, last)), 0o600)
}

// read skips files without the suffix .sql, such as the symbolic link ..data of a ConfigMap.
func read(folder string) (map[string]string, error) {
	names, err := filepath.Glob(filepath.Join(folder, "*"+migrations.Suffix))
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, path := range names {
		text, err := os.ReadFile(path) //nolint:gosec // G304: a file of the given folder
		if err != nil {
			return nil, err
		}
		files[filepath.Base(path)] = string(text)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s has no file whose name ends with %s", folder, migrations.Suffix)
	}
	return files, nil
}

func address(env func(string) string) string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(env("DB_USER"), env("DB_PASS")),
		Host: net.JoinHostPort(env("DB_ENDPOINT"), env("DB_PORT")), Path: env("DB_NAME"),
		RawQuery: url.Values{"connect_timeout": {"10"}, "application_name": {"dojo-migrate"}}.Encode(),
	}
	return u.String()
}

// connect waits until the database accepts a connection. It returns an error if Postgres reports an
// error that a new attempt would repeat, or if ctx ends.
func connect(ctx context.Context, db *sql.DB) error {
	for {
		err := db.PingContext(ctx)
		var answer *pgconn.PgError
		if err == nil || errors.As(err, &answer) && exitCode(err) == failed {
			return err // nil, or an error that a new attempt would repeat, such as a wrong password
		}
		fmt.Fprintln(os.Stderr, "the database does not answer yet:", strings.Join(strings.Fields(err.Error()), " "))
		select {
		case <-ctx.Done():
			return errUnreachable
		case <-time.After(pause):
		}
	}
}

func migrate(ctx context.Context, db *sql.DB, files map[string]string) (count int, last string, err error) {
	folder, err := os.MkdirTemp("", "migrations")
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	// Goose reads copies, because the mounted files may change after the check of their digest.
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			return 0, "", err
		}
	}
	if err := up(ctx, db, os.DirFS(folder)); err != nil {
		return 0, "", err
	}
	return applied(ctx, db, files)
}

func up(ctx context.Context, db *sql.DB, files fs.FS) error {
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, lockTries))
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files, goose.WithSessionLocker(locker))
	if err != nil {
		return err
	}
	results, err := provider.Up(ctx)
	for _, result := range results {
		fmt.Println(result)
	}
	return err
}

// applied returns the number of applied migrations, and the name of the last one. If the last one
// has no file, as after a rollback of the release, its number replaces the name.
func applied(ctx context.Context, db *sql.DB, files map[string]string) (count int, last string, err error) {
	var version int64
	err = db.QueryRowContext(ctx, "SELECT count(*), coalesce(max(version_id), 0) FROM goose_db_version "+
		"WHERE is_applied AND version_id > 0").Scan(&count, &version)
	if err != nil {
		return 0, "", fmt.Errorf("read the version of the database: %w", err)
	}
	for name := range files {
		if v, err := migrations.Version(name); err == nil && v == version {
			return count, strings.TrimSuffix(name, migrations.Suffix), nil
		}
	}
	return count, strconv.FormatInt(version, 10), nil
}
