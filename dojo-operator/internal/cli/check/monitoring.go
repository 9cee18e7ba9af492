// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/dojo-operator/internal/monitoring"
)

func (f Facts) monitoringLines() []Line {
	watched := f.some(monitoring.Monitored)
	line := f.kindLine("prometheus-operator", "spec.monitoring and spec.alerts", watched,
		kinds.ServiceMonitor, kinds.Rule, kinds.Route)
	if line.Mark != OK {
		return []Line{line}
	}
	all := []Line{line}
	all = append(all, f.selectorLines("Prometheus", f.Prometheuses, watched,
		selection{"ruleSelector", "ruleNamespaceSelector", "PrometheusRules"},
		selection{"serviceMonitorSelector", "serviceMonitorNamespaceSelector", "ServiceMonitors"})...)
	alerts := f.some(func(d *corev1api.Dojo) bool { return d.Spec.Alerts != nil })
	all = append(all, f.selectorLines("Alertmanager", f.Alertmanagers, alerts,
		selection{"alertmanagerConfigSelector", "alertmanagerConfigNamespaceSelector", "AlertmanagerConfigs"})...)
	return append(all, f.scrapeLine(watched))
}

func (f Facts) scrapeLine(needed bool) Line {
	line := Line{Subject: "operator's metrics"}
	switch {
	case f.Scraped == nil:
		line.Mark, line.Text = Unseen, "you may not list servicemonitors.monitoring.coreos.com in all namespaces"
	case *f.Scraped:
		line.Mark, line.Text = OK, "a ServiceMonitor reads them"
	case needed:
		line.Mark, line.Text = Fix, "no ServiceMonitor reads them, but the alert rules of Dojos need them"
		line.Do = "add the kustomize component deploy/dojo-operator/components/prometheus, or set prometheus.enabled in " +
			"the Helm chart"
	default:
		line.Mark, line.Text = None, "no ServiceMonitor reads them"
	}
	return line
}

// selection names two selectors in the spec of a Prometheus or Alertmanager: objects selects the
// objects of a kind, and namespaces selects their namespaces.
type selection struct{ objects, namespaces, kind string }

func (f Facts) selectorLines(subject string, servers []unstructured.Unstructured, needed bool, by ...selection) []Line {
	none := "the cluster has no " + subject + " of prometheus-operator"
	switch {
	case servers == nil:
		return []Line{{Mark: Unseen, Subject: subject, Text: "you may not list objects of this kind in all namespaces"}}
	case len(servers) == 0 && needed:
		return []Line{{Mark: Fix, Subject: subject, Text: none, Do: "create one"}}
	case len(servers) == 0:
		return []Line{{Mark: None, Subject: subject, Text: none}}
	}
	var all []Line
	selected := false
	for i := range servers {
		line := f.selectorLine(subject, &servers[i], by)
		selected = selected || line.Mark == OK
		all = append(all, line)
	}
	if selected || !needed { // one server that selects the objects suffices
		for i := range all {
			if all[i].Mark == Fix {
				all[i].Mark, all[i].Do = None, ""
			}
		}
	}
	return all
}

func (f Facts) selectorLine(subject string, server *unstructured.Unstructured, by []selection) Line {
	name := server.GetNamespace() + "/" + server.GetName()
	var not, do []string
	for _, s := range by {
		namespaces := labels.Set(f.Labels)
		if f.Labels == nil {
			namespaces = labels.Set{"kubernetes.io/metadata.name": f.Namespace}
		}
		if !selects(server, s.namespaces, namespaces, server.GetNamespace() == f.Namespace) {
			not = append(not, s.kind+" of the namespace "+f.Namespace)
			do = append(do, fmt.Sprintf("make %s of %s match the labels of the namespace %s", s.namespaces, name, f.Namespace))
			continue
		}
		for _, d := range f.watched() {
			if !selects(server, s.objects, monitored(&d), false) {
				not = append(not, s.kind+" of "+d.Name)
				do = append(do, fmt.Sprintf("make %s of %s and spec.monitoring.labels of %s match", s.objects, name, d.Name))
			}
		}
	}
	if len(not) > 0 {
		text := name + " does not select " + strings.Join(not, ", ")
		return Line{Mark: Fix, Subject: subject, Text: text, Do: strings.Join(do, "; ")}
	}
	return Line{Mark: OK, Subject: subject, Text: fmt.Sprintf("%s selects the objects of Dojos in %s", name, f.Namespace)}
}

// watched returns the Dojos with monitoring. Without such a Dojo, it returns a made-up Dojo, so
// that the selectors are checked.
func (f Facts) watched() (all []corev1api.Dojo) {
	for _, d := range f.Dojos {
		if monitoring.Monitored(&d) {
			all = append(all, d)
		}
	}
	if len(all) == 0 {
		d := corev1api.Dojo{}
		d.Namespace, d.Name = f.Namespace, "a new Dojo"
		all = append(all, d)
	}
	return all
}
