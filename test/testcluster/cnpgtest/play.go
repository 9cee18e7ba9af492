// SPDX-License-Identifier: Apache-2.0

package cnpgtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// withCondition sets a condition. Its lastTransitionTime changes only with its status.
func withCondition(o *unstructured.Unstructured, kind, status, reason, message string, now time.Time) []any {
	all, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	c := map[string]any{
		"type": kind, "status": status, "reason": reason, "message": message,
		"lastTransitionTime": now.UTC().Format(time.RFC3339),
	}
	for i := range all {
		if was := all[i].(map[string]any); was["type"] == kind {
			if was["status"] == status {
				c["lastTransitionTime"] = was["lastTransitionTime"]
			}
			all[i] = c
			return all
		}
	}
	return append(all, c)
}

func (s *StandIn) cluster(
	ctx context.Context, o *unstructured.Unstructured,
) (cluster *unstructured.Unstructured, up bool, err error) {
	name, _, _ := unstructured.NestedString(o.Object, "spec", "cluster", "name")
	cluster, err = s.read(ctx, "Cluster", o.GetNamespace(), name)
	return cluster, cluster != nil && s.answers(cluster), err
}

func (s *StandIn) answers(cluster *unstructured.Unstructured) bool {
	primary, _, _ := unstructured.NestedString(cluster.Object, "status", "currentPrimary")
	healthy, _, _ := unstructured.NestedStringSlice(cluster.Object, "status", "instancesStatus", "healthy")
	return slices.Contains(healthy, primary) && !s.isPaused(cluster.GetNamespace(), cluster.GetName())
}

func (s *StandIn) playRole(ctx context.Context, o *unstructured.Unstructured) error {
	cluster, up, err := s.cluster(ctx, o)
	if err != nil {
		return err
	}
	if cluster == nil {
		s.setLogin(o, false, "")
		return s.release(ctx, o, roleFinalizer)
	}
	if !up {
		return nil
	}
	name, _, _ := unstructured.NestedString(o.Object, "spec", "name")
	if o.GetDeletionTimestamp() != nil {
		policy, _, _ := unstructured.NestedString(o.Object, "spec", "databaseRoleReclaimPolicy")
		if policy == "delete" && s.owns(ctx, o.GetNamespace(), name) {
			return s.fail(ctx, o, fmt.Sprintf(`role %q cannot be dropped because some objects depend on it (SQLSTATE 2BP01)`,
				name))
		}
		if policy == "delete" {
			s.setLogin(o, false, "")
			s.SetRole(ctx, o.GetNamespace(), cluster.GetName(), name, "")
		}
		return s.finalize(ctx, o, roleFinalizer, false)
	}
	if err := s.finalize(ctx, o, roleFinalizer, true); err != nil {
		return err
	}
	password, version, why := s.password(ctx, o, name)
	applied, _, _ := unstructured.NestedString(o.Object, "status", "secretResourceVersion")
	if current(o) && version == applied {
		return nil
	}
	groups, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "inRoles")
	for _, group := range groups {
		if why == "" && !s.hasRole(ctx, o.GetNamespace(), group) {
			why = fmt.Sprintf(`ERROR: role %q does not exist (SQLSTATE 42704)`, group)
		}
	}
	if why != "" {
		return s.fail(ctx, o, why)
	}
	login, _, _ := unstructured.NestedBool(o.Object, "spec", "login")
	s.setLogin(o, login, password)
	return s.setStatus(ctx, o, map[string]any{
		"applied": true, "observedGeneration": o.GetGeneration(), "message": nil, "secretResourceVersion": version,
	})
}

func (s *StandIn) release(ctx context.Context, o *unstructured.Unstructured, finalizer string) error {
	if !slices.Contains(o.GetFinalizers(), finalizer) {
		return nil
	}
	err := s.setStatus(ctx, o, map[string]any{
		"applied": false, "observedGeneration": nil, "message": "cluster resource has been deleted, skipping reconciliation",
	})
	if err != nil {
		return err
	}
	return s.finalize(ctx, o, finalizer, false)
}

// password returns "" as the password if CloudNativePG does not notice a change of the Secret.
// version is the version of the Secret that CloudNativePG has noticed. why is an error, or "".
func (s *StandIn) password(
	ctx context.Context, o *unstructured.Unstructured, role string,
) (password, version, why string) {
	name, _, _ := unstructured.NestedString(o.Object, "spec", "passwordSecret", "name")
	var secret corev1.Secret
	if err := s.client.Get(ctx, types.NamespacedName{Namespace: o.GetNamespace(), Name: name}, &secret); err != nil {
		return "", "", err.Error()
	}
	if string(secret.Data["username"]) != role {
		return "", "", fmt.Sprintf("wrong username %q in secret, expected %q", secret.Data["username"], role)
	}
	applied, _, _ := unstructured.NestedString(o.Object, "status", "secretResourceVersion")
	if applied != "" && current(o) && secret.Labels[reloadLabel] != "true" {
		return "", applied, "" // without the label, CloudNativePG does not notice a change
	}
	return string(secret.Data["password"]), secret.ResourceVersion, ""
}

func (s *StandIn) owns(ctx context.Context, namespace, role string) bool {
	return slices.ContainsFunc(s.list(ctx, "Database", namespace), func(o unstructured.Unstructured) bool {
		owner, _, _ := unstructured.NestedString(o.Object, "spec", "owner")
		return owner == role
	})
}

