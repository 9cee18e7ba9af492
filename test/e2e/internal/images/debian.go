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
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

const (
	// PostgresVersion is the major version that PostgresArchive holds: the one of Debian 12.
	PostgresVersion = "15"
	// NewPostgresVersion is that of NewPostgresArchive: the one of Debian 13.
	NewPostgresVersion = "17"
)

var (
	//go:embed postgres.sh
	postgresScript string
	//go:embed postgres17.sh
	newPostgresScript string
	//go:embed barman.sh
	barmanScript string
	//go:embed pgbouncer.sh
	pgBouncerScript string
)

// PostgresArchive returns a tar file with the files of a Postgres image.
func PostgresArchive(ctx context.Context, progress io.Writer) (string, error) {
	return debian(ctx, "postgres-"+PostgresVersion, postgresScript, progress)
}

// NewPostgresArchive returns a tar file with the files of a Postgres image of another major version, to which
// that of PostgresArchive can be upgraded.
func NewPostgresArchive(ctx context.Context, progress io.Writer) (string, error) {
	return debian(ctx, "postgres-"+NewPostgresVersion, newPostgresScript, progress)
}

// BarmanArchive returns a tar file with barman-cloud, which backs up Postgres into object stores, of
// Debian 13, whose Python the image has that CloudNativePG's plugin releases.
func BarmanArchive(ctx context.Context, progress io.Writer) (string, error) {
	return debian(ctx, "barman", barmanScript, progress)
}

// PgBouncerArchive returns a tar file with PgBouncer, of Debian 13.
func PgBouncerArchive(ctx context.Context, progress io.Writer) (string, error) {
	return debian(ctx, "pgbouncer", pgBouncerScript, progress)
}

// debian returns a tar file that a script makes out of Debian's packages, once per user: it lies in
// the user's cache folder beside the binaries of test/testcluster, because there every checkout finds
// it.
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
	// In namespaces of its own, so that what debootstrap mounts and starts ends with it.
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
