// SPDX-License-Identifier: Apache-2.0

package applytest

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TB has the methods that testing.TB and rapid.TB share.
type TB interface {
	Helper()
	Fatal(args ...any)
}

// Edit updates an object as another manager and returns the result.
func Edit[T client.Object](t TB, s *Server, manager string, live T, change func(T)) T {
	t.Helper()
	edited := live.DeepCopyObject().(T)
	change(edited)
	if err := s.Update(context.Background(), edited, client.FieldOwner(manager)); err != nil {
		t.Fatal(err)
	}
	return edited
}

// EditStatus updates the status of an object as another manager and returns the result.
func EditStatus[T client.Object](t TB, s *Server, manager string, live T, change func(T)) T {
	t.Helper()
	return editSubresource(t, s, "status", manager, live, change)
}

// Scale updates an object through its scale subresource and returns the result.
func Scale[T client.Object](t TB, s *Server, manager string, live T, change func(T)) T {
	t.Helper()
	return editSubresource(t, s, "scale", manager, live, change)
}

func editSubresource[T client.Object](t TB, s *Server, name, manager string, live T, change func(T)) T {
	t.Helper()
	edited := live.DeepCopyObject().(T)
	change(edited)
	if err := s.SubResource(name).Update(context.Background(), edited, client.FieldOwner(manager)); err != nil {
		t.Fatal(err)
	}
	return edited
}

// Get reads an object into the last argument. It returns nil if the object is missing.
func Get[T client.Object](t TB, s *Server, namespace, name string, into T) T {
	t.Helper()
	var absent T
	err := s.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: name}, into)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	if err != nil {
		return absent
	}
	return into
}
