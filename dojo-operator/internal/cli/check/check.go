// SPDX-License-Identifier: Apache-2.0

// Package check finds missing API kinds, operators, Prometheus selectors and rights, without I/O.
package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/images"
	"jutsu.com/operators/libs/kubectl/term"
)

// Mark is the result of one check.
type Mark string

// The results of a check.
const (
	OK Mark = "ok"
	// Fix requires an action by a user.
	Fix Mark = "fix"
	// None marks something absent or unsuitable that requires no action.
	None Mark = "--"
	// Unseen marks something that the user may not read.
	Unseen Mark = "?"
)

// Line is a line of the report: a check and its result.
type Line struct {
	Mark    Mark   `json:"mark"`
	Subject string `json:"subject"`
	Text    string `json:"text"`
	// Do is the remedy, such as a command.
	Do string `json:"do,omitempty"`
}

// Facts is the input of [Lines], read from the cluster.
type Facts struct {
	Namespace string
	// Labels are the labels of the namespace; nil if the user may not read them.
	Labels map[string]string
	Dojos  []corev1api.Dojo
	// Absent is true for each resource that the API server does not serve.
	Absent map[string]bool
	// Deployments maps the label app.kubernetes.io/name to the operators' Deployments of all
	// namespaces. Blind is true if the user may not list them.
	Deployments map[string][]appsv1.Deployment
	Blind       bool
	// Prometheuses and Alertmanagers come from all namespaces; nil if the user may not list them.
	Prometheuses, Alertmanagers []unstructured.Unstructured
	// Scraped reports whether a ServiceMonitor scrapes the operator's metrics; nil if unknown.
	Scraped *bool
	Classes []storagev1.StorageClass

	Rights []Right
}

// Right lists the rights that a group of commands needs and the user lacks.
type Right struct {
	Commands string
	Lacks    []string
	// Needed is true if kubectl dojo is useless without these rights.
	Needed bool
}

// The values of the label app.kubernetes.io/name on the operators' Deployments.
const (
	DojoOperator    = "dojo-operator"
	DiscordOperator = "discord-operator"
	CloudNativePG   = "cloudnative-pg"
)

// Operators are the names of all operators.
var Operators = []string{DojoOperator, DiscordOperator, CloudNativePG}

// Lines runs all checks on the facts.
func Lines(f Facts) (all []Line) {
	all = append(all, f.kindLine("Dojo", "needed", true, kinds.Dojo), f.operatorLine(DojoOperator, true))
	postgres := f.some(func(d *corev1api.Dojo) bool { return d.Spec.Postgres != nil })
	all = append(all, f.kindLine("CloudNativePG", "spec.postgres", postgres,
		kinds.Cluster, kinds.Role, kinds.Database, kinds.Schedule, kinds.Backup, kinds.Pooler))
	if !f.Absent[kinds.Cluster.Resource()] {
		all = append(all, f.operatorLine(CloudNativePG, postgres))
	}
	barman := f.some(func(d *corev1api.Dojo) bool {
		b := d.BackupPolicy()
		return b != nil && b.Plugin != nil && b.Plugin.Name == "barman-cloud.cloudnative-pg.io"
	})
	all = append(all,
		f.kindLine("barman-cloud", "backups into an object store", barman, kinds.ObjectStore), f.storageLine(postgres))
	all = append(all, f.monitoringLines()...)
	alerts := f.some(func(d *corev1api.Dojo) bool { return d.Spec.Alerts != nil })
	all = append(all, f.kindLine("Discord", "spec.alerts", alerts, kinds.Channel))
	if !f.Absent[kinds.Channel.Resource()] {
		all = append(all, f.operatorLine(DiscordOperator, alerts))
	}
	gateway := f.some(func(d *corev1api.Dojo) bool { e := d.Spec.Exposure; return e != nil && e.Gateway != nil })
	all = append(all, f.kindLine("Gateway API", "spec.exposure.gateway", gateway, kinds.HTTPRoute))
	return append(all, f.rightLines()...)
}

func (f Facts) some(is func(*corev1api.Dojo) bool) bool {
	return slices.ContainsFunc(f.Dojos, func(d corev1api.Dojo) bool { return is(&d) })
}

var install = map[string]string{
	"Dojo": "install dojo-operator: docs/do/install.md", "CloudNativePG": "install CloudNativePG 1.30 or newer: " +
		"https://cloudnative-pg.io", "barman-cloud": "install the plugin: https://cloudnative-pg.io/plugin-barman-cloud",
	"Discord":             "install discord-operator: docs/do/install.md",
	"Gateway API":         "install it: https://gateway-api.sigs.k8s.io",
	"prometheus-operator": "install it: https://prometheus-operator.dev",
}

func (f Facts) kindLine(subject, use string, needed bool, all ...kinds.Kind) Line {
	var absent []string
	for _, k := range all {
		if f.Absent[k.Resource()] {
			absent = append(absent, k.Resource())
		}
	}
	switch {
	case len(absent) == 0:
		return Line{Mark: OK, Subject: subject, Text: term.Count(len(all), "kind") + " of " + all[0].GroupVersion().String()}
	case !needed:
		return Line{Mark: None, Subject: subject, Text: "not installed; it is for " + use}
	case len(absent) < len(all):
		return Line{Mark: Fix, Subject: subject, Text: "lacks " + strings.Join(absent, ", "), Do: install[subject]}
	}
	return Line{Mark: Fix, Subject: subject, Text: "not installed; Dojos here need it", Do: install[subject]}
}

