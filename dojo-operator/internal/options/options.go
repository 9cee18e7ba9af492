// SPDX-License-Identifier: Apache-2.0

// Package options parses the flags of dojo-operator, also for the command `kubectl dojo plan`.
package options

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"jutsu.com/operators/dojo-operator/internal/credentials"
	"jutsu.com/operators/dojo-operator/internal/dojo"
	"jutsu.com/operators/dojo-operator/internal/exposure"
	"jutsu.com/operators/dojo-operator/internal/monitoring"
	"jutsu.com/operators/dojo-operator/internal/pods"
	"jutsu.com/operators/dojo-operator/internal/postgres"
	"jutsu.com/operators/dojo-operator/internal/postgres/images"
	"jutsu.com/operators/dojo-operator/internal/release"
	"jutsu.com/operators/dojo-operator/internal/workload"
	"jutsu.com/operators/libs/manager"
)

// Options are the flags of dojo-operator.
type Options struct {
	// Manager has the flags that all operators of this repository share.
	Manager manager.Flags
	// Workers is the maximum number of Dojos that are reconciled at once.
	Workers int
	// PostgresSizes and PostgresCatalog are folders. If a folder is "", built-in values are used.
	PostgresSizes, PostgresCatalog string

	image            string
	postgresImage    string
	migrateImage     string
	progressDeadline time.Duration
	databaseDeadline time.Duration
	discordAPI       string
	dashboard        string
	docs             string
	users            pods.Users
}

// Config returns the configuration of the controller.
func (o *Options) Config() dojo.Config {
	return dojo.Config{
		Postgres: postgres.Config{
			Deadline: o.databaseDeadline, ProgressDeadline: o.progressDeadline,
			Users: o.users,
		},
		Credentials: credentials.Config{ProgressDeadline: o.progressDeadline, Namespaces: o.Manager.Namespaces},
		Release: release.Config{
			MigrateImage: o.migrateImage, ProgressDeadline: o.progressDeadline, Users: o.users,
		},
		Workload: workload.Config{Image: o.image, ProgressDeadline: o.progressDeadline, Users: o.users},
		Exposure: exposure.Config{ProgressDeadline: o.progressDeadline},
		Monitoring: monitoring.Config{
			ProgressDeadline: o.progressDeadline, DashboardURL: o.dashboardURL(), DocsURL: strings.TrimRight(o.docs, "/"),
			WebhookBase: o.webhookBase(),
		},
	}
}

// Catalog parses the files of a catalog, or returns the built-in catalog if there are no files.
func (o *Options) Catalog(files map[string][]byte) images.Catalog {
	if len(files) == 0 {
		return images.BuiltIn(o.postgresImage)
	}
	return images.Parse(files)
}

// parsing guards the global variable in which controller-runtime stores --kubeconfig.
var parsing sync.Mutex

