// SPDX-License-Identifier: Apache-2.0

// Package sizes resolves spec.postgres.cluster.size: built-in presets, or the platform's ConfigMap.
package sizes

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/conditions"
)

// Preset has the fields that a size sets. A zero CPU or Memory requests none.
type Preset struct {
	Instances  int32             `json:"instances"`
	CPU        resource.Quantity `json:"cpu"`
	Memory     resource.Quantity `json:"memory"`
	Storage    resource.Quantity `json:"storage"`
	Parameters map[string]string `json:"parameters"`

	invalid string
}

// Presets has a preset for each name of a size.
type Presets map[string]Preset

const (
	maxInstances = 9
	maxName      = 63
)

var sizeName = regexp.MustCompile(`^[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?$`)

// BuiltIn returns the presets for a platform that defines no presets.
func BuiltIn() Presets {
	preset := func(instances int32, cpu, memory, storage, buffers, connections string) Preset {
		return Preset{
			Instances: instances, CPU: resource.MustParse(cpu), Memory: resource.MustParse(memory),
			Storage:    resource.MustParse(storage),
			Parameters: map[string]string{"shared_buffers": buffers, "max_connections": connections},
		}
	}
	return Presets{
		"Small":  preset(1, "250m", "512Mi", "5Gi", "128MB", "100"),
		"Medium": preset(3, "1", "2Gi", "20Gi", "512MB", "200"),
		"Large":  preset(3, "4", "8Gi", "100Gi", "2GB", "400"),
	}
}

// Parse reads one preset per file. Without files, it returns the built-in presets. An invalid file
// makes only the size of the same name invalid.
func Parse(files map[string][]byte) Presets {
	if len(files) == 0 {
		return BuiltIn()
	}
	presets := Presets{}
	for name, text := range files {
		var p Preset
		if err := yaml.UnmarshalStrict(text, &p); err != nil {
			p = Preset{invalid: err.Error()}
		} else {
			p.invalid = p.problem(name)
		}
		presets[name] = p
	}
	return presets
}

func (p *Preset) problem(name string) string {
	switch {
	case len(name) > maxName || !sizeName.MatchString(name):
		return "the name of a size must have only letters, digits and '-', begin with a letter, not end with '-', and " +
			"have at most 63 characters"
	case p.Instances < 1 || p.Instances > maxInstances:
		return "instances must be from 1 to 9"
	case p.Storage.Sign() <= 0:
		return "storage must be greater than 0"
	case p.CPU.Sign() < 0 || p.Memory.Sign() < 0:
		return "cpu and memory must not be negative"
	}
	return checkParameters(p.Parameters)
}

const keeps = "No Cluster is created. An existing Cluster keeps the values that the spec does not set."

// Resolve returns a copy of the Dojo with the fields of its size, or the Dojo itself if it names no
// size. If the size is unknown or invalid, Resolve returns the Dojo itself and an issue.
func Resolve(dojo *corev1api.Dojo, presets Presets) (*corev1api.Dojo, *conditions.Issue) {
	if dojo.Spec.Postgres == nil || dojo.Spec.Postgres.Cluster == nil || dojo.Spec.Postgres.Cluster.Size == "" {
		return dojo, nil
	}
	size := dojo.Spec.Postgres.Cluster.Size
	preset, known := presets[string(size)]
	switch {
	case !known:
		return dojo, conditions.Degraded(corev1api.ReasonUnknownSize,
			"The platform does not define the size %s of spec.postgres.cluster.size. "+keeps+" %s. Or remove "+
				"size, and set instances, resources, storage.size and parameters: status.database.size, if set, has the values "+
				"of the first three.",
			size, presets.advice())
	case preset.invalid != "":
		return dojo, conditions.Degraded(corev1api.ReasonUnknownSize,
			"The platform's definition of the size %s is not valid: %s. "+keeps+" Ask the platform team to correct it in "+
				"the operator's ConfigMap of sizes, or use another size.", size, short(preset.invalid))
	}
	sized := dojo.DeepCopy()
	preset.Fill(sized.Spec.Postgres.Cluster)
	return sized, nil
}

// Fill sets the fields of the preset that own does not set. It adds each parameter that own lacks.
func (p *Preset) Fill(own *corev1api.PostgresCluster) {
	if own.Instances == nil {
		own.Instances = new(p.Instances)
	}
	if own.Storage.Size.IsZero() {
		own.Storage.Size = p.Storage.DeepCopy()
	}
	if own.Resources == nil {
		own.Resources = p.resources()
	}
	parameters := make(map[string]corev1api.ParameterValue, len(p.Parameters)+len(own.Parameters))
	for name, value := range p.Parameters {
		parameters[name] = corev1api.ParameterValue(value)
	}
	maps.Copy(parameters, own.Parameters)
	own.Parameters = parameters
}

// resources limits memory, on which Postgres settings depend. A CPU limit would only slow Postgres.
func (p *Preset) resources() *corev1.ResourceRequirements {
	requests := corev1.ResourceList{}
	r := &corev1.ResourceRequirements{}
	if !p.CPU.IsZero() {
		requests[corev1.ResourceCPU] = p.CPU.DeepCopy()
	}
	if !p.Memory.IsZero() {
		requests[corev1.ResourceMemory] = p.Memory.DeepCopy()
		r.Limits = corev1.ResourceList{corev1.ResourceMemory: p.Memory.DeepCopy()}
	}
	if len(requests) > 0 {
		r.Requests = requests
	}
	return r
}

// advice names at most ten of the sizes that a Dojo can have.
func (p Presets) advice() string {
	var valid []string
	for _, name := range slices.Sorted(maps.Keys(p)) {
		if p[name].invalid == "" {
			valid = append(valid, name)
		}
	}
	switch {
	case len(valid) == 0:
		return "Ask the platform team to define it"
	case len(valid) > 10:
		valid = append(valid[:10], "...")
	}
	return "Use one of the sizes " + strings.Join(valid, ", ")
}

func short(text string) string {
	const most = 200
	if len(text) > most {
		text = text[:most] + "..."
	}
	return strings.ToValidUTF8(strings.TrimSuffix(text, "."), "")
}
