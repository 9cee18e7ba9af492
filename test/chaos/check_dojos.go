// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
)

func find[O client.Object](list []O, name string) (found O) {
	for _, o := range list {
		if o.GetName() == name {
			return o
		}
	}
	return found
}

func objects[O client.Object](list []O) (all []client.Object) {
	for _, o := range list {
		all = append(all, o)
	}
	return all
}

func checkDojos(w *world) (wrong violations) {
	for _, d := range w.dojos {
		if d.DeletionTimestamp != nil || w.databaseElsewhere(d) {
			continue
		}
		for _, what := range slices.Concat(w.workloadDiffers(d), w.credentialsDiffer(d), w.extrasDiffer(d)) {
			wrong.add("a Dojo matches its spec", id(d), "%s", what)
		}
	}
	return append(wrong, w.databases()...)
}

func (w *world) workloadDiffers(d *corev1api.Dojo) (all []string) {
	replicas := int32(1)
	if d.Spec.Replicas != nil {
		replicas = *d.Spec.Replicas
	}
	if deployment := find(w.deployments, d.Name); deployment == nil {
		all = append(all, "there is no Deployment")
	} else {
		all = append(all, differ("replicas of the Deployment", replicas, *deployment.Spec.Replicas)...)
		all = append(all, differ("ready replicas", replicas, deployment.Status.ReadyReplicas)...)
		all = append(all, differ("the Dojo's ownership of the Deployment", true, metav1.IsControlledBy(deployment, d))...)
		all = append(all, differ("title in the environment", d.Spec.Title, variable(deployment, "DOJO_TITLE"))...)
		all = append(all, differ("label of the Deployment", "dojo-operator",
			deployment.Labels["app.kubernetes.io/managed-by"])...)
	}
	if service := find(w.services, d.Name); service == nil {
		all = append(all, "there is no Service")
	} else {
		all = append(all, differ("the Dojo's ownership of the Service", true, metav1.IsControlledBy(service, d))...)
		all = append(all, differ("type of the Service", corev1.ServiceTypeClusterIP, service.Spec.Type)...)
	}
	return append(all, differ("PodDisruptionBudget", replicas > 1,
		find(w.budgets, d.Name) != nil)...)
}

func variable(d *appsv1.Deployment, name string) string {
	for _, c := range d.Spec.Template.Spec.Containers {
		for _, e := range c.Env {
			if e.Name == name {
				return e.Value
			}
		}
	}
	return ""
}

// credentialsDiffer compares the password in a Dojo's Secret with the source of the password.
func (w *world) credentialsDiffer(d *corev1api.Dojo) []string {
	from := d.Name + "-db"
	if db := d.Status.Database; db != nil && strings.HasPrefix(db.Login, "dojo2_") {
		from += "-2" // after a rotation
	}
	if ref := d.Spec.CredentialsRef; ref != nil {
		from = ref.Name
	}
	source, own := find(w.secrets, from), find(w.secrets, d.Name+"-credentials")
	switch {
	case source == nil || own == nil:
		return []string{fmt.Sprintf("the Secret %s exists: %t; its copy exists: %t", from, source != nil, own != nil)}
	case !bytes.Equal(source.Data["password"], own.Data["DB_PASS"]):
		return []string{"the password in its Secret is not that of " + from}
	}
	return nil
}

func (w *world) extrasDiffer(d *corev1api.Dojo) (all []string) {
	alerted := d.Spec.Alerts != nil
	there := func(kind string) bool {
		return slices.ContainsFunc(w.custom,
			func(o *unstructured.Unstructured) bool { return o.GetKind() == kind && o.GetName() == d.Name })
	}
	all = append(all, differ("ServiceMonitor", alerted, there("ServiceMonitor"))...)
	all = append(all, differ("PrometheusRule", alerted, there("PrometheusRule"))...)
	channel := find(w.channels, d.Name+"-alerts")
	all = append(all, differ("DiscordChannel", alerted, channel != nil)...)
	if alerted && channel != nil {
		all = append(all, differ("group of the DiscordChannel", d.Spec.Alerts.Discord.GroupRef.Name,
			channel.Spec.GroupRef.Name)...)
	}
	if hooked := channel != nil && channel.Status.Webhook != nil; !alerted || hooked {
		all = append(all, differ("AlertmanagerConfig", alerted, there("AlertmanagerConfig"))...)
	}
	return all
}

// databases finds Postgres objects that should be gone, and Postgres objects that a Dojo lacks.
func (w *world) databases() (wrong violations) {
	wanted, second := map[string]bool{"Cluster " + sharedCluster: true}, map[string]bool{}
	for _, d := range w.dojos {
		if d.Spec.Postgres == nil || d.DeletionTimestamp != nil || w.databaseElsewhere(d) {
			continue
		}
		kinds := []string{"DatabaseRole", "Database"}
		if d.Spec.Postgres.Cluster != nil {
			kinds = append(kinds, "Cluster")
		}
		for _, kind := range kinds {
			wanted[kind+" "+d.Name+"-db"] = true
		}
		second["DatabaseRole "+d.Name+"-db-2"] = true // exists only after a password rotation
	}
	retained := w.retained()
	for _, o := range w.custom {
		name := o.GetKind() + " " + o.GetName()
		if !strings.HasPrefix(o.GetAPIVersion(), "postgresql.cnpg.io/") || wanted[name] || second[name] {
			delete(wanted, name)
			continue
		}
		if !retained[strings.TrimSuffix(strings.TrimSuffix(o.GetName(), "-2"), "-db")] {
			wrong.add("no orphan", name, "its Dojo is gone, with the reclaimPolicy Delete")
		}
	}
	delete(wanted, "Cluster "+sharedCluster)
	for name := range wanted {
		wrong.add("a Dojo matches its spec", name, "it is not there")
	}
	return wrong
}

func (w *world) retained() map[string]bool {
	names := map[string]bool{}
	for _, o := range w.gone {
		if d, ok := o.(*corev1api.Dojo); ok && d.Spec.Postgres != nil &&
			d.Spec.Postgres.ReclaimPolicy != corev1api.ReclaimDelete {
			names[d.Name] = true
		}
	}
	return names
}

func checkOwners(w *world) (wrong violations) {
	alive := map[types.UID]bool{}
	for _, o := range append(objects(w.channels), objects(w.dojos)...) {
		alive[o.GetUID()] = true
	}
	for _, o := range slices.Concat(objects(w.channels), objects(w.secrets), objects(w.deployments), objects(w.services),
		objects(w.budgets), objects(w.custom)) {
		owner := metav1.GetControllerOf(o)
		if owner != nil && slices.Contains([]string{"Dojo", "DiscordChannel"}, owner.Kind) && !alive[owner.UID] {
			wrong.add("no orphan", id(o), "its owner %s %s is gone", owner.Kind, owner.Name)
		}
	}
	return wrong
}
