// SPDX-License-Identifier: Apache-2.0

package images

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

const (
	// PostgresVersion is the major version of Postgres in Debian 12 (PostgresArchive).
	PostgresVersion = "15"
	// NewPostgresVersion is the major version of Postgres in Debian 13 (NewPostgresArchive).
	NewPostgresVersion = "17"
)

var (
	//go:embed postgres.sh
	postgresScript string
	//go:embed postgres17.sh
	newPostgresScript string
	//go:embed security_updates.sh
	securityUpdates string
	//go:embed barman.sh
	barmanScript string
	//go:embed pgbouncer.sh
	pgBouncerScript string
)

// PostgresArchive makes the tar file of an image of Postgres and returns its path.
func PostgresArchive(ctx context.Context, progress io.Writer) (string, error) {
	return debian(ctx, "postgres-"+PostgresVersion, postgresScript, progress)
}

// NewPostgresArchive makes an image that can upgrade the data of PostgresArchive's Postgres.
func NewPostgresArchive(ctx context.Context, progress io.Writer) (string, error) {
	return debian(ctx, "postgres-"+NewPostgresVersion, newPostgresScript, progress)
}

// SecurePostgresArchive adds Debian's security updates to the image of PostgresArchive. They have a
// newer minor version of Postgres, except in the days after a point release of Debian.
func SecurePostgresArchive(ctx context.Context, progress io.Writer) (string, error) {
	return debian(ctx, "postgres-"+PostgresVersion+"-security", securePostgresScript(), progress)
}

// securePostgresScript adds the updates to postgres.sh, before the script removes apt's files.
func securePostgresScript() string {
	const next = "inside usermod"
	return strings.Replace(postgresScript, next, securityUpdates+next, 1)
}

var postgresPackage = regexp.MustCompile(`(?s)\nPackage: postgresql-\d+\n.*?\nVersion: (\d+\.\d+)`)

// MinorOf returns the version of Postgres in an archive, such as "15.17".
func MinorOf(archive string) (string, error) {
	status, err := exec.Command("tar", "--extract", "--to-stdout", "--file", archive, "./var/lib/dpkg/status").Output()
	if err != nil {
		return "", fmt.Errorf("read the packages of %s: %w", archive, err)
	}
	found := postgresPackage.FindSubmatch(status)
	if found == nil {
		return "", fmt.Errorf("%s has no package of Postgres", archive)
	}
	return string(found[1]), nil
}

// BarmanArchive makes the sidecar image of CloudNativePG's plugin with Debian 13's barman-cloud.
func BarmanArchive(ctx context.Context, progress io.Writer) (string, error) {
	return debian(ctx, "barman", barmanScript, progress)
}

// PgBouncerArchive makes an image with PgBouncer of Debian 13.
func PgBouncerArchive(ctx context.Context, progress io.Writer) (string, error) {
	return debian(ctx, "pgbouncer", pgBouncerScript, progress)
}

func debian(ctx context.Context, name, script string, progress io.Writer) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	cache = filepath.Join(cache, "jutsu", "e2e")
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	digest := sha256.Sum256([]byte(script))
	archive := filepath.Join(cache, fmt.Sprintf("%s-%s.tar", name, hex.EncodeToString(digest[:6])))
	lock := flock.New(filepath.Join(cache, "lock"))
	if _, err := lock.TryLockContext(ctx, 200*time.Millisecond); err != nil {
		return "", fmt.Errorf("wait for another process that makes an image: %w", err)
	}
	defer func() { _ = lock.Unlock() }()
	if _, err := os.Stat(archive); err == nil {
		return archive, nil
	}
	_, _ = fmt.Fprintf(progress, "making the image %s out of Debian's packages, about 70 s, only once\n", name)
	if err := makeArchive(ctx, script, archive); err != nil {
		return "", fmt.Errorf("make the image %s: %w", name, err)
	}
	return archive, nil
}

func makeArchive(ctx context.Context, script, archive string) (err error) {
	folder, err := os.MkdirTemp("", "jutsu-debian-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	// The script's mounts and processes end with its mount and process namespaces.
	const alone = "mount --make-rprivate / && mount -t proc proc /proc || exit\n"
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", alone+script, "debian.sh", folder, archive+".part")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setpgid: true, Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL,
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w:\n%s", err, out[max(0, len(out)-1024):])
	}
	return os.Rename(archive+".part", archive)
}
