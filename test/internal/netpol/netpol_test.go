// SPDX-License-Identifier: Apache-2.0

package netpol

import (
	"cmp"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

func peer(namespace, app string) Peer {
	return Peer{
		NamespaceLabels: map[string]string{"name": namespace},
		Pod: &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Labels: map[string]string{"app": app}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
			}}},
		},
	}
}

func TestAllows(t *testing.T) {
	const (
		itself    = "from: [{podSelector: {}}]"
		b         = "namespaceSelector: {matchLabels: {name: b}}"
		podsOfB   = "from: [{" + b + ", podSelector: {matchLabels: {app: x}}}]"
		othersB   = "from: [{" + b + ", podSelector: {matchLabels: {app: y}}}]"
		aOrAny    = "from: [{podSelector: {}}, {namespaceSelector: {}}]"
		addresses = "from: [{ipBlock: {cidr: 10.0.0.0/8}}]"
	)
	for name, test := range map[string]struct {
		selects, rule string // by default, the policy selects the pod and has no rule
		from          Peer
		port          int32
		want, err     bool
	}{
		"no policy selects the pod":                                        {selects: "other", from: peer("b", "x"), want: true},
		"a policy without rules selects the pod":                           {from: peer("a", "x"), port: 8080},
		"the rule allows the pod's namespace, and the client is there":     {rule: itself, from: peer("a", "x"), want: true},
		"the rule allows the pod's namespace, and the client is elsewhere": {rule: itself, from: peer("b", "x")},
		"the rule allows the client's namespace":                           {rule: "from: [{" + b + "}]", from: peer("b", "x"), want: true},
		"the rule allows the client's labels in its namespace":             {rule: podsOfB, from: peer("b", "x"), want: true},
		"the rule allows other labels in the client's namespace":           {rule: othersB, from: peer("b", "x")},
		"the rule allows two peers, and the second matches the client":     {rule: aOrAny, from: peer("b", "x"), want: true},
		"the rule allows the port":                                         {rule: "ports: [{port: 80}]", from: peer("b", "x"), port: 80, want: true},
		"the rule allows another port":                                     {rule: "ports: [{port: 80}]", from: peer("b", "x"), port: 81},
		"the rule allows another protocol":                                 {rule: "ports: [{port: 80, protocol: UDP}]", from: peer("b", "x"), port: 80},
		"the rule allows the port by its name":                             {rule: "ports: [{port: http}]", from: peer("b", "x"), port: 8080, want: true},
		"the rule allows another port by its name":                         {rule: "ports: [{port: http}]", from: peer("b", "x"), port: 80},
		"a rule with an IP range fails":                                    {rule: addresses, from: peer("b", "x"), err: true},
		"a rule with a port range fails":                                   {rule: "ports: [{port: 1, endPort: 3}]", from: peer("b", "x"), port: 2, err: true},
	} {
		t.Run(name, func(t *testing.T) {
			spec := fmt.Sprintf("{podSelector: {matchLabels: {app: %s}}, policyTypes: [Ingress]", cmp.Or(test.selects, "web"))
			if test.rule != "" {
				spec += ", ingress: [{" + test.rule + "}]"
			}
			policy := networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "a"}}
			if err := yaml.UnmarshalStrict([]byte(spec+"}"), &policy.Spec); err != nil {
				t.Fatal(err)
			}
			elsewhere, egress := policy, policy // policies that must not affect the result
			elsewhere.Namespace = "b"
			egress.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeEgress}
			elsewhere.Spec.Ingress, egress.Spec.Ingress = nil, nil
			got, err := Allows([]networkingv1.NetworkPolicy{elsewhere, egress, policy}, test.from, peer("a", "web"), test.port)
			if got != test.want || (err != nil) != test.err {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}
