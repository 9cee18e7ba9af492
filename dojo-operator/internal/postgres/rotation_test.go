// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/dojo-operator/internal/postgres/login"
	"jutsu.com/operators/libs/apply"
)

func requested(value string) func(*corev1api.Dojo) {
	return func(dojo *corev1api.Dojo) {
		dojo.Annotations = map[string]string{corev1api.RotatePasswordAnnotation: value}
	}
}

func running(t *testing.T, dojo *corev1api.Dojo) *world {
	t.Helper()
	w := inSync(t, tokyo(func(before *corev1api.Dojo) { before.Spec = dojo.Spec }))
	w.source = "tokyo-db"
	return w
}

func (w *world) valid() map[string]bool {
	all := map[string]bool{}
	for l, login := range w.Login.Logins {
		if login.Role != nil && login.Role.Spec.Login && login.Role.Status.SecretResourceVersion == w.secrets[l].ResourceVersion {
			all[cnpg.Login(l).ObjectName(w.dojo)] = true
		}
	}
	return all
}

// rotate reconciles until the operator writes nothing, and returns all writes and simulated events.
func (w *world) rotate(dojo *corev1api.Dojo) (story []string) {
	w.t.Helper()
	for range 12 {
		s := w.observe(dojo)
		db := w.reconcile(dojo)
		story = append(story, strings.TrimSpace(strings.Join(kinds(db.Plan), " ")+" "+worst(db.Plan)))
		for _, o := range db.Plan.Apply {
			if o.Drift {
				w.t.Errorf("the %s %s counts as changed by another client, after %v", o.Kind, o.Name, story)
			}
		}
		source, _ := Source(dojo, s)
		turns := db.Usable(true) && source != w.source
		if turns {
			story = append(story, "credentials of "+source)
			w.source, w.outdated = source, "a pod has the former ones"
		} else if w.outdated != "" && db.Plan.Apply == nil {
			story, w.outdated = append(story, "pods are replaced"), ""
		}
		if !w.valid()[w.source] {
			w.t.Errorf("Postgres refuses the application's login, after %v", story)
		}
		if !turns && story[len(story)-1] != "pods are replaced" {
			if again := w.reconcile(dojo); again.Plan.Apply != nil {
				w.t.Errorf("without any change, %v is written again", kinds(again.Plan))
			}
		}
		w.deleteJobs(db)
		w.play()
		if db.Plan.Apply == nil && db.Plan.Issues == nil && !turns {
			return story
		}
	}
	w.t.Errorf("the database is not in sync after 12 reconciles: %v", story)
	return story
}

func (w *world) deleteJobs(db Database) {
	w.jobs = slices.DeleteFunc(w.jobs, func(job *batchv1.Job) bool {
		return slices.ContainsFunc(db.Plan.Delete, func(old apply.Deletion) bool { return old.Name == job.Name })
	})
}

