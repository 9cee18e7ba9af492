// SPDX-License-Identifier: Apache-2.0

package v1

// The reasons of a Dojo with spec.release.
const (
	// ReasonReleasing (Progressing): the release step runs, or waits for the
	// database, for an upgrade of Postgres or for an earlier step. The pods keep
	// their image.
	ReasonReleasing = "Releasing"
	// ReasonWaitingForMigrations (Progressing): a ConfigMap of
	// spec.release.migrations does not exist yet, or none of these ConfigMaps has
	// a SQL file yet.
	ReasonWaitingForMigrations = "WaitingForMigrations"
	// ReasonMigrationsNotFound (Degraded): after --progress-deadline, a ConfigMap
	// of spec.release.migrations still does not exist, or none of these ConfigMaps
	// has a SQL file. Create the ConfigMap, add a SQL file to one of the
	// ConfigMaps, or remove the reference.
	ReasonMigrationsNotFound = "MigrationsNotFound"
	// ReasonMigrationsInvalid (Degraded): goose cannot order the files of
	// spec.release.migrations, the files are too many or too large, or the
	// operator has no flag --migrate-image; the message has the cause. The pods
	// keep their image.
	ReasonMigrationsInvalid = "MigrationsInvalid"
	// ReasonReleaseFailed (Degraded): the release step has failed; the message has
	// the cause, usually the last line of its log. The pods keep their image. Set
	// another image or command (release.command), or correct the files
	// (release.migrations). Or fix the cause, and set the annotation
	// core.jutsu.com/retry-release to run the same step again.
	ReasonReleaseFailed = "ReleaseFailed"
	// ReasonReleaseStalled (Degraded): the release step does not start or does not
	// end, or an earlier step does not end; the message has the cause. The pods
	// keep their image.
	ReasonReleaseStalled = "ReleaseStalled"
)
