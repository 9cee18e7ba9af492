// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"testing"

	"k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit/policy"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"jutsu.com/operators/test/testcluster/project"
)

func TestAuditPolicy(t *testing.T) {
	file, err := project.Path("docs/examples/audit-policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := policy.LoadPolicyFromFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range loaded.Rules {
		if rule.Level != audit.LevelNone && rule.Level != audit.LevelMetadata {
			t.Errorf("the log of a rule has bodies: %+v", rule)
		}
	}
	evaluator := policy.NewPolicyRuleEvaluator(loaded)
	request := func(name, verb, group, resource, subresource string) authorizer.AttributesRecord {
		return authorizer.AttributesRecord{
			User: &user.DefaultInfo{Name: name}, Verb: verb, Namespace: "team-a", APIGroup: group, APIVersion: "v1", Resource: resource,
			Subresource: subresource, Name: "x", ResourceRequest: true,
		}
	}
	const operator = "system:serviceaccount:dojo-system:dojo-operator"
	for name, test := range map[string]struct {
		request authorizer.AttributesRecord
		want    audit.Level
	}{
		"a user reads a Secret":             {request("eve", "get", "", "secrets", ""), audit.LevelMetadata},
		"a user lists Secrets":              {request("eve", "list", "", "secrets", ""), audit.LevelMetadata},
		"an operator reads a Secret":        {request(operator, "get", "", "secrets", ""), audit.LevelMetadata},
		"a user makes a token":              {request("eve", "create", "", "serviceaccounts", "token"), audit.LevelMetadata},
		"a user runs a command in a pod":    {request("eve", "get", "", "pods", "exec"), audit.LevelMetadata},
		"a user grants a role":              {request("eve", "create", "rbac.authorization.k8s.io", "rolebindings", ""), audit.LevelMetadata},
		"a user changes a Dojo":             {request("eve", "patch", "core.jutsu.com", "dojos", ""), audit.LevelMetadata},
		"a user reads a Dojo":               {request("eve", "get", "core.jutsu.com", "dojos", ""), audit.LevelNone},
		"a user reads pods":                 {request("eve", "list", "", "pods", ""), audit.LevelNone},
		"Kubernetes itself watches Secrets": {request("system:kube-controller-manager", "watch", "", "secrets", ""), audit.LevelNone},
	} {
		t.Run(name, func(t *testing.T) {
			if got := evaluator.EvaluatePolicyRule(&test.request).Level; got != test.want {
				t.Errorf("the level is %s, want %s", got, test.want)
			}
		})
	}
}
