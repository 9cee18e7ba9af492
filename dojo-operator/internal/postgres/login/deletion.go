// SPDX-License-Identifier: Apache-2.0

package login

import (
	"cmp"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// DropRenamed deletes the DatabaseRole of a deleted Dojo if its spec.name, which is immutable, is
// not the name that this Dojo needs.
func DropRenamed(dojo *corev1api.Dojo, s State) (step cnpg.Step) {
	for l, login := range s.Logins {
		role, name := login.Role, cnpg.Login(l).SQLName(dojo)
		if dojo.Spec.Postgres.Cluster == nil || !ownership.Holds(dojo, role) || role.Spec.Name == name ||
			role.Spec.ReclaimPolicy == cnpgv1.DatabaseRoleReclaimDelete {
			continue
		}
		if role.DeletionTimestamp == nil {
			step.Delete = append(step.Delete, apply.Delete(cnpg.RoleKind.Kind, role))
		}
		step.Blocks = conditions.Progressing(corev1api.ReasonCreatingRole,
			"Waiting until the DatabaseRole %s/%s is deleted. It remains from a deleted Dojo. Its spec.name is %q, but "+
				"this Dojo needs the role %q.",
			role.Namespace, role.Name, role.Spec.Name, name)
	}
	return step
}

// Keep makes roles and Secrets outlive the Dojo: reclaim policy retain, and no owner reference.
func Keep(dojo *corev1api.Dojo, s State, in Input) (step cnpg.Step) {
	for l, login := range s.Logins {
		in.Login = cnpg.Login(l)
		if holds(dojo, login.Role) {
			role := For(dojo, in.Login, login.Role.Spec.Login, login.Role)
			step = step.Then(cnpg.Write(cnpg.Sync(in.Input, login.Role, role)))
		}
		if ownership.Holds(dojo, login.Secret) && login.Secret.DeletionTimestamp == nil {
			step = step.Then(cnpg.Write(planKept(dojo, s, in)))
		}
	}
	return step
}

// Drop deletes the role of a login.
func Drop(dojo *corev1api.Dojo, s State, in Input) (step cnpg.Step) {
	role := s.Logins[in.Login].Role
	if !holds(dojo, role) {
		return step
	}
	return cnpg.Removal{
		Kind: cnpg.RoleKind.Kind, Live: role, Message: role.Status.Message,
		Desired: For(dojo, in.Login, role.Spec.Login, role),
	}.Drop(in.Input)
}

// holds is false for a role in another Cluster: a former Dojo of this name had that role.
func holds(dojo *corev1api.Dojo, role *cnpgv1.DatabaseRole) bool {
	return ownership.Holds(dojo, role) && role.Spec.ClusterRef.Name == cnpg.ClusterName(dojo)
}

// Conflict returns an issue if a foreign object has the name of a needed Secret or DatabaseRole.
func Conflict(dojo *corev1api.Dojo, s State) (issue *conditions.Issue) {
	rotation := RotationOf(dojo, s)
	for l, login := range s.Logins {
		if rotation.Involves(cnpg.Login(l)) || cnpg.Login(l) == cnpg.Owner {
			issue = cmp.Or(ownership.DataConflict(dojo, "Secret", login.Secret),
				ownership.DataConflict(dojo, cnpg.RoleKind.Kind, login.Role), issue)
		}
	}
	return issue
}
