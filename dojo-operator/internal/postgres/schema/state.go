// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"cmp"
	"context"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/pods"
	"jutsu.com/operators/libs/apply"
)

// State is what there is of the schema.
type State struct {
	Now time.Time
	// Digest identifies the SQL by its content, and the database that it is for. It is empty while
	// there is no database or not all of the SQL.
	Digest string
	// Versions identifies the versions of what holds the SQL.
	Versions string
	// Missing is the first piece of spec.postgres.initSQL that does not exist, empty where all do.
	Missing string
	// Named is the Job with the name of that for the digest, whatever controls it.
	Named *batchv1.Job
	// Jobs are the Dojo's, for whatever SQL, and Pods are theirs; nil where nothing has to run.
	Jobs []*batchv1.Job
	Pods []corev1.Pod
}

// Observe reads the schema of a Dojo with the given Cluster and Database, nil where they do not
// exist.
func Observe(
	ctx context.Context, r apply.Reader, d *corev1api.Dojo, c *cnpgv1.Cluster, db *cnpgv1.Database, now time.Time,
) (s State, err error) {
	s.Now = now
	if s.Jobs, err = jobs(ctx, r, d); err != nil {
		return s, err
	}
	if err := s.observeSQL(ctx, r, d, c, db); err != nil {
		return s, err
	}
	if s.Digest != "" {
		name := types.NamespacedName{Namespace: d.Namespace, Name: jobName(d, s.Digest)}
		if s.Named, err = apply.Get(ctx, r, "Job", name, &batchv1.Job{}); err != nil {
			return s, err
		}
		if Applied(s, db) && d.DeletionTimestamp == nil && !slices.ContainsFunc(s.Jobs, ofLogin) {
			return s, nil
		}
	}
	s.Pods, err = pods.List(ctx, r, d, pods.OfSchema)
	return s, err
}

// ofLogin reports whether a Job is that of a login, which is made of no ConfigMap or Secret.
func ofLogin(job *batchv1.Job) bool { return job.Annotations[versionsAnnotation] == "" }

func jobs(ctx context.Context, r apply.Reader, d *corev1api.Dojo) (ours []*batchv1.Job, err error) {
	var list batchv1.JobList
	of := client.MatchingFields{pods.JobOfDojo: d.Name}
	if err := r.Cache.List(ctx, &list, client.InNamespace(d.Namespace), of); err != nil {
		return nil, fmt.Errorf("list Jobs: %w", err)
	}
	for i := range list.Items {
		if job := &list.Items[i]; metav1.IsControlledBy(job, d) {
			ours = append(ours, job)
		}
	}
	return ours, nil
}

// source is a piece of spec.postgres.initSQL.
type source struct {
	kind string
	name types.NamespacedName
	key  string
}

func sources(d *corev1api.Dojo) (all []source) {
	for _, s := range d.Spec.Postgres.InitSQL {
		kind, ref := "ConfigMap", s.ConfigMapKeyRef
		if s.SecretKeyRef != nil {
			kind, ref = "Secret", s.SecretKeyRef
		}
		all = append(all, source{kind, types.NamespacedName{Namespace: d.Namespace, Name: ref.Name}, ref.Key})
	}
	return all
}

// observeSQL identifies the SQL. Where a digest of these very versions is known, nothing is read but
// metadata.
func (s *State) observeSQL(
	ctx context.Context, r apply.Reader, d *corev1api.Dojo, c *cnpgv1.Cluster, db *cnpgv1.Database,
) error {
	var versions []string
	for _, source := range sources(d) {
		live, err := apply.Get(ctx, r, source.kind, source.name, apply.Metadata("v1", source.kind))
		switch {
		case err != nil:
			return err
		case live != nil:
			versions = append(versions, fmt.Sprint(source, live.UID, live.ResourceVersion))
		default:
			s.Missing = cmp.Or(s.Missing, source.kind+" "+source.name.String())
		}
	}
	if s.Missing != "" || c == nil || db == nil {
		return nil
	}
	database := []string{script, string(c.UID), string(db.UID)}
	s.Versions = digest(append(database, versions...)...)
	if known := s.known(db); known != "" {
		s.Digest = known
		return nil
	}
	contents, err := s.read(ctx, r, d)
	if err == nil && s.Missing == "" {
		s.Digest = digest(append(database, contents...)...)
	}
	return err
}

// known is the digest that was made of these versions, empty where there is none.
func (s *State) known(db *cnpgv1.Database) string {
	objects := []metav1.Object{db}
	for _, job := range s.Jobs {
		objects = append(objects, job)
	}
	for _, o := range objects {
		if a := o.GetAnnotations(); a[versionsAnnotation] == s.Versions && a[digestAnnotation] != nothing {
			return a[digestAnnotation]
		}
	}
	return ""
}

// read returns what stands for the content of each source in the digest.
func (s *State) read(ctx context.Context, r apply.Reader, d *corev1api.Dojo) (contents []string, err error) {
	for _, source := range sources(d) {
		text, found, err := source.read(ctx, r)
		if err != nil {
			return nil, err
		}
		if !found {
			s.Missing = fmt.Sprintf("key %s of the %s %s", source.key, source.kind, source.name)
			return nil, nil
		}
		contents = append(contents, fmt.Sprint(source), text)
	}
	return contents, nil
}

// stretching makes it expensive to guess, from the digest, a password in the SQL of a Secret.
const stretching = 200_000

// read returns the text of a source, of a Secret a hash of it, and whether it has the key. An object
// that has gone since the cache last saw it is ErrStale.
func (f source) read(ctx context.Context, r apply.Reader) (text string, found bool, err error) {
	if f.kind == "Secret" {
		secret, err := r.ReadSecret(ctx, f.name)
		if err != nil {
			return "", false, err
		}
		data, found := secret.Data[f.key]
		hash, err := pbkdf2.Key(sha256.New, string(data), []byte(secret.UID), stretching, sha256.Size)
		return hex.EncodeToString(hash), found, err
	}
	var live corev1.ConfigMap
	if err := r.Live.Get(ctx, f.name, &live); apierrors.IsNotFound(err) {
		return "", false, apply.ErrStale
	} else if err != nil {
		return "", false, fmt.Errorf("read ConfigMap %s: %w", f.name, err)
	}
	if data, found := live.BinaryData[f.key]; found {
		return string(data), true, nil
	}
	text, found = live.Data[f.key]
	return text, found, nil
}

// digest is a hash of several texts.
func digest(texts ...string) string {
	h := sha256.New()
	for _, text := range texts {
		_, _ = fmt.Fprintf(h, "%d:%s", len(text), text)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Applied reports whether the Database has recorded that just this SQL has run in it last.
func Applied(s State, db *cnpgv1.Database) bool {
	return db != nil && s.Digest != "" && db.Annotations[digestAnnotation] == s.Digest
}

// Conflict is a Job that is not the Dojo's and has the name of one that it needs; nil where there is
// none.
func (s *State) Conflict(d *corev1api.Dojo) *batchv1.Job {
	if ownership.Conflicts(d, s.Named) {
		return s.Named
	}
	return nil
}