func TestRotation(t *testing.T) {
	t.Parallel()
	toSecond := []string{
		"Secret DatabaseRole Progressing/CreatingRole", // the role may not log in before Postgres has the password
		"DatabaseRole Progressing/CreatingRole",
		"Progressing/ApplyingSchema", // the Job of the schema is deleted first
		"Job Progressing/ApplyingSchema",
		"DatabaseRole Progressing/CreatingRole", // records that sessions act as the owner
		"", "credentials of tokyo-db-2",
		"Progressing/RotatingPassword", "pods are replaced",
		"Secret DatabaseRole Progressing/RotatingPassword",
		"",
	}
	toOwner := []string{
		"Secret Progressing/CreatingRole",
		"DatabaseRole Progressing/CreatingRole",
		"", "credentials of tokyo-db",
		"Progressing/RotatingPassword", "pods are replaced",
		"Secret DatabaseRole Progressing/RotatingPassword",
		"",
	}
	for name, in := range map[string]func(*corev1api.Dojo){"in another owner's Cluster": inPG, "in its own Cluster": ownPG} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := running(t, tokyo(in))
			passwords := map[string]bool{string(w.secrets[owner].Data["password"]): true}
			for i, request := range []string{"monday", "tuesday", "monday"} {
				dojo := tokyo(in, requested(request))
				l := cnpg.Login((i + 1) % 2)
				want := map[cnpg.Login][]string{second: toSecond, owner: toOwner}[l]
				if i == 2 { // sessions of the second login already act as the owner
					want = toOwner
				}
				got := w.rotate(dojo)
				if diff := cmp.Diff(strings.ReplaceAll(strings.Join(want, "\n"), "credentials of tokyo-db\n",
					"credentials of "+l.ObjectName(dojo)+"\n"), strings.Join(got, "\n")); diff != "" {
					t.Errorf("%s: %s", request, diff)
				}
				if diff := cmp.Diff(map[string]bool{l.ObjectName(dojo): true}, w.valid()); diff != "" {
					t.Errorf("%s: the valid logins differ: %s", request, diff)
				}
				password := string(w.secrets[l].Data["password"])
				if passwords[password] {
					t.Errorf("%s: the password has been used before", request)
				}
				passwords[password] = true
				status := Status(dojo, w.observe(dojo))
				if status.Login != l.SQLName(dojo) || status.FormerLogin != "" {
					t.Errorf("%s: %+v", request, status)
				}
			}
		})
	}
}

// A Dojo of another namespace is a user of the login only if the Secret is shared with that
// namespace.
func TestUsersOfTheFormerLogin(t *testing.T) {
	t.Parallel()
	dojo := tokyo(inPG)
	naming := func(namespace, name string) *corev1api.Dojo {
		return tokyo(named("guest"), func(guest *corev1api.Dojo) {
			guest.Namespace, guest.Spec.Postgres = namespace, nil
			guest.Spec.CredentialsRef = &corev1api.SecretReference{Namespace: "school", Name: name}
		})
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: "school", Name: "tokyo-db", Labels: ownership.Labels(dojo, ownership.Application),
		Annotations: map[string]string{corev1api.AllowedNamespacesAnnotation: "friends"},
	}}
	for name, c := range map[string]struct {
		source string
		guest  *corev1api.Dojo
		want   []string
	}{
		"Dojo of the same namespace":                   {"tokyo-db-2", naming("school", "tokyo-db"), []string{"Dojo guest"}},
		"Dojo of another namespace, Secret shared":     {"tokyo-db-2", naming("friends", "tokyo-db"), []string{"Dojo friends/guest"}},
		"Dojo of another namespace, Secret not shared": {"tokyo-db-2", naming("strangers", "tokyo-db"), nil},
		"Dojo uses the current login":                  {"tokyo-db-2", naming("school", "tokyo-db-2"), nil},
		"before the application changes its login":     {"tokyo-db", naming("school", "tokyo-db"), nil},
		"no other Dojo":                                {"tokyo-db-2", dojo, nil},
	} {
		s, err := login.Observe(t.Context(), readerOf(reading{secret, c.guest}, reading{secret}), dojo, c.source, true)
		must(t, err)
		if diff := cmp.Diff(c.want, s.Users); diff != "" {
			t.Error(name, diff)
		}
	}
}

func rotation(current, next cnpg.Login, postponed bool) login.Rotation {
	return login.Rotation{Current: current, Next: next, Postponed: postponed}
}