func (s *StandIn) playDatabase(ctx context.Context, o *unstructured.Unstructured) error {
	cluster, up, err := s.cluster(ctx, o)
	if err != nil {
		return err
	}
	if cluster == nil {
		return s.release(ctx, o, databaseFinalizer)
	}
	if !up {
		return nil
	}
	name, _, _ := unstructured.NestedString(o.Object, "spec", "name")
	if o.GetDeletionTimestamp() != nil {
		policy, _, _ := unstructured.NestedString(o.Object, "spec", "databaseReclaimPolicy")
		if policy == "delete" && s.options.Sessions != nil && s.options.Sessions(ctx, o.GetNamespace(), name) > 0 {
			time.AfterFunc(interval, s.notify)
			return nil // DROP DATABASE fails, but the status does not say so
		}
		if policy == "delete" {
			s.dropDatabase(cluster.GetUID(), name)
		}
		return s.finalize(ctx, o, databaseFinalizer, false)
	}
	if err := s.finalize(ctx, o, databaseFinalizer, true); err != nil {
		return err
	}
	if current(o) {
		return nil
	}
	owner, _, _ := unstructured.NestedString(o.Object, "spec", "owner")
	if !s.hasRole(ctx, o.GetNamespace(), owner) {
		return s.fail(ctx, o, fmt.Sprintf(`ERROR: role %q does not exist (SQLSTATE 42704)`, owner))
	}
	s.createDatabase(cluster.GetUID(), name)
	extensions, missing := extensionsOf(o)
	if missing {
		if err := s.setStatus(ctx, o, map[string]any{"extensions": extensions}); err != nil {
			return err
		}
		return s.fail(ctx, o, "database object reconciliation failed")
	}
	return s.setStatus(ctx, o, map[string]any{
		"applied": true, "observedGeneration": o.GetGeneration(), "message": nil, "extensions": extensions,
	})
}

// Some of Postgres' own extensions: https://www.postgresql.org/docs/current/contrib.html
var contributed = []string{"pg_trgm", "citext", "hstore", "pgcrypto", "unaccent", "uuid-ossp"}

func extensionsOf(o *unstructured.Unstructured) (status any, missing bool) {
	wanted, _, _ := unstructured.NestedSlice(o.Object, "spec", "extensions")
	var all []any
	for _, extension := range wanted {
		name := extension.(map[string]any)["name"].(string)
		state := map[string]any{"name": name, "applied": true}
		if !slices.Contains(contributed, name) {
			missing = true
			state["applied"] = false
			state["message"] = fmt.Sprintf(`ERROR: extension %q is not available (SQLSTATE 0A000)`, name)
		}
		all = append(all, state)
	}
	if all == nil {
		return nil, false // removes the field
	}
	return all, missing
}

func (s *StandIn) hasRole(ctx context.Context, namespace, role string) bool {
	return slices.ContainsFunc(s.list(ctx, "DatabaseRole", namespace), func(o unstructured.Unstructured) bool {
		name, _, _ := unstructured.NestedString(o.Object, "spec", "name")
		applied, _, _ := unstructured.NestedBool(o.Object, "status", "applied")
		return name == role && applied
	})
}

func current(o *unstructured.Unstructured) bool {
	applied, _, _ := unstructured.NestedBool(o.Object, "status", "applied")
	seen, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
	return applied && seen == o.GetGeneration()
}

// fail reports an error in an object's status, at most once per retry interval.
func (s *StandIn) fail(ctx context.Context, o *unstructured.Unstructured, why string) error {
	s.mu.Lock()
	key := fmt.Sprintf("%s/%s/%s/%d", o.GetKind(), o.GetNamespace(), o.GetName(), o.GetGeneration())
	wait := time.Since(s.tried[key]) < s.options.RetryInterval
	if !wait {
		s.tried[key] = time.Now()
		time.AfterFunc(s.options.RetryInterval, s.notify)
	}
	s.mu.Unlock()
	if wait {
		return nil
	}
	return s.setStatus(ctx, o, map[string]any{"applied": false, "message": why})
}

func (s *StandIn) setStatus(ctx context.Context, o *unstructured.Unstructured, values map[string]any) error {
	before := o.DeepCopy()
	for key, value := range values {
		if value == nil {
			unstructured.RemoveNestedField(o.Object, "status", key)
			continue
		}
		if err := unstructured.SetNestedField(o.Object, value, "status", key); err != nil {
			return err
		}
	}
	patch := client.MergeFrom(before)
	if text, err := patch.Data(o); err != nil || string(text) == "{}" {
		return err
	}
	return s.client.Status().Patch(ctx, o, patch, client.FieldOwner("cnpg-stand-in"))
}

func (s *StandIn) finalize(ctx context.Context, o *unstructured.Unstructured, finalizer string, wanted bool) error {
	if slices.Contains(o.GetFinalizers(), finalizer) == wanted {
		return nil
	}
	before := o.DeepCopy()
	finalizers := slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return f == finalizer })
	if wanted {
		finalizers = append(finalizers, finalizer)
	}
	o.SetFinalizers(finalizers)
	err := s.client.Patch(ctx, o, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if meta.IsNoMatchError(err) {
		return errors.New("the kind has gone")
	}
	return err
}
