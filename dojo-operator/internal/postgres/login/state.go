// SPDX-License-Identifier: Apache-2.0

package login

import (
	"context"
	"crypto/rand"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/apply"
)

// State has the observed logins. An absent object is nil.
type State struct {
	Logins [2]Login
	// Connected reports whether the application's credentials name a login, which is then Current.
	// Otherwise Current is the owner, unless only the second login may log in.
	Connected bool
	Current   cnpg.Login
	// Users names the other Dojos that use the former login. It is empty unless the former login must
	// be retired and has a Secret. Leaving names other Dojos that use the current login, but whose
	// credentials or pods may still have the former login.
	Users, Leaving []string
}

// Login is an observed login.
type Login struct {
	// Secret is metadata. Password is the Secret's password; it is nil unless the Secret must be
	// rewritten. NewPassword is random.
	Secret      *metav1.PartialObjectMetadata
	Password    []byte
	NewPassword string
	Role        *cnpgv1.DatabaseRole
}

// Observe reads the logins. source names the Secret from which the application's credentials were
// copied.
func Observe(
	ctx context.Context, r apply.Reader, dojo *corev1api.Dojo, source string, readable bool,
) (s State, err error) {
	for l := range s.Logins {
		name, login := secretName(dojo, cnpg.Login(l)), &s.Logins[l]
		if readable {
			if login.Role, err = apply.Get(ctx, r, cnpg.RoleKind.Kind, name, &cnpgv1.DatabaseRole{}); err != nil {
				return s, err
			}
		}
		if login.Secret, err = apply.Get(ctx, r, "Secret", name, apply.Metadata("v1", "Secret")); err != nil {
			return s, err
		}
		login.NewPassword = rand.Text()
	}
	s.Connect(dojo, source)
	rotation := RotationOf(dojo, s)
	for l := range s.Logins {
		if secret := s.Logins[l].Secret; rotation.Involves(cnpg.Login(l)) || secret != nil && isRetired(secret) {
			if err := s.Logins[l].observePassword(ctx, r, dojo, cnpg.Login(l)); err != nil {
				return s, err
			}
		}
	}
	if former := rotation.Current.Other(); Retires(dojo, s) && s.Logins[former].Secret != nil {
		dojos, err := ownership.Naming(ctx, r.Cache, secretName(dojo, former))
		if err != nil {
			return s, err
		}
		s.Users = ownership.Users(dojos, s.Logins[former].Secret)
	}
	return s, nil
}

// Connect sets Connected and Current. source names the Secret from which the application's
// credentials were copied.
func (s *State) Connect(dojo *corev1api.Dojo, source string) {
	for _, l := range []cnpg.Login{cnpg.Owner, cnpg.Second} {
		if source == l.ObjectName(dojo) {
			s.Connected, s.Current = true, l
			return
		}
	}
	if mayLogIn(dojo, s.Logins[cnpg.Second]) && !mayLogIn(dojo, s.Logins[cnpg.Owner]) {
		s.Current = cnpg.Second
	}
}

func secretName(dojo *corev1api.Dojo, l cnpg.Login) types.NamespacedName {
	return types.NamespacedName{Namespace: dojo.Namespace, Name: l.ObjectName(dojo)}
}

func (login *Login) observePassword(
	ctx context.Context, r apply.Reader, dojo *corev1api.Dojo, l cnpg.Login,
) (err error) {
	name := secretName(dojo, l)
	if login.Secret == nil {
		login.Secret, err = r.ConfirmAbsent(ctx, name)
	}
	if err != nil || !ownership.Holds(dojo, login.Secret) || InSync(dojo, l, login.Secret) ||
		isRetired(login.Secret) && keptInSync(dojo, l, login.Secret) {
		return err
	}
	secret, err := r.ReadSecret(ctx, name)
	if err == nil {
		login.Password = secret.Data["password"]
	}
	return err
}
