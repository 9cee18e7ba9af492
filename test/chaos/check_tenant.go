// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/environment"
)

func checkAbuser(w *world) (wrong violations) {
	const invariant = "a tenant gets nothing that it is not granted"
	for _, o := range slices.Concat(objects(w.abuse.servers), objects(w.abuse.channels), objects(w.abuse.dojos)) {
		if o.GetDeletionTimestamp() != nil {
			wrong.add(invariant, id(o), "its deletion does not end, though it has nothing: finalizers %v", o.GetFinalizers())
		}
	}
	for _, s := range w.abuse.servers {
		wrong = append(wrong, checkStatus(s, expectation{[]string{v1alpha1.ReasonAuthenticationFailed}})...)
	}
	for _, c := range w.abuse.channels {
		wrong = append(wrong, checkStatus(c, expectation{[]string{v1alpha1.ReasonNotAllowed}})...)
		if c.Status.ChannelID != "" || c.Status.Webhook != nil {
			wrong.add(invariant, id(c), "it has the channel %q, webhook %v", c.Status.ChannelID, c.Status.Webhook)
		}
	}
	for _, d := range w.abuse.dojos {
		wrong = append(wrong, checkStatus(d, expectation{[]string{
			corev1api.ReasonCredentialsNotShared, corev1api.ReasonChildRefused, corev1api.ReasonChannelNotReady}})...)
	}
	for _, d := range w.abuse.deployments {
		wrong.add(invariant, id(d), "it exists, although the quota of its namespace allows no Deployment")
	}
	for _, s := range w.abuse.secrets {
		wrong = append(wrong, secretOfTenant(w.abuse, s, invariant)...)
	}
	for _, c := range w.abuse.configMaps {
		if writtenByUs(c) {
			wrong.add(invariant, id(c), "an operator has written to what a user has made")
		}
	}
	for _, e := range w.guild.Audit {
		if e.UserID == w.botID && strings.Contains(e.Reason, " "+abuser+"/") {
			wrong.add(invariant, e.TargetID, "it was changed on Discord for the tenant: action %d, %s", e.Action, e.Reason)
		}
	}
	return wrong
}

// secretOfTenant permits an operator to write the Secret of a Dojo with the tenant's own
// credentials. It does not permit the operator to write a Secret that the tenant has created.
func secretOfTenant(all *abuse, s client.Object, invariant string) (wrong violations) {
	allowed := slices.ContainsFunc(all.dojos, func(d *corev1api.Dojo) bool {
		return s.GetName() == d.Name+"-credentials" && d.Spec.CredentialsRef.Namespace == ""
	})
	if writtenByUs(s) && (!allowed || s.GetAnnotations()[forgedAnnotation] != "") {
		wrong.add(invariant, id(s), "an operator has written it")
	}
	return wrong
}

func writtenByUs(o client.Object) bool {
	for _, entry := range o.GetManagedFields() {
		for _, operator := range environment.All {
			if entry.Manager == operator.Name {
				return true
			}
		}
	}
	return false
}