func TestRequestsOfRotation(t *testing.T) {
	t.Parallel()
	type result struct {
		Turn                login.Rotation
		Login, Former, Says string
	}
	// In the returned world, the application's credentials name the second login, but pods may
	// still have the owner login.
	turned := func(t *testing.T) *world {
		w := running(t, tokyo(inPG))
		dojo := tokyo(inPG, requested("monday"))
		for range 8 {
			if w.source == "tokyo-db-2" {
				break
			}
			s := w.observe(dojo)
			w.deleteJobs(w.reconcile(dojo))
			w.source, _ = Source(dojo, s)
			w.play()
		}
		w.outdated = "the rollout is not complete"
		return w
	}
	const ownerName, secondName = "dojo_school_tokyo", "dojo2_school_tokyo"
	const stays = "The application has changed from the login dojo_school_tokyo to dojo2_school_tokyo. " +
		"The login dojo_school_tokyo stays valid while pods may use it: the rollout is not complete."
	cases := map[string]struct {
		world func(*testing.T) *world
		dojo  *corev1api.Dojo
		want  result
	}{
		"no request": {func(t *testing.T) *world { return running(t, tokyo(inPG)) }, tokyo(inPG),
			result{rotation(owner, owner, false), ownerName, "", ""}},
		"the first request": {func(t *testing.T) *world { return running(t, tokyo(inPG)) }, tokyo(inPG, rotating),
			result{rotation(owner, second, false), ownerName, "", "Waiting until Postgres has the role " + secondName + "."}},
		"another request before the application uses the second login": {func(t *testing.T) *world {
			w := running(t, tokyo(inPG))
			w.reconcile(tokyo(inPG, requested("monday")))
			return w
		}, tokyo(inPG, requested("tuesday")), result{rotation(owner, owner, true), ownerName, secondName,
			"The application has changed from the login " + secondName + " to " + ownerName +
				". Waiting until Postgres refuses the login " + secondName + ". After that, the password is rotated again, as requested."}},
		"the application uses the second login": {turned, tokyo(inPG, requested("monday")), result{rotation(second, second, false), secondName, ownerName, stays}},
		"pods use the former login for too long": {turned, tokyo(inPG, requested("monday"), waitingFor("end of the login "+ownerName, time.Hour)),
			result{rotation(second, second, false), secondName, ownerName, stays + " It has been like this for more than 10m0s. " +
				"See `kubectl dojo tree tokyo -n school`, and `kubectl describe databaseroles.postgresql.cnpg.io tokyo-db -n school`."}},
		"another request while pods use the former login": {turned, tokyo(inPG, requested("tuesday")),
			result{rotation(second, second, true), secondName, ownerName, stays + " After that, the password is rotated again, as requested."}},
		"another Dojo uses the former login": {func(t *testing.T) *world {
			w := turned(t)
			w.outdated, w.Login.Users = "", []string{"Dojo kyoto"}
			return w
		}, tokyo(inPG, requested("monday")), result{rotation(second, second, false), secondName, ownerName,
			"The application has changed from the login dojo_school_tokyo to dojo2_school_tokyo. The login dojo_school_tokyo stays valid " +
				"while other Dojos use its Secret tokyo-db: Dojo kyoto. Set their spec.credentialsRef.name to tokyo-db-2."}},
		"Dojos of other namespaces use the former login": {func(t *testing.T) *world {
			w := turned(t)
			w.outdated, w.Login.Users = "", []string{"Dojo kyoto", "Dojo team-a/osaka"}
			return w
		}, tokyo(inPG, requested("monday")), result{rotation(second, second, false), secondName, ownerName,
			"The application has changed from the login dojo_school_tokyo to dojo2_school_tokyo. The login dojo_school_tokyo stays valid " +
				"while other Dojos use its Secret tokyo-db: Dojo kyoto, Dojo team-a/osaka. Share the Secret tokyo-db-2 with the " +
				"namespaces of these Dojos by its annotation core.jutsu.com/allowed-namespaces. Then set their " +
				"spec.credentialsRef.name to tokyo-db-2."}},
		"pods of another Dojo use the former login": {func(t *testing.T) *world {
			w := turned(t)
			w.outdated, w.Login.Leaving = "", []string{"Dojo kyoto (the rollout is not complete)"}
			return w
		}, tokyo(inPG, requested("monday")), result{rotation(second, second, false), secondName, ownerName,
			"The application has changed from the login dojo_school_tokyo to dojo2_school_tokyo. The login dojo_school_tokyo stays valid " +
				"while pods of other Dojos may use it: Dojo kyoto (the rollout is not complete)."}},
		"request withdrawn while pods use the former login": {turned, tokyo(inPG), result{rotation(second, second, false), secondName, ownerName, stays}},
		"another request while Postgres accepts the former login": {func(t *testing.T) *world {
			w := turned(t)
			w.outdated = ""
			w.reconcile(tokyo(inPG, requested("monday")))
			return w
		}, tokyo(inPG, requested("tuesday")), result{rotation(second, second, true), secondName, ownerName,
			"The application has changed from the login dojo_school_tokyo to dojo2_school_tokyo. " +
				"Waiting until Postgres refuses the login dojo_school_tokyo. After that, the password is rotated again, as requested."}},
		"being deleted": {func(t *testing.T) *world { return running(t, tokyo(inPG)) },
			tokyo(inPG, rotating, func(dojo *corev1api.Dojo) { dojo.DeletionTimestamp = &metav1.Time{Time: noon} }),
			result{rotation(owner, owner, false), ownerName, "", ""}},
		"application without credentials": {func(t *testing.T) *world {
			w := running(t, tokyo(inPG))
			w.source = ""
			return w
		}, tokyo(inPG, rotating), result{rotation(owner, owner, false), "", "",
			"Waiting until Postgres has the role " + ownerName + "."}},
		"a foreign Secret has the second login's name": {func(t *testing.T) *world {
			w := running(t, tokyo(inPG))
			w.secrets[second] = w.secrets[owner].DeepCopy()
			w.secrets[second].Name, w.secrets[second].Labels = "tokyo-db-2", nil
			return w
		}, tokyo(inPG, rotating), result{rotation(owner, second, false), ownerName, "",
			"The Secret school/tokyo-db-2 exists and does not belong to this Dojo. If another owner needs the Secret, give the Dojo another name. " +
				"If the Secret should belong to this Dojo, as after a restore, add the Dojo's labels: " +
				"`kubectl label secret tokyo-db-2 -n school --overwrite app.kubernetes.io/name=dojo " +
				"app.kubernetes.io/instance=tokyo app.kubernetes.io/managed-by=dojo-operator`. " +
				"With the reclaimPolicy Delete, the Secret is then deleted with the Dojo."}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := c.world(t)
			s := w.observe(c.dojo)
			got := result{Turn: login.RotationOf(c.dojo, s.Login)}
			status := Status(c.dojo, s)
			got.Login, got.Former = status.Login, status.FormerLogin
			if db := w.plan(c.dojo); len(db.Plan.Issues) > 0 {
				got.Says = db.Plan.Issues[0].Message
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// In a new Cluster, CloudNativePG creates the second login again, so its SQL must run again.
func TestTheSecondLoginActsAsTheOwnerInEachCluster(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]func(*corev1api.Dojo){"in another owner's Cluster": inPG, "in its own Cluster": ownPG} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dojo := tokyo(in, requested("monday"))
			w := running(t, tokyo(in))
			w.rotate(dojo)
			w.Cluster.Live.UID = "uid of another"
			var got []string
			for range 8 {
				db := w.reconcile(dojo)
				if db.Plan.Apply == nil && db.Plan.Delete == nil && db.Plan.Issues == nil {
					break
				}
				got = append(got, strings.Join(kinds(db.Plan), " "))
				w.deleteJobs(db)
				w.play()
			}
			want := []string{"Job", "DatabaseRole", "", "Database Job", "Database"} // the login's Job, then the schema's
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestADojoWithoutCredentialsGetsTheEnabledLogin(t *testing.T) {
	t.Parallel()
	w := running(t, tokyo(inPG))
	w.rotate(tokyo(inPG, requested("monday")))
	w.source = ""
	dojo := tokyo(inPG)
	db := w.plan(dojo)
	s := w.observe(dojo)
	if name, secret := Source(dojo, s); name != "tokyo-db-2" || secret == nil || !db.Usable(false) || db.Plan.Apply != nil {
		t.Errorf("credentials of %s (%v), %s, writes %v", name, secret, usable(db), kinds(db.Plan))
	}
}

func TestALoginIsRetiredAgainAfterAClientEnablesIt(t *testing.T) {
	t.Parallel()
	dojo := tokyo(inPG, requested("monday"))
	w := running(t, tokyo(inPG))
	w.rotate(dojo)
	w.Login.Logins[owner].Role.Spec.Login = true
	if issue := worst(w.plan(dojo).Plan); issue != "Progressing/RotatingPassword" {
		t.Error(issue)
	}
	for range 3 { // the first write sets the field to false, the second omits the field
		w.reconcile(dojo)
		w.play()
	}
	if diff := cmp.Diff(map[string]bool{"tokyo-db-2": true}, w.valid()); diff != "" {
		t.Error(diff)
	}
	if db := w.plan(dojo); db.Plan.Apply != nil || db.Plan.Issues != nil {
		t.Errorf("%s, writes %v", worst(db.Plan), kinds(db.Plan))
	}
}

func TestALostPasswordIsReplaced(t *testing.T) {
	t.Parallel()
	for _, l := range []cnpg.Login{owner, second} {
		dojo := tokyo(inPG, requested("monday"))
		w := running(t, tokyo(inPG))
		if l == owner {
			dojo = tokyo(inPG)
		} else {
			w.rotate(dojo)
		}
		w.secrets[l] = nil
		db := w.reconcile(dojo)
		if worst(db.Plan) != "Progressing/CreatingRole" || db.Usable(true) || fmt.Sprint(kinds(db.Plan)) != "[Secret]" {
			t.Errorf("%s, %s, writes %v", worst(db.Plan), usable(db), kinds(db.Plan))
		}
		w.play()
		if db := w.plan(dojo); db.Plan.Apply != nil || !db.Usable(true) {
			t.Errorf("%s, writes %v", usable(db), kinds(db.Plan))
		}
	}
}

func TestTwoLoginsAreDeletedOrKept(t *testing.T) {
	t.Parallel()
	w := running(t, tokyo(inPG, dropping))
	w.rotate(tokyo(inPG, dropping, requested("monday")))
	plan := Keep(tokyo(inPG), w.observe(tokyo(inPG)))
	if diff := cmp.Diff("Database DatabaseRole Secret DatabaseRole Secret", strings.Join(kinds(plan), " ")); diff != "" {
		t.Error(diff)
	}
	for _, o := range plan.Apply {
		spec, _ := o.Desired.Object["spec"].(map[string]any)
		login, _ := spec["login"].(bool)
		if o.Kind == "DatabaseRole" && login != (o.Name == "tokyo-db-2") {
			t.Errorf("%s may log in: %t", o.Name, login)
		}
	}
	dojo := tokyo(inPG, dropping)
	var got []string
	for range 4 {
		for _, old := range Drop(dojo, w.observe(dojo), testConfig).Delete {
			got = append(got, old.Kind+" "+old.Name)
			switch old.Name {
			case "tokyo-db-2":
				w.Login.Logins[second].Role = nil
			default:
				if w.Database.Live == nil {
					w.Login.Logins[owner].Role = nil
				}
				w.Database.Live = nil
			}
		}
	}
	want := []string{"Database tokyo-db", "DatabaseRole tokyo-db-2", "DatabaseRole tokyo-db"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// If CloudNativePG cannot read the second login's password, the operator makes it read again.
func TestSecondLoginIsRefused(t *testing.T) {
	t.Parallel()
	dojo := tokyo(inPG, rotating)
	w := running(t, tokyo(inPG))
	w.reconcile(dojo)
	role := w.Login.Logins[second].Role
	role.Status.Applied, role.Status.Message = ptr.To(false), strings.ReplaceAll(forbidden, "tokyo-db", "tokyo-db-2")
	role.CreationTimestamp = metav1.NewTime(noon.Add(-time.Second))
	db := w.plan(dojo)
	if fmt.Sprint(kinds(db.Plan)) != "[DatabaseRole]" || db.Plan.Apply[0].Name != "tokyo-db-2" ||
		db.Plan.Apply[0].Desired.GetAnnotations()[login.RetryAnnotation] == "" || !db.Usable(true) {
		t.Errorf("writes %v, %s", kinds(db.Plan), usable(db))
	}
	if !ownership.Holds(dojo, role) || !strings.Contains(db.Plan.Issues[0].Message, "dojo2_school_tokyo. CloudNativePG reports: ") {
		t.Error(db.Plan.Issues[0].Message)
	}
}