func (f Facts) operatorLine(name string, needed bool) Line {
	line := Line{Subject: name}
	found := f.Deployments[name]
	switch {
	case f.Blind:
		line.Mark, line.Text = Unseen, "you may not list deployments.apps in all namespaces"
	case len(found) == 0 && !needed:
		line.Mark, line.Text = None, "no Deployment has the label app.kubernetes.io/name="+name
	case len(found) == 0:
		line.Mark, line.Text = Fix, "no Deployment has the label app.kubernetes.io/name="+name
		line.Do = "install " + name + ", unless it runs without this label"
	default:
		line.Mark = OK
		var texts []string
		for i := range found {
			d := &found[i]
			texts = append(texts, fmt.Sprintf("%s in %s, %d/%d pods",
				version(d), d.Namespace, d.Status.ReadyReplicas, d.Status.Replicas))
			if d.Status.ReadyReplicas == 0 {
				line.Mark, line.Do = Fix, fmt.Sprintf("kubectl describe deployments.apps %s -n %s", d.Name, d.Namespace)
			}
		}
		line.Text = strings.Join(texts, "; ")
	}
	return line
}

func version(d *appsv1.Deployment) string {
	containers := d.Spec.Template.Spec.Containers
	if len(containers) == 0 {
		return "?"
	}
	image := containers[0].Image
	name, digest, _ := strings.Cut(image[strings.LastIndex(image, "/")+1:], "@")
	return cmp.Or(images.Tag(image), digest[:min(len(digest), 19)], name)
}

func (f Facts) storageLine(needed bool) Line {
	line := Line{Mark: OK, Subject: "StorageClass"}
	for i := range f.Classes {
		c := &f.Classes[i]
		if c.Annotations["storageclass.kubernetes.io/is-default-class"] != "true" {
			continue
		}
		line.Text = c.Name + " is the default"
		if c.AllowVolumeExpansion == nil || !*c.AllowVolumeExpansion {
			line.Text += "; its volumes cannot grow"
		}
		return line
	}
	named := !f.some(func(d *corev1api.Dojo) bool {
		pg := d.Spec.Postgres
		return pg != nil && pg.Cluster != nil && pg.Cluster.Storage.StorageClassName == ""
	})
	switch {
	case f.Classes == nil:
		return Line{Mark: Unseen, Subject: "StorageClass", Text: "you may not list storageclasses.storage.k8s.io"}
	case named || !needed:
		return Line{Mark: None, Subject: "StorageClass", Text: "the cluster has no default StorageClass"}
	}
	return Line{Mark: Fix, Subject: "StorageClass",
		Text: "the cluster has no default StorageClass, and at least one Dojo does not name a StorageClass",
		Do: "kubectl annotate storageclasses.storage.k8s.io NAME --overwrite " +
			"storageclass.kubernetes.io/is-default-class=true"}
}

func (f Facts) rightLines() (all []Line) {
	for _, r := range f.Rights {
		line := Line{Mark: OK, Subject: "rights", Text: r.Commands}
		if len(r.Lacks) > 0 {
			line.Mark, line.Text = None, r.Commands+": you lack "+strings.Join(r.Lacks, ", ")
			line.Do = "if you need the commands, ask an administrator for these rights"
			if r.Needed {
				line.Mark = Fix
			}
		}
		all = append(all, line)
	}
	return all
}

// Text renders the lines as a table, with the remedy below each problem.
func Text(lines []Line, style term.Style) string {
	var rows [][]string
	for _, line := range lines {
		mark := string(line.Mark)
		switch line.Mark {
		case OK:
			mark = style.Good(mark)
		case Fix:
			mark = style.Bad(mark)
		case None, Unseen:
			mark = style.Dim(mark)
		}
		rows = append(rows, []string{mark, line.Subject, line.Text})
		if line.Do != "" && line.Mark == Fix {
			rows = append(rows, []string{"", "", "-> " + line.Do})
		}
	}
	return term.Table(rows, 2)
}

// Failed reports whether a line has the mark Fix.
func Failed(lines []Line) bool {
	return slices.ContainsFunc(lines, func(l Line) bool { return l.Mark == Fix })
}

func monitored(d *corev1api.Dojo) labels.Set {
	set := labels.Set(ownership.Labels(d, ownership.Application))
	if d.Spec.Monitoring != nil {
		maps.Copy(set, d.Spec.Monitoring.Labels)
	}
	return set
}

// selects reports whether the selector in a field of o's spec matches the given labels. If the
// field is absent or not a selector, it returns the parameter missing.
func selects(o *unstructured.Unstructured, field string, of labels.Set, missing bool) bool {
	raw, found, err := unstructured.NestedMap(o.Object, "spec", field)
	if err != nil || !found {
		return missing
	}
	var selector metav1.LabelSelector
	if runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &selector) != nil {
		return missing
	}
	by, err := metav1.LabelSelectorAsSelector(&selector)
	return err == nil && by.Matches(of)
}
