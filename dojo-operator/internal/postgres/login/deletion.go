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

// DropRenamed deletes a former Dojo's DatabaseRoles with other names, which cannot change.
func DropRenamed(d *corev1api.Dojo, s State) (step cnpg.Step) {
	for l, login := range s.Logins {
		role, name := login.Role, cnpg.Login(l).SQLName(d)
		if d.Spec.Postgres.Cluster == nil || !ownership.Holds(d, role) || role.Spec.Name == name ||
			role.Spec.ReclaimPolicy == cnpgv1.DatabaseRoleReclaimDelete {
			continue
		}
		if role.DeletionTimestamp == nil {
			step.Delete = append(step.Delete, apply.Delete(cnpg.RoleKind.Kind, role))
		}
		step.Blocks = conditions.Progressing(corev1api.ReasonCreatingRole,
			"Waiting until the DatabaseRole %s/%s is deleted, which a former Dojo has left: "+
				"it is of the role %s, and not of %s.",
			role.Namespace, role.Name, role.Spec.Name, name)
	}
	return step
}

// Keep marks the logins to outlive the Dojo.
func Keep(d *corev1api.Dojo, s State, in Input) (step cnpg.Step) {
	for l, login := range s.Logins {
		in.Login = cnpg.Login(l)
		if holds(d, login.Role) {
			role := For(d, in.Login, login.Role.Spec.Login, login.Role)
			step = step.Then(cnpg.Write(cnpg.Sync(in.Input, login.Role, role)))
		}
		if ownership.Holds(d, login.Secret) && login.Secret.DeletionTimestamp == nil {
			step = step.Then(cnpg.Write(planKept(d, s, in)))
		}
	}
	return step
}

// Drop deletes the role of a login.
func Drop(d *corev1api.Dojo, s State, in Input) (step cnpg.Step) {
	role := s.Logins[in.Login].Role
	if !holds(d, role) {
		return step
	}
	return cnpg.Removal{
		Kind: cnpg.RoleKind.Kind, Live: role, Message: role.Status.Message,
		Desired: For(d, in.Login, role.Spec.Login, role),
	}.Drop(in.Input)
}

// holds ignores a role in another Cluster, which a former Dojo has retained.
func holds(d *corev1api.Dojo, role *cnpgv1.DatabaseRole) bool {
	return ownership.Holds(d, role) && role.Spec.ClusterRef.Name == cnpg.ClusterName(d)
}

// Conflict returns the issue of a foreign object with the name of a login in use, or nil.
func Conflict(d *corev1api.Dojo, s State) (issue *conditions.Issue) {
	rotation := RotationOf(d, s)
	for l, login := range s.Logins {
		if rotation.Involves(cnpg.Login(l)) || cnpg.Login(l) == cnpg.Owner {
			issue = cmp.Or(ownership.DataConflict(d, "Secret", login.Secret),
				ownership.DataConflict(d, cnpg.RoleKind.Kind, login.Role), issue)
		}
	}
	return issue
}
