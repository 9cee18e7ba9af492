// SPDX-License-Identifier: Apache-2.0

// Package v1 has the custom resources of the group core.jutsu.com: the Dojo, a
// small web application with a database.
//
// The package depends on apimachinery and the core types only, so that a program which reads or
// writes Dojos does not need a controller framework.
// +kubebuilder:object:generate=true
// +groupName=core.jutsu.com
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "core.jutsu.com", Version: "v1"}

var (
	schemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme registers the kinds of this package with a scheme.
	AddToScheme = schemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Dojo{}, &DojoList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
