// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/apitest"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/kubectl"
)

// use is a command line, and the function that starts the API server for it.
type use struct {
	args string
	from func(*testing.T) *apitest.Server
}

// run runs the command on a new server that denies rights. It also returns the rights that the
// command has used or asked for.
func (u use) run(t *testing.T, needed bool, denied ...string) (output string, used []string) {
	t.Helper()
	s := u.from(t)
	operate(s, "")
	s.Put(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: apitest.Namespace, Name: "sql", Labels: ownership.Labels(apitest.Sendai(), ownership.Schema),
	}})
	for _, container := range []string{"sendai-6f7c-x2p/dojo", "sendai-db-1/postgres", "sql/dojo-schema"} {
		s.Logs[apitest.Namespace+"/"+container] = "a line\n"
	}
	s.Deny(denied...)
	got := run(t, s, "", strings.Fields(u.args)...)
	if needed { // the command works, but may show less
		return strconv.Itoa(got.code), s.Used()
	}
	return regexp.MustCompile(`localhost:\d+`).ReplaceAllString(got.String(), "localhost"), s.Used()
}

func usesOf() map[string][]use {
	ready := func(t *testing.T) *apitest.Server { return sendai(t) }
	asleep := func(t *testing.T) *apitest.Server {
		return sendai(t, func(d *corev1api.Dojo) { d.Spec.Suspend = true })
	}
	external := func(t *testing.T) *apitest.Server {
		return sendai(t, func(d *corev1api.Dojo) {
			d.Spec.Postgres, d.Spec.CredentialsRef = nil, &corev1api.SecretReference{Name: "pg-app"}
		})
	}
	// In stored, an ObjectStore names the archive of a former Cluster; in backedUp, a Backup does.
	stored := func(from func(*testing.T) *apitest.Server) func(*testing.T) *apitest.Server {
		return func(t *testing.T) *apitest.Server {
			s := from(t)
			s.Put(apitest.Store(map[string][2]metav1.Time{"sendai-db-2": {apitest.At(11, 1, 0), apitest.At(20, 1, 0)}}))
			return s
		}
	}
	backedUp := func(t *testing.T) *apitest.Server {
		s := sendai(t)
		b := apitest.Backup("sendai-db-2-20261120010000", apitest.At(20, 1, 0))
		b.Spec.PluginConfiguration.Parameters["serverName"] = "sendai-db-2"
		s.Put(b)
		return s
	}
	return map[string][]use{
		"list, status, tree":                {{"list", ready}, {"status sendai", ready}, {"tree sendai", ready}},
		"status and tree with all children": {{"status sendai", ready}, {"tree sendai", ready}},
		"rotate, suspend, resume": {
			{"rotate sendai -y", ready}, {"suspend sendai -y", ready}, {"resume sendai -y", asleep}},
		"upgrade, accept-loss": {
			{"upgrade sendai --to 19 -y", stored(ready)}, {"upgrade sendai --to 19 --yes", backedUp},
			{"accept-loss sendai --confirm sendai", stored(lost)}},
		"backups": {{"backups sendai", stored(ready)}},
		"backup":  {{"backup sendai -y --wait", ready}},
		"restore --as": {
			{"restore sendai --to 02:45 --as past -y", ready},
			{"restore sendai --to 2026-11-15T00:00:00Z --postgres-image pg:18 --as past -y", stored(ready)}},
		"restore": {
			{"restore sendai -y", stored(lost)}, {"restore sendai --to 02:45 -y --confirm sendai", stored(ready)}},
		"logs": {{"logs sendai", ready}, {"logs sendai schema", ready}, {"logs sendai postgres", ready}},
		"open": {{"open sendai --port 0", ready}},
		"psql": {{"psql sendai", ready}, {"psql sendai", external}},
	}
}

// TestNeeds asserts that the rights in a line of check suffice for the commands of this line, and
// that the output of a command changes if one of these rights is missing.
func TestNeeds(t *testing.T) {
	t.Parallel()
	always := []kubectl.Right{{Verb: "create", Kind: kinds.AccessReview}}
	for _, n := range needs {
		if n.needed {
			always = append(always, n.rights...)
		}
	}
	for _, n := range needs {
		t.Run(n.commands, func(t *testing.T) {
			t.Parallel()
			listed := func(right string) bool {
				return slices.ContainsFunc(slices.Concat(always, n.rights), func(r kubectl.Right) bool { return r.String() == right })
			}
			uses, outputs := usesOf()[n.commands], map[string]string{}
			for _, u := range uses {
				output, used := u.run(t, n.needed)
				others := slices.DeleteFunc(used, listed)
				got, _ := u.run(t, n.needed, others...)
				if diff := cmp.Diff(output, got); diff != "" {
					t.Errorf("%s needs one of %q: %s", u.args, others, diff)
				}
				outputs[u.args] = output
			}
			for _, right := range n.rights {
				if !slices.ContainsFunc(uses, func(u use) bool {
					got, _ := u.run(t, n.needed, right.String())
					return got != outputs[u.args]
				}) {
					t.Errorf("no command needs the right to %s", right)
				}
			}
		})
	}
}