// Parse parses a command line. On --help it prints the flags to out and returns flag.ErrHelp.
func Parse(version string, args []string, out io.Writer) (*Options, error) {
	o := &Options{}
	flags := flag.NewFlagSet("dojo-operator", flag.ContinueOnError)
	flags.StringVar(&o.image, "dojo-image", "danijelradakovic/dojo:0.1.0-alpine",
		"`image` of the application, for Dojos that do not set spec.image")
	flags.DurationVar(&o.progressDeadline, "progress-deadline", 2*time.Minute,
		"how long a Dojo may wait for its pods (unless spec.rollout.progressDeadline is set), or for most other things "+
			"that it needs, such as a Secret, before it is Degraded; 1s to 24h")
	flags.DurationVar(&o.databaseDeadline, "database-deadline", 15*time.Minute,
		"how long each step of a Dojo's database, such as the start of its Cluster, may take before the Dojo is Degraded; "+
			"1s to 24h")
	flags.StringVar(&o.postgresImage, "postgres-image", "ghcr.io/cloudnative-pg/postgresql",
		"`image` of Postgres, such as a mirror's, without tag and digest; the operator adds the tags and digests of its "+
			"built-in catalog; without effect if --postgres-catalog has files")
	flags.StringVar(&o.PostgresCatalog, "postgres-catalog", "",
		"`folder`, such as a mounted ConfigMap, with files of the kind ClusterImageCatalog; they name the image of each "+
			"version of Postgres; without files the operator uses its built-in catalog")
	flags.StringVar(&o.migrateImage, "migrate-image", "",
		"`image` of dojo-migrate, of the operator's version; Dojos with spec.release.migrations need it")
	flags.StringVar(&o.PostgresSizes, "postgres-sizes", "",
		"`folder`, such as a mounted ConfigMap, with one file for each size that a Dojo can name in "+
			"spec.postgres.cluster.size; without files the sizes are Small, Medium and Large")
	flags.StringVar(&o.discordAPI, "discord-api-url", "https://discord.com/api/v10",
		"`URL` of Discord's API, or of a compatible server; discord-operator needs the same URL; "+
			"alerts are posted only to webhooks of this server")
	flags.StringVar(&o.dashboard, "dashboard-url", "",
		"`URL` of the dashboard \"Dojos and channels\" in Grafana, such as "+
			"https://grafana.example.org/d/jutsu-dojos-and-channels, to which the alerts of Dojos link; empty for no link")
	flags.StringVar(&o.docs, "docs-url", "",
		"`URL` at which you publish this project's folder docs; the alerts of Dojos link to its pages; "+
			"empty for no link")
	flags.BoolVar(&o.users.ByPlatform, "platform-users", false,
		"leave the users and groups of pods to the platform, as OpenShift's restricted SCC requires; "+
			"unless the platform sets a user, each image must set the id of a user other than root")
	flags.IntVar(&o.Workers, "concurrency", 16, "number of Dojos that are reconciled at once; at least 1")
	introduction := "dojo-operator " + version + " turns Dojo objects into running applications.\n\n" +
		"Usage: dojo-operator [flags]\n\n"
	parsing.Lock()
	defer parsing.Unlock()
	if err := o.Manager.Parse(flags, introduction, args, out); err != nil {
		return nil, err
	}
	if err := o.validate(); err != nil {
		return nil, err
	}
	return o, nil
}

// ManagerFlags returns the flags that [manager.Main] needs.
func (o *Options) ManagerFlags() *manager.Flags { return &o.Manager }

func (o *Options) validate() error {
	switch {
	case o.image == "":
		return errors.New("--dojo-image must not be empty")
	case o.progressDeadline < time.Second, o.progressDeadline > 24*time.Hour:
		return fmt.Errorf("--progress-deadline is %s, it must be at least 1s and at most 24h", o.progressDeadline)
	case o.databaseDeadline < time.Second, o.databaseDeadline > 24*time.Hour:
		return fmt.Errorf("--database-deadline is %s, it must be at least 1s and at most 24h", o.databaseDeadline)
	case !absolute(o.dashboard):
		return fmt.Errorf("--dashboard-url is %q, it must be empty, or an http or https URL with a host, without "+
			"spaces, () and {}", o.dashboard)
	case !absolute(o.docs), strings.ContainsAny(o.docs, "?#"):
		return fmt.Errorf("--docs-url is %q, it must be empty, or an http or https URL with a host, without ?, #, "+
			"spaces, () and {}", o.docs)
	case o.postgresImage == "", strings.ContainsAny(path.Base(o.postgresImage), ":@"):
		return fmt.Errorf("--postgres-image is %q, it must be an image without tag and digest", o.postgresImage)
	case o.Workers < 1:
		return fmt.Errorf("--concurrency is %d, it must be at least 1", o.Workers)
	}
	if _, err := monitoring.WebhookBase(o.discordAPI); err != nil {
		return fmt.Errorf("--discord-api-url: %w", err)
	}
	return nil
}

// absolute reports whether an option is empty or an absolute URL. Alerts contain the URL, so
// absolute rejects characters of Prometheus templates and Markdown links.
func absolute(option string) bool {
	if option == "" {
		return true
	}
	u, err := url.Parse(option)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" &&
		!strings.ContainsAny(option, "{}() \t")
}

func (o *Options) webhookBase() string {
	base, _ := monitoring.WebhookBase(o.discordAPI)
	return base
}

func (o *Options) dashboardURL() *url.URL {
	u, err := url.Parse(o.dashboard)
	if o.dashboard == "" || err != nil {
		return nil
	}
	return u
}
