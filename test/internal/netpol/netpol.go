// SPDX-License-Identifier: Apache-2.0

// Package netpol evaluates NetworkPolicies for tests on clusters that do not enforce them
// (https://kubernetes.io/docs/concepts/services-networking/network-policies/).
package netpol

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Peer is a pod with the labels of its namespace.
type Peer struct {
	Pod             *corev1.Pod
	NamespaceLabels map[string]string
}

// Allows reports whether the ingress rules permit a TCP connection. It returns an error if it reads
// a rule with a range of IP addresses or ports.
func Allows(policies []networkingv1.NetworkPolicy, from, to Peer, port int32) (bool, error) {
	selected := false
	for i := range policies {
		policy := &policies[i]
		ours, err := matches(&policy.Spec.PodSelector, to.Pod.Labels)
		if err != nil {
			return false, fmt.Errorf("policy %s: %w", policy.Name, err)
		}
		if policy.Namespace != to.Pod.Namespace || !ours ||
			!slices.Contains(policy.Spec.PolicyTypes, networkingv1.PolicyTypeIngress) {
			continue
		}
		selected = true
		for _, rule := range policy.Spec.Ingress {
			allowed, err := allows(&rule, policy.Namespace, from, to, port)
			if err != nil {
				return false, fmt.Errorf("policy %s: %w", policy.Name, err)
			}
			if allowed {
				return true, nil
			}
		}
	}
	return !selected, nil // everything is allowed if no policy selects the pod
}

func allows(rule *networkingv1.NetworkPolicyIngressRule, namespace string, from, to Peer, port int32) (bool, error) {
	allowed := len(rule.From) == 0
	for i := range rule.From {
		is, err := isPeer(&rule.From[i], namespace, from)
		if err != nil {
			return false, err
		}
		allowed = allowed || is
	}
	ported := len(rule.Ports) == 0
	for i := range rule.Ports {
		p := &rule.Ports[i]
		if p.EndPort != nil {
			return false, errors.New("a range of ports is not supported")
		}
		if p.Protocol == nil || *p.Protocol == corev1.ProtocolTCP {
			ported = ported || p.Port == nil || isPort(*p.Port, to.Pod, port)
		}
	}
	return allowed && ported, nil
}

func isPeer(peer *networkingv1.NetworkPolicyPeer, namespace string, from Peer) (bool, error) {
	if peer.IPBlock != nil {
		return false, errors.New("addresses are not supported")
	}
	if peer.NamespaceSelector == nil && from.Pod.Namespace != namespace {
		return false, nil
	}
	for _, m := range []struct {
		selector *metav1.LabelSelector
		labels   map[string]string
	}{{peer.NamespaceSelector, from.NamespaceLabels}, {peer.PodSelector, from.Pod.Labels}} {
		if m.selector == nil {
			continue
		}
		if ok, err := matches(m.selector, m.labels); err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

func isPort(allowed intstr.IntOrString, pod *corev1.Pod, port int32) bool {
	if allowed.Type == intstr.Int {
		return allowed.IntVal == port
	}
	for i := range pod.Spec.Containers {
		if slices.ContainsFunc(pod.Spec.Containers[i].Ports, func(p corev1.ContainerPort) bool {
			return p.Name == allowed.StrVal && p.ContainerPort == port
		}) {
			return true
		}
	}
	return false
}

func matches(selector *metav1.LabelSelector, set map[string]string) (bool, error) {
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && s.Matches(labels.Set(set)), err
}
